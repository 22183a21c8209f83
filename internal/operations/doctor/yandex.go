package doctor

import (
	"context"
	"time"

	"golang.org/x/oauth2"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/yandex"
)

// Disk reads the shared folder with an access token that it never renews.
type Disk interface {
	About(ctx context.Context, accessToken string) (yandex.About, error)
}

// TokenStore reads the token shared by all processes.
type TokenStore interface {
	CurrentToken(ctx context.Context) (oauth2.Token, error)
}

// OfYandex checks the stored access token. The refresh token is not checked: only its use proves that it works, and
// each use replaces it.
func OfYandex(disk Disk, tokens TokenStore, root string) Check {
	return Check{operations.Yandex, func(ctx context.Context) Result {
		token, err := tokens.CurrentToken(ctx)
		switch {
		case err != nil:
			return failed(err, "see whether STAGECOACH_ENCRYPTION_KEY has encrypted this token", AboutStorage)
		case token.AccessToken == "" && token.RefreshToken == "":
			return Off(operations.Yandex, "there is no token", AboutStorage).Run(ctx)
		case token.AccessToken == "" || ended(token):
			return unrenewed(token, "", "the access token has ended, or was never made")
		}

		about, err := disk.About(ctx, token.AccessToken)
		switch code := fault.CodeOf(err); {
		case err == nil:
			return Result{State: StateWorks, Account: owner(about), Detail: root + ", " + lasts(token)}
		case code == fault.YandexUnauthorized:
			return unrenewed(token, code, "the access token is refused")
		case code == fault.FileNotFound:
			return failed(err, "STAGECOACH_YANDEX_ROOT must name a folder of this disk", AboutStorage)
		default:
			return failed(err, "see whether the addresses of the storage are right", AboutStorage)
		}
	}}
}

// unrenewed returns the result for an access token that has expired or is rejected.
func unrenewed(token oauth2.Token, code fault.Code, why string) Result {
	if token.RefreshToken == "" {
		return Result{
			State: StateRefused, Code: fault.YandexUnauthorized, Detail: why,
			Next: "give a refresh token as STAGECOACH_YANDEX_REFRESH_TOKEN, and restart: " + AboutStorage,
		}
	}

	return Result{
		State: StateUnverified, Code: code, Detail: why,
		Next: "list the folder with `starter files`, which renews the token; if that is refused, give a new refresh token: " +
			AboutStorage,
	}
}

func ended(token oauth2.Token) bool {
	return !token.Expiry.IsZero() && !time.Now().Before(token.Expiry)
}

func owner(about yandex.About) string {
	if about.Owner == "" {
		return "" // the application lacks the permission cloud_api:disk.info
	}
	return "account " + about.Owner
}

// lasts describes for how long an access token is valid.
func lasts(token oauth2.Token) string {
	switch {
	case token.RefreshToken != "":
		return "the token is renewed by itself"
	case token.Expiry.IsZero():
		return "nothing renews the token"
	default:
		return "nothing renews the token, which ends " + token.Expiry.UTC().Format(time.DateOnly)
	}
}
