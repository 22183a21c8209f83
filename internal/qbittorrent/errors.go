package qbittorrent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/internal/fault"
)

// errLoginRefused means that qBittorrent rejects the credentials, or has banned this address.
var errLoginRefused = errors.New("the login is refused; correct the password, then restart this process or wait")

// statusError is an HTTP status other than success.
type statusError int

func (s statusError) Error() string { return fmt.Sprintf("HTTP status %d", int(s)) }

// asFault converts a failure into a fault. The cause keeps only the innermost error: those around it contain addresses,
// links and paths. net/http quotes a part of a nonsensical answer.
func asFault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	var status statusError
	refusal := false
	inner := err
	walk(err, func(e error) {
		inner = e
		if s, ok := e.(statusError); ok {
			status = s
		}
		refusal = refusal || e == errLoginRefused || e == qbt.ErrBadCredentials || e == qbt.ErrIPBanned
	})

	cause := errors.New(private.ReplaceAllString(inner.Error(), "…"))
	switch {
	case refusal, status == http.StatusUnauthorized:
		return fault.New(fault.ProviderUnauthorized, "qBittorrent rejected the service's credentials").Retry().WithCause(cause)
	case status == http.StatusBadRequest, status == http.StatusConflict, status == http.StatusUnsupportedMediaType:
		return fault.New(fault.ProviderRejected, "qBittorrent rejected the request").WithCause(cause)
	default: // also a 404: another server answers at this address
		return fault.New(fault.ProviderUnavailable, "qBittorrent cannot be reached").Retry().WithCause(cause)
	}
}

// private matches links, and quoted text.
var private = regexp.MustCompile(`(?i)\b([a-z][a-z0-9+.-]*://|magnet:)\S+|"(?:[^"\\]|\\.)*"?`)

// walk visits an error and all errors it wraps, the innermost last. errors.Is misses some that the library wraps.
func walk(err error, visit func(error)) {
	if err == nil {
		return
	}

	visit(err)
	switch wrapper := err.(type) {
	case interface{ WrappedErrors() []error }:
		for _, wrapped := range wrapper.WrappedErrors() {
			walk(wrapped, visit)
		}
	case interface{ Unwrap() []error }:
		for _, wrapped := range wrapper.Unwrap() {
			walk(wrapped, visit)
		}
	case interface{ Unwrap() error }:
		walk(wrapper.Unwrap(), visit)
	}
}
