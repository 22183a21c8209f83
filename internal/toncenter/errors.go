package toncenter

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/fault"
)

// statusFault turns an answer other than a success into a fault.
func statusFault(status int, header http.Header) *fault.Error {
	var f *fault.Error
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = fault.New(fault.ChainUnauthorized, "the TON network's gateway refused our access")
	case status == http.StatusTooManyRequests:
		f = fault.New(fault.ChainRateLimited, "the TON network's gateway asks to slow down").After(retryAfter(header))
	case status >= 500:
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway has a problem").After(retryAfter(header))
	default:
		f = fault.New(fault.ChainProtocol, "the TON network's gateway refused our request")
	}

	return f.WithCause(errors.New("HTTP " + strconv.Itoa(status)))
}

// protocolFault is the error of an answer that cannot be right; the next answer may be.
func protocolFault(what string) *fault.Error {
	return fault.New(
		fault.ChainProtocol, "the TON network's gateway gave an answer that makes no sense",
	).Retry().WithCause(errors.New(what))
}

// clockFault is the error of a chain's time that differs too much from ours; either clock may be wrong.
func clockFault() *fault.Error {
	return fault.New(fault.ChainClock, "the TON network's time is more than %s from ours", mostSkew).Retry()
}

// transportFault turns an error of net/http into a fault. A cancel by the caller is no failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	var timeout net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timeout) && timeout.Timeout() {
		return fault.New(
			fault.ChainTimeout, "the TON network's gateway did not answer in time",
		).Retry().WithCause(withoutURL(err))
	}

	return fault.New(
		fault.ChainUnreachable, "the connection to the TON network's gateway failed",
	).Retry().WithCause(withoutURL(err))
}

// withoutURL flattens an error to a text that is fit for the log: a query names accounts.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return errors.New(u.Err.Error())
	}
	return errors.New(err.Error())
}

// retryAfter reads the header in seconds; 0 when it is absent or absurd.
func retryAfter(header http.Header) time.Duration {
	seconds, err := strconv.ParseUint(strings.TrimSpace(header.Get("Retry-After")), 10, 24)
	if err != nil {
		return 0
	}
	return time.Duration(seconds) * time.Second
}
