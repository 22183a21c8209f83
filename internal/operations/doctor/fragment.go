package doctor

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/ton"
)

// Shop is a session with Fragment. None of these calls begins a purchase.
type Shop interface {
	SessionWallet(ctx context.Context) (wallet ton.Address, shown bool, err error)
	State(ctx context.Context, mode string) (fragment.State, error)
}

const renewCookies = "log in at Fragment with the wallet, and give the new cookies as STAGECOACH_FRAGMENT_COOKIES"

// OfFragment checks the session that buys. A page on Fragment may show whose session it is. If not, only Fragment's
// refusal or a purchase can prove more.
func OfFragment(shop Shop, wallet ton.Address) Check {
	return Check{operations.Fragment, func(ctx context.Context) Result {
		connected, shown, err := shop.SessionWallet(ctx)
		switch {
		// For example a page that redirects a session without login.
		case err != nil && fault.CodeOf(err) != fault.FragmentProtocol:
			return failed(err, renewCookies, AboutFragment)
		case shown && connected == wallet:
			return Result{
				State: StateWorks, Account: connected.Friendly(false),
				Detail: "the session is connected to the wallet",
			}
		case shown:
			return Result{
				State: StateRefused, Account: connected.Friendly(false),
				Detail: "the session is connected to another wallet", Next: renewCookies + ": " + AboutFragment,
			}
		}

		if _, err := shop.State(ctx, "new"); err != nil {
			return failed(err, renewCookies, AboutFragment)
		}
		return Result{
			State: StateUnverified, Detail: "no page shows whose session it is",
			Next: "only a purchase would tell; where there was none, " + renewCookies + ": " + AboutFragment,
		}
	}}
}
