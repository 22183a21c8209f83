package yandex

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// ErrNoResume is the cause of Open's fault if the file cannot be resumed at the offset: the server ignored the range,
// answered with another one, or the file is now shorter. Start again at offset 0.
var ErrNoResume = errors.New("the download does not continue at the offset asked for")

var errTooManyRedirects = errors.New("too many redirects")

// statusFault converts an answer other than a success into a fault. 401 and 403 both mean that access was refused.
func statusFault(answer outbound.Answer) *fault.Error {
	var said struct {
		Error string `json:"error"` // the message beside it may repeat a path or a token
	}
	name := "without a known error name"
	if json.Unmarshal(answer.Body, &said) == nil && identifier.MatchString(said.Error) {
		name = said.Error
	}

	var f *fault.Error
	switch status := answer.Status; {
	case strings.Contains(name, "DownloadLimitExceeded"): // with 429 or 403, until the next day
		f = fault.New(fault.YandexLimit, "the file storage's limit for this file is reached for today")
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = fault.New(fault.YandexUnauthorized, "the file storage rejected our credentials")
	case status == http.StatusNotFound:
		f = fault.New(fault.FileNotFound, "no such file or folder")
	case status == http.StatusLocked:
		f = fault.New(fault.YandexLocked, "the file is locked at the moment").After(outbound.RetryAfter(answer.Header))
	case status == http.StatusTooManyRequests:
		f = fault.New(fault.YandexUnavailable, "the file storage limits our rate").After(outbound.RetryAfter(answer.Header))
	case status >= 500:
		f = fault.New(fault.YandexUnavailable, "the file storage has failed").After(outbound.RetryAfter(answer.Header))
	default:
		f = protocolFault()
	}

	return f.WithCause(errors.New("HTTP " + strconv.Itoa(answer.Status) + " " + name))
}

func protocolFault() *fault.Error {
	return fault.New(fault.YandexProtocol, "the answer of the file storage is invalid")
}

// transportFault converts an error of net/http into a fault. A cancel by the caller is not a failure and stays
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

// scrub flattens an error to a loggable text. It keeps no chain: a *url.Error further down would still contain the
// link.
func scrub(err error) error {
	text := err.Error()
	if u, ok := errors.AsType[*url.Error](err); ok {
		text = u.Op + ": " + u.Err.Error()
	}
	return errors.New(private.ReplaceAllString(text, "…"))
}

var identifier = regexp.MustCompile(`^[A-Za-z_]{1,60}$`)
