package doctor

import (
	"context"

	"stagecoach/internal/fault"
)

// SignIns is what the check needs of an OpenID Connect provider.
type SignIns interface {
	// Known reports whether the provider has shown that it knows the client and its secret.
	Known(ctx context.Context) (known bool, err error)
}

// OfProvider checks the provider with which people sign in. Nobody is signed in.
func OfProvider(provider SignIns, issuer, clientID string) Check {
	return Check{Provider, func(ctx context.Context) Result {
		known, err := provider.Known(ctx)
		switch {
		case fault.CodeOf(err) == fault.SignInNotVerified:
			return failed(err, "correct STAGECOACH_OIDC_CLIENT_ID and STAGECOACH_OIDC_CLIENT_SECRET, and restart", AboutProvider)
		case err != nil:
			return failed(err, "see whether STAGECOACH_OIDC_ISSUER is right", AboutProvider)
		case !known:
			return Result{
				State: StateUnverified, Account: "client " + clientID, Detail: issuer + " does not say whether it knows the client",
				Next: "sign in with it on the pages: " + AboutProvider,
			}
		}
		return Result{State: StateWorks, Account: "client " + clientID, Detail: issuer}
	}}
}
