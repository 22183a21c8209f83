package transaction

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// survive decides what an error of a step means: nil, after a pause, when the execution goes on.
func (x *execution) survive(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil || errors.Is(err, errWorkerStops) || isRefusal(err, fault.StoreUnavailable, fault.NoTurn) {
		return err
	}

	if isRefusal(err, fault.PaymentsPaused, fault.PaymentsHeld) { // the latter: the monitor is behind the chain
		return x.wait(ctx, x.Settings.LookEvery)
	}

	x.Log.Warn("payment not made", "transaction", x.order.Hash, "kind", x.kind, "error", err, "cause", errors.Unwrap(err))
	switch code := fault.CodeOf(err); {
	case x.kind == transaction.Purchase && away(err):
		return x.awaitOthers(ctx, err)
	case x.kind == transaction.Purchase && holds(err):
		return x.waitHeld(ctx, code)
	case code == fault.DailyLimit:
		return x.deferPayment(ctx, err)
	case code == fault.ReviewRequired:
		x.raise(ctx, notice.AlertTransactionReview)
		_, err := x.Store.ReviewPayment(ctx, x.order.Hash, x.Settings.Limits)
		return err
	case code == fault.InsufficientFunds:
		x.raise(ctx, notice.AlertWalletEmpty)
	}

	return x.fail(ctx, err)
}

// holds says whether an error means that no purchase can succeed before a person has removed its cause.
func holds(err error) bool {
	return fragment.Holds(err) || isRefusal(err, fault.PaymentNotAllowed, fault.ChainClock)
}

// away says whether an error means that the shop or the chain serves no request now.
func away(err error) bool {
	return fragment.Away(err) || isRefusal(err, fault.ChainUnavailable, fault.ChainUnauthorized)
}

// quickTries are the tries that follow each other within seconds.
const quickTries = 3

// fail ends a try. Quick tries come first; then the record has the failure.
func (x *execution) fail(ctx context.Context, err error) error {
	failure := failureOf(err)
	if failure == stars.Suspicious {
		x.raise(ctx, notice.AlertPaymentRefused)
	}

	x.tries++
	if !failure.Final && x.tries < quickTries {
		return x.wait(ctx, x.quickPause())
	}
	if x.kind == transaction.Refund {
		return x.failRefund(ctx, failure)
	}
	return x.giveUp(ctx, failure)
}

// giveUp records a failure, and ends the execution.
func (x *execution) giveUp(ctx context.Context, failure *stars.Failure) error {
	record, err := x.Orders.Fail(ctx, x.order.Hash, x.attempt, failure)
	if err != nil {
		return err
	}

	x.ended = record.Ended()
	if x.at, err = x.Settings.answer(ctx, record, nil); err != nil {
		return err
	}
	return errEnded
}

// failRefund leaves a refund to the policy: what is owed is tried until it is paid.
func (x *execution) failRefund(ctx context.Context, failure *stars.Failure) error {
	x.raise(ctx, notice.AlertRefund)
	again := *failure
	again.Final = false
	return &again
}

func (x *execution) quickPause() time.Duration {
	return min(x.Settings.RetryInterval, time.Second) << (x.tries - 1)
}

// waitHeld holds purchases and waits before the next try. An operator who ends the hold ends the wait.
func (x *execution) waitHeld(ctx context.Context, why fault.Code) error {
	if err := x.hold(ctx, why); err != nil {
		return err
	}

	x.waits++
	for end := time.Now().Add(min(x.Settings.LookEvery<<min(x.waits, 16), x.Settings.HoldRetry)); time.Now().Before(end); {
		if err := x.wait(ctx, min(x.Settings.LookEvery, time.Until(end))); err != nil {
			return err
		}
		switches, err := x.Store.Switches(ctx)
		if err != nil || !switches.Hold.On() {
			return err
		}
	}
	return nil
}

// awaitOthers waits until the shop and the chain are back. Tries that follow each other within seconds come first. The wait
// is bounded, and an order that alone finds them away fails: it would hold up all others.
func (x *execution) awaitOthers(ctx context.Context, why error) error {
	since := *x.row.ProcessingSince
	if began := x.row.FailingSince; began != nil {
		since = earlier(since, *began)
	}
	if x.tries++; x.tries < quickTries {
		return x.wait(ctx, x.quickPause())
	}

	for time.Since(since) < x.Settings.RetryFor && (x.alone.IsZero() || time.Since(x.alone) < x.Settings.TurnPatience) {
		if err := x.waitHeld(ctx, fault.CodeOf(why)); err != nil {
			return err
		}

		switch err := x.probe(ctx); {
		case err == nil && x.alone.IsZero():
			x.alone = time.Now()
			return nil
		case err == nil, !away(err):
			return err
		}
		x.alone = time.Time{}
	}
	return x.fail(ctx, why)
}

// probe asks the shop and the chain for what is no order's.
func (x *execution) probe(ctx context.Context) error {
	temporalio.Progressed(ctx)
	_, _, err := together(
		func() (struct{}, error) { _, err := x.Fragment.Price(ctx, stars.Least); return struct{}{}, err },
		func() (struct{}, error) { _, err := x.Chain.Head(ctx); return struct{}{}, err },
	)
	return err
}

// longestDefer is how long an order waits before it is tried again: a payment that expires frees its amount sooner than
// the day's window.
const longestDefer = time.Hour

// deferPayment lets other orders pass an order that exceeds what is left of today's limit.
func (x *execution) deferPayment(ctx context.Context, why error) error {
	x.raise(ctx, notice.AlertDailyLimit)
	until := time.Now().Add(x.Settings.HoldRetry)
	if full, ok := errors.AsType[*transaction.DayIsFull](why); ok {
		until = earlier(full.Until, time.Now().Add(longestDefer))
	}

	record, err := x.Store.Defer(ctx, x.order.Hash, until)
	if err != nil {
		return err
	}
	if x.at, err = x.Settings.answer(ctx, record, nil); err != nil {
		return err
	}
	x.outcome.DeferredUntil = &until
	return errEnded
}
