package fragment

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"stagecoach/internal/fault"
)

// Class says what to do about an error.
type Class string

// The cause of a retryable error may pass; a non-retryable one is caused by the order; an unknown one may be either. At
// hold the session or the account needs an operator: no purchase can succeed before.
const (
	Retryable    Class = "retryable"
	NonRetryable Class = "non-retryable"
	UnknownClass Class = "unknown"
	Hold         Class = "hold"
)

// failure is one row of the table of what can go wrong.
type failure struct {
	says    string // part of Fragment's sentence, in lower case; empty: recognized in another way
	code    fault.Code
	message string // what operators and users read
	class   Class
}

const (
	sessionOver  = "Authorization failed: Session expired"
	networkError = "Failed to fetch: Network error"
)

// failures is the one table: every error of this package is a row of it. The first matching row applies.
var failures = []failure{
	{"no telegram users found", fault.FragmentNoUser, "Username not found", NonRetryable},
	{"please enter a username assigned to a user", fault.FragmentNotAUser, "Invalid username", NonRetryable},
	{"can't gift telegram stars to this account", fault.FragmentNoGift, "Fragment API error: the account cannot be gifted Stars at this moment", Retryable},
	{"session expired", fault.FragmentUnauthorized, sessionOver, Hold},
	{"auth_session_expired", fault.FragmentUnauthorized, sessionOver, Hold},
	{"unauthorized", fault.FragmentUnauthorized, sessionOver, Hold},
	{"access denied", fault.FragmentUnauthorized, sessionOver, Hold},
	{"", fault.FragmentVerify, "Authorization failed: Fragment asks for verification", Hold},
	{"", fault.FragmentUnavailable, "Service unavailable: Fragment API returned %d", Retryable},
	{"", fault.FragmentUnreachable, networkError, Retryable},
	{"", fault.FragmentTimeout, networkError, Retryable},
	{"", fault.FragmentProtocol, "Fragment API error: the answer makes no sense", UnknownClass},
	{"", fault.FragmentRefused, "Fragment API error: an unknown reason", UnknownClass},
}

// fault makes the error of a row. An unknown one is retryable too; one that holds purchases is not.
func (f failure) fault(args ...any) *fault.Error {
	e := fault.New(f.code, "%s", f.message)
	if len(args) > 0 {
		e = fault.New(f.code, f.message, args...)
	}
	e.Retryable = f.class == Retryable || f.class == UnknownClass
	return e
}

// row finds the first row with a code.
func row(code fault.Code) failure {
	for _, f := range failures {
		if f.code == code {
			return f
		}
	}
	return failure{code: code, class: UnknownClass}
}

// ClassOf gives the class of an error of this package; UnknownClass for any other.
func ClassOf(err error) Class { return row(fault.CodeOf(err)).class }

// Away says whether an error means that Fragment cannot be reached, or can serve nobody now.
func Away(err error) bool {
	switch fault.CodeOf(err) {
	case fault.FragmentUnavailable, fault.FragmentUnreachable, fault.FragmentTimeout:
		return true
	default:
		return false
	}
}

// textFault classifies the sentence that Fragment answers instead of a result. name is whom it was asked about, if
// anybody: the sentence may repeat it.
func textFault(text, name string) *fault.Error {
	plain := strings.ToLower(html.UnescapeString(text))
	plain = strings.ReplaceAll(plain, "’", "'")
	for _, f := range failures {
		if f.says != "" && strings.Contains(plain, f.says) {
			return f.fault()
		}
	}
	return row(fault.FragmentRefused).fault().WithCause(errors.New("Fragment says: " + scrub(text, name)))
}

// private matches words that may be a name, a link, an amount or an id.
var private = regexp.MustCompile(`\S*[^A-Za-z\s.,:;!?'"()]\S*`)

// scrub keeps the part of a sentence that the log may have: it shows operators which sentence is missing in the table.
func scrub(text, name string) string {
	text = private.ReplaceAllString(html.UnescapeString(text), "…")
	if name != "" { // a name of letters only matches no pattern
		text = regexp.MustCompile(`(?i)\b`+regexp.QuoteMeta(name)+`\b`).ReplaceAllString(text, "…")
	}
	return text[:min(len(text), 120)]
}

// statusFault turns an answer other than a success into a fault: by the sentence in it, when that is a known one.
func statusFault(status int, answer []byte) *fault.Error {
	var said struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(answer, &said) == nil && said.Error != "" {
		if known := textFault(said.Error, ""); known.Code != fault.FragmentRefused {
			return known
		}
	}

	switch {
	case status == http.StatusUnauthorized:
		return row(fault.FragmentUnauthorized).fault()
	case status == http.StatusForbidden, status == http.StatusTooManyRequests, status >= 500:
		return row(fault.FragmentUnavailable).fault(status)
	}
	return protocolFault(fmt.Sprintf("HTTP %d", status))
}

func protocolFault(what string) *fault.Error {
	return row(fault.FragmentProtocol).fault().WithCause(errors.New(what))
}

// transportFault turns an error of net/http into a fault. A cancel by the caller is no failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	code := fault.FragmentUnreachable
	if timeout := net.Error(nil); errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		code = fault.FragmentTimeout
	}

	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok { // its own text repeats the address, which has the page's hash in it
		text = u.Err.Error()
	}
	return row(code).fault().WithCause(errors.New(text))
}
