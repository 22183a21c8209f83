package toncenter

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// statusFault turns an answer other than a success into a fault.
func statusFault(answer outbound.Answer) *fault.Error {
	var f *fault.Error
	switch status := answer.Status; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = fault.New(fault.ChainUnauthorized, "the TON network's gateway refused our access")
	case status == http.StatusTooManyRequests:
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway asks to slow down").After(outbound.RetryAfter(answer.Header))
	case status >= 500:
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway has a problem").After(outbound.RetryAfter(answer.Header))
	default:
		f = fault.New(fault.ChainProtocol, "the TON network's gateway refused our request")
	}

	return f.WithCause(errors.New("HTTP " + strconv.Itoa(answer.Status)))
}

// protocolFault is the error of an answer that cannot be right; the next answer may be.
func protocolFault(what string) *fault.Error {
	return fault.New(
		fault.ChainProtocol, "the TON network's gateway gave an answer that makes no sense",
	).Retry().WithCause(errors.New(what))
}

// tooLongFault is the error of an answer that is not read to its end.
func tooLongFault() *fault.Error { return protocolFault("").WithCause(outbound.ErrTooLong) }

// TooLong says whether the answer was too long to be read.
func TooLong(err error) bool { return errors.Is(err, outbound.ErrTooLong) }

// clockFault is the error of a chain's time that differs too much from ours; either clock may be wrong.
func clockFault() *fault.Error {
	return fault.New(fault.ChainClock, "the TON network's time is more than %s from ours", mostSkew).Retry()
}

// transportFault turns an error of net/http into a fault. A cancel by the caller is not a failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	f := fault.New(fault.ChainUnavailable, "the connection to the TON network's gateway failed")
	if outbound.TimedOut(err) {
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway did not answer in time")
	}
	return f.Retry().WithCause(outbound.WithoutURL(err)) // a query names accounts
}
