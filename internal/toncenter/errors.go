package toncenter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// statusFault converts an answer other than a success into a fault.
func statusFault(answer outbound.Answer) *fault.Error {
	var f *fault.Error
	switch status := answer.Status; {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f = fault.New(fault.ChainUnauthorized, "the TON network's gateway rejected our credentials")
	case status == http.StatusTooManyRequests:
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway limits our rate").After(outbound.RetryAfter(answer.Header))
	case status >= 500:
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway has failed").After(outbound.RetryAfter(answer.Header))
	default:
		f = fault.New(fault.ChainProtocol, "the TON network's gateway rejected our request")
	}

	return f.WithCause(errors.New("HTTP " + strconv.Itoa(answer.Status)))
}

// protocolFault is the error of an answer that cannot be right; the next answer may be.
func protocolFault(what string) *fault.Error {
	return fault.New(
		fault.ChainProtocol, "the TON network's gateway gave an answer that makes no sense",
	).Retry().WithCause(errors.New(what))
}

// incomplete is the error of a 200 that lacks the result: toncenter also reports its own problems this way.
func incomplete(op string, body []byte, needed []string) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return protocolFault(fmt.Sprintf("%s: not the JSON that is documented (%T)", op, err))
	}

	absent := func(name string) bool { return fields[name] == nil || string(fields[name]) == "null" }
	if string(fields["ok"]) == "false" || slices.ContainsFunc(needed, absent) {
		return fault.New(fault.ChainUnavailable, "the TON network's gateway did not answer our request").
			Retry().WithCause(errors.New(op + ": HTTP 200 without " + strings.Join(needed, ", ")))
	}
	return nil
}

// TooLong reports whether the answer was too long to be read.
func TooLong(err error) bool { return errors.Is(err, outbound.ErrTooLong) }

// clockFault is the error of a chain time that differs too much from ours; either clock may be wrong.
func clockFault() *fault.Error {
	return fault.New(fault.ChainClock, "the TON network's time is more than %s from ours", mostSkew).Retry()
}

// transportFault converts an error of net/http into a fault. A cancel by the caller is not a failure and stays
// context.Canceled.
func transportFault(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}

	f := fault.New(fault.ChainUnavailable, "the connection to the TON network's gateway failed")
	if outbound.TimedOut(err) {
		f = fault.New(fault.ChainUnavailable, "the TON network's gateway did not answer in time")
	}
	return f.Retry().WithCause(outbound.WithoutURL(err)) // a query contains accounts
}
