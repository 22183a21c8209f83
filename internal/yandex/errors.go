package yandex

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// ErrNoResume is the cause of Open's fault when the file cannot be continued at the offset: the server ignored the
// range, answered with another one, or the file is shorter now. Start again at offset 0.
var ErrNoResume = errors.New("the download does not continue at the offset asked for")

var errTooManyRedirects = errors.New("too many redirects")

// statusFault turns an answer other than a success into a fault. 401 and 403 both mean that access was refused.
func statusFault(answer outbound.Answer) *fault.Error {
	var f *fault.Error
	switch status := answer.Status; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = fault.New(fault.YandexUnauthorized, "the file storage refused our access")
	case status == http.StatusNotFound:
		f = fault.New(fault.FileNotFound, "no such file or folder")
	case status == http.StatusLocked:
		f = fault.New(fault.YandexLocked, "the file is locked at the moment").After(outbound.RetryAfter(answer.Header))
	case status == http.StatusTooManyRequests:
		f = fault.New(fault.YandexUnavailable, "the file storage asks to slow down").After(outbound.RetryAfter(answer.Header))
	case status >= 500:
		f = fault.New(fault.YandexUnavailable, "the file storage has a problem").After(outbound.RetryAfter(answer.Header))
	default:
		f = protocolFault()
	}

	return f.WithCause(errors.New("HTTP " + strconv.Itoa(answer.Status) + " " + errorName(answer.Body)))
}

func protocolFault() *fault.Error {
	return fault.New(fault.YandexProtocol, "the file storage gave an answer that makes no sense")
}

// transportFault turns an error of net/http into a fault. A cancel by the caller is not a failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	switch {
	case outbound.TimedOut(err):
		return fault.New(fault.YandexUnavailable, "the file storage did not answer in time").Retry().WithCause(scrub(err))
	case errors.Is(err, errTooManyRedirects):
		return protocolFault().WithCause(scrub(err))
	}

	return fault.New(fault.YandexUnavailable, "the connection to the file storage failed").Retry().WithCause(scrub(err))
}

// private matches texts that may contain a link, a query string or a value of the other side.
var private = regexp.MustCompile(`"(?:[^"\\]|\\.)*"?|[A-Za-z][A-Za-z0-9+.-]*://\S+|\?\S+|(?i:oauth|bearer) \S+`)

// scrub flattens an error to a text that may be logged. It keeps no chain: a *url.Error further down would still hold
// the link.
func scrub(err error) error {
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Op + ": " + u.Err.Error()
	}
	return errors.New(private.ReplaceAllString(text, "…"))
}

var identifier = regexp.MustCompile(`^[A-Za-z_]{1,60}$`)

// errorName finds the machine-readable name in an error's body; the message beside it may repeat a path or a token.
func errorName(body []byte) string {
	var answer struct {
		Error string `json:"error"`
	}
	if json.Unmarshal(body, &answer) != nil || !identifier.MatchString(answer.Error) {
		return "without a known error name"
	}
	return answer.Error
}
