package doctor

import (
	"cmp"
	"context"
	"errors"
	"strings"

	"stagecoach/internal/fault"
)

// Names of what is checked besides the external systems whose state is recorded.
const (
	Wallet   = "wallet"
	Provider = "oidc" // with which people sign in
	Library  = "library"
)

// Parts of the document that says how to get what is missing.
const (
	guide = "docs/first-day.md"

	AboutDatabase  = guide + "#the-database-and-temporal"
	AboutBot       = guide + "#the-bot"
	AboutBotServer = guide + "#the-bot-api-server"
	AboutStorage   = guide + "#the-storage"
	AboutDownloads = guide + "#qbittorrent"
	AboutWallet    = guide + "#the-wallet"
	AboutFragment  = guide + "#fragment"
	AboutWrites    = "docs/operate.md#postgresql-takes-no-writes"
	AboutSearch    = "docs/operate.md#which-search-attributes-does-temporal-need"
	AboutProvider  = "docs/pages.md#sign-in-with-a-provider"
)

// Off is the check of an unconfigured system.
func Off(system, why, about string) Check {
	return Check{system, func(context.Context) Result {
		return Result{State: StateOff, Detail: why, Next: "to switch it on: " + about}
	}}
}

// failed converts an error into a check's result. advice is what to do if the system answers but refuses.
func failed(err error, advice, about string) Result {
	code := cmp.Or(fault.CodeOf(err), fault.Internal)
	if away(err) {
		advice = "see whether it runs, and whether its address is right"
		return Result{State: StateUnreachable, Code: code, Next: advice + ": " + about}
	}
	return Result{State: StateRefused, Code: code, Next: advice + ": " + about}
}

// away reports whether an error means that a system currently does not answer.
func away(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	code := string(fault.CodeOf(err))
	for _, ending := range []string{"_UNREACHABLE", "_TIMEOUT", "_UNAVAILABLE", "_RATE_LIMITED", "_AWAY"} {
		if strings.HasSuffix(code, ending) {
			return true
		}
	}
	return false
}
