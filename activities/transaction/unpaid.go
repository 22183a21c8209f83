package transaction

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// unpaid decides what an error means for an order that was not signed: the order waits when the cause is not its own,
// or the try has failed.
func (a *PaymentActivities) unpaid(ctx context.Context, o Order, kind transaction.PaymentKind, err error) (Payment, error) {
	if ctx.Err() != nil || isRefusal(err, fault.StoreUnavailable) { // not a try of the order
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}

	a.Log.Warn(
		"payment not signed", "transaction", o.Hash, "kind", kind, "try", o.Try, "error", err, "cause", errors.Unwrap(err),
	)
	waits, waitErr := a.waitsForFragment(ctx, o, err)
	if waitErr != nil {
		return Payment{}, temporalio.RetryUntilSeen(ctx, waitErr)
	}

	switch code := fault.CodeOf(err); {
	case waits: // last in line, so that another order finds out whether Fragment is back: this one may be the cause
		return a.waitHeld(ctx, o, kind, code, a.Store.YieldTurn)
	case isRefusal(err, fault.PaymentsPaused, fault.PaymentsHeld):
		return a.afterLeaving(ctx, o, a.Store.ReturnTurn(ctx, o.Hash, kind))
	case code == fault.DailyLimit:
		return a.waitForLimit(ctx, o, kind, err)
	case code == fault.ReviewRequired:
		return a.waitForReview(ctx, o)
	case code == fault.PaymentNotAllowed, fragment.Holds(err),
		code == fault.ChainClock && kind == transaction.Purchase: // holds do not apply to refunds: they are retried later
		return a.waitHeld(ctx, o, kind, code, a.Store.ReturnTurn)
	case isRefusal(err, fault.NoTurn, fault.InvalidTransition, fault.PaymentUndecided):
		snapshot, loadErr := a.loadSnapshot(ctx, o.Hash)
		if loadErr != nil || !o.hasTurn(snapshot, kind) { // the record has moved on: so does the workflow
			return Payment{Snapshot: snapshot}, loadErr
		}
		// Nothing has moved, and it may not be signed: a person has to review it first. Other orders must not wait for
		// that.
	case code == fault.InsufficientFunds:
		a.raise(ctx, notice.AlertWalletEmpty)
	}

	return a.failTry(ctx, o, kind, err)
}

// failTry ends a failed try. Quick tries come first; then the order leaves the line, and the workflow decides about the
// next try.
func (a *PaymentActivities) failTry(
	ctx context.Context, o Order, kind transaction.PaymentKind, err error,
) (Payment, error) {
	failure := failureOf(err)
	if failure == stars.Suspicious {
		a.raise(ctx, notice.AlertPaymentRefused)
	}

	if !failure.Final && int(activity.GetInfo(ctx).Attempt) < quickTries {
		return Payment{}, failed(failure, err)
	}

	if kind == transaction.Refund && o.Try >= a.Settings.Attempts {
		a.raise(ctx, notice.AlertRefund)
	}

	payment, err := a.afterLeaving(ctx, o, a.Store.LeaveQueue(ctx, o.Hash, kind))
	if err != nil {
		return Payment{}, err
	}

	payment.Failure, payment.Retry = failure.Message, !failure.Final && o.Try < a.Settings.Attempts
	return payment, nil
}

// afterLeaving returns the snapshot once an order has left its place in line; err is the error of leaving it. An order
// whose payment is undecided keeps its place, and the workflow sees that.
func (a *PaymentActivities) afterLeaving(ctx context.Context, o Order, err error) (Payment, error) {
	if err != nil && !isRefusal(err, fault.PaymentUndecided) {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}
	snapshot, err := a.loadSnapshot(ctx, o.Hash)
	return Payment{Snapshot: snapshot}, err
}

// waitHeld holds all purchases for a while, and puts the order at the end of the line.
func (a *PaymentActivities) waitHeld(
	ctx context.Context, o Order, kind transaction.PaymentKind, why fault.Code,
	leave func(ctx context.Context, hash string, kind transaction.PaymentKind) error,
) (Payment, error) {
	if err := a.hold(ctx, why); err != nil {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return a.afterLeaving(ctx, o, leave(ctx, o.Hash, kind))
}

// waitForReview leaves a payment that needs a review to a person.
func (a *PaymentActivities) waitForReview(ctx context.Context, o Order) (Payment, error) {
	a.raise(ctx, notice.AlertTransactionReview)
	record, err := a.Store.ReviewPayment(ctx, o.Hash, a.Settings.Limits)
	snapshot, err := a.Settings.answer(ctx, record, err)
	return Payment{Snapshot: snapshot}, err
}

// longestDefer is how long an order waits before it is tried again: a payment that expires frees its amount sooner than
// the day's window.
const longestDefer = time.Hour

// waitForLimit lets other orders pass an order that exceeds what is left of today's limit.
func (a *PaymentActivities) waitForLimit(
	ctx context.Context, o Order, kind transaction.PaymentKind, why error,
) (Payment, error) {
	a.raise(ctx, notice.AlertDailyLimit)
	until := time.Now().Add(a.Settings.HoldRetry)
	if full, ok := errors.AsType[*transaction.DayIsFull](why); ok {
		until = earlier(full.Until, time.Now().Add(longestDefer))
	}
	return a.afterLeaving(ctx, o, a.Store.DeferTurn(ctx, o.Hash, kind, until))
}

// waitsForFragment says whether an order waits until Fragment is back. Tries that follow each other within seconds come
// first, and the wait is bounded: an error of one order alone would otherwise hold up all others for ever.
func (a *PaymentActivities) waitsForFragment(ctx context.Context, o Order, err error) (bool, error) {
	if !fragment.Away(err) || int(activity.GetInfo(ctx).Attempt) < min(quickTries, a.Settings.Attempts) {
		return false, nil
	}

	transaction, err := a.Store.ByHash(ctx, o.Hash)
	if err != nil || transaction.State != lifecycle.TransactionProcessing || transaction.Attempt != o.Attempt {
		return false, err
	}

	since := *transaction.ProcessingSince
	if began := transaction.FailingSince; began != nil {
		since = earlier(since, *began)
	}
	return time.Since(since) < a.Settings.RetryFor, nil
}
