package fragment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/outbound"
	"stagecoach/internal/stars"
)

// failure is one row of the table of failures.
type failure struct {
	says  string // part of Fragment's sentence, in lower case; empty: recognized in another way
	code  fault.Code
	means *stars.Failure
}

// failures is the only table: every error of this package is a row of it. The first matching row applies.
var failures = []failure{
	{"no telegram users found", fault.FragmentNoUser, stars.UsernameNotFound},
	{"please enter a username assigned to a user", fault.FragmentNotAUser, stars.InvalidUsername},
	{"can't gift telegram stars to this account", fault.FragmentNoGift, stars.CannotGift},
	{"session expired", fault.FragmentUnauthorized, stars.SessionExpired},
	{"auth_session_expired", fault.FragmentUnauthorized, stars.SessionExpired},
	{"unauthorized", fault.FragmentUnauthorized, stars.SessionExpired},
	{"access denied", fault.FragmentUnauthorized, stars.SessionExpired},
	{"", fault.FragmentVerify, stars.NotVerified},
	{"", fault.FragmentUnavailable, stars.Unavailable},
	{"", fault.FragmentUnreachable, stars.Network},
	{"", fault.FragmentProtocol, stars.Nonsense},
	{"", fault.FragmentRefused, stars.Refused},
}

// noWallet is the failure of a session that has lost its wallet: it is recognized by a field.
var noWallet = failure{code: fault.FragmentUnauthorized, means: stars.NoWallet}

// fault makes a row's error. An error that holds purchases is not retryable.
func (f failure) fault() *fault.Error {
	e := fault.New(f.code, "%s", f.means.Message)
	e.Retryable = f.means.Class != lifecycle.NonRetryable && !Holds(e)
	return e
}

// row finds the first row with a code.
func row(code fault.Code) failure {
	at := slices.IndexFunc(failures, func(f failure) bool { return f.code == code })
	if at < 0 {
		return failure{code: code, means: stars.Unexplained}
	}
	return failures[at]
}

// Holds reports whether an error means that the session or the account needs an operator: until then no purchase can
// succeed.
func Holds(err error) bool {
	code := fault.CodeOf(err)
	return code == fault.FragmentUnauthorized || code == fault.FragmentVerify
}

// Away reports whether an error means that Fragment is unreachable, or cannot currently serve requests.
func Away(err error) bool { return row(fault.CodeOf(err)).means.Away }

// textFault classifies the sentence that Fragment answers instead of a result. name is the user concerned by the call;
// empty: none. The sentence may repeat it, and a user may be called "unauthorized": parts of the sentence are matched
// without the name.
func textFault(text, name string) *fault.Error {
	plain := strings.ToLower(html.UnescapeString(text))
	plain = strings.TrimSpace(strings.ReplaceAll(plain, "’", "'"))
	nameless := plain
	if name != "" {
		nameless = nameIn(name).ReplaceAllString(plain, "…")
	}

	for _, f := range failures {
		if f.says != "" && (strings.TrimRight(plain, ".!") == f.says || strings.Contains(nameless, f.says)) {
			return f.fault()
		}
	}

	// The loggable part shows operators which sentence the table lacks.
	shown := private.ReplaceAllString(html.UnescapeString(text), "…")
	if name != "" { // a name consisting only of letters matches no pattern
		shown = nameIn(name).ReplaceAllString(shown, "…")
	}
	return row(fault.FragmentRefused).fault().WithCause(errors.New("Fragment says: " + shown[:min(len(shown), 120)]))
}

// private matches words that may be a name, a link, an amount or an id.
var private = regexp.MustCompile(`\S*[^A-Za-z\s.,:;!?'"()]\S*`)

// nameIn finds a user's name in a text.
func nameIn(name string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + regexp.QuoteMeta(name) + `\b`)
}

// statusFault converts an answer other than a success into a fault: by the sentence in it, if the table has it.
func statusFault(answer outbound.Answer, name string) *fault.Error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(answer.Body, &said) == nil && said.Error != "" {
		if known := textFault(said.Error, name); known.Code != fault.FragmentRefused {
			return known
		}
	}

	switch status := answer.Status; {
	case status == http.StatusUnauthorized:
		return row(fault.FragmentUnauthorized).fault()
	case status == http.StatusForbidden, status == http.StatusTooManyRequests, status >= 500:
		away := row(fault.FragmentUnavailable).fault()
		away.Message = fmt.Sprintf("Service unavailable: Fragment API returned %d", status)
		return away
	}
	return protocolFault(fmt.Sprintf("HTTP %d", answer.Status))
}

func protocolFault(what string) *fault.Error {
	return row(fault.FragmentProtocol).fault().WithCause(errors.New(what))
}

// transportFault converts an error of net/http into a fault. A cancel by the caller is not a failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	// The address contains the page's hash.
	return row(fault.FragmentUnreachable).fault().WithCause(outbound.WithoutURL(err))
}
