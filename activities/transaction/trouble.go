package transaction

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// judge decides what an error of an attempt to buy means: for no order in particular, for this one, or for the record.
func (x *attempt) judge(ctx context.Context, err error) (transaction.Snapshot, error) {
	if ctx.Err() != nil || errors.Is(err, errWorkerStops) || errors.Is(err, errAgain) || isRefusal(err, fault.StoreUnavailable) || isFinal(err) {
		return transaction.Snapshot{}, err
	}
	if isRefusal(err, fault.NoTurn, fault.PaymentsPaused, fault.PaymentsHeld, fault.InvalidTransition) { // the record is ahead
		return transaction.Snapshot{}, cmp.Or(x.wait(ctx, err), errAgain)
	}

	x.Log.Warn("payment not made", "transaction", x.order.Hash, "error", err, "cause", errors.Unwrap(err))
	switch code := fault.CodeOf(err); {
	case code == fault.DailyLimit, code == fault.ReviewRequired:
		if err := x.endHold(ctx); err != nil {
			return transaction.Snapshot{}, err
		}
		if code == fault.ReviewRequired {
			return x.review(ctx)
		}
		return transaction.Snapshot{}, x.deferPayment(ctx, err)
	case errors.Is(err, stars.PriceMoved) && !x.fresh:
		x.fresh = true
		return transaction.Snapshot{}, errAgain
	case fragment.Holds(err), isRefusal(err, fault.PaymentNotAllowed, fault.ChainClock): // until a person removes the cause
		return transaction.Snapshot{}, cmp.Or(x.hold(ctx, code, x.order.Hash), errAgain)
	case isTrouble(err):
		if held, err := x.suspect(ctx, err); err != nil || held {
			return transaction.Snapshot{}, cmp.Or(err, errAgain)
		}
	default:
		if err := x.endHold(ctx); err != nil {
			return transaction.Snapshot{}, err
		}
	}

	failure := failureOf(err)
	switch {
	case failure == stars.Suspicious:
		x.raise(ctx, notice.AlertPaymentRefused)
	case isRefusal(err, fault.InsufficientFunds):
		x.raise(ctx, notice.AlertWalletEmpty)
	}
	return transaction.Snapshot{}, x.fail(ctx, failure)
}

// isTrouble reports whether an error may be caused by the shop or the chain rather than by the order. A nonsensical
// answer counts like no answer.
func isTrouble(err error) bool {
	code := fault.CodeOf(err)
	return fragment.Away(err) || errors.Is(err, stars.Nonsense) || code == fault.FragmentProtocol || code == fault.FragmentRefused ||
		strings.HasPrefix(string(code), "CHAIN_")
}

// suspect determines whether trouble is the shop's or the chain's: neither answers requests that belong to no order, or
// the previous order had the same. Then payments are held, and this order has not failed.
func (x *attempt) suspect(ctx context.Context, err error) (held bool, _ error) {
	if probe := x.askShop(ctx); probe != nil {
		return true, x.hold(ctx, fault.CodeOf(probe), x.order.Hash)
	}

	reason := cmp.Or(fault.CodeOf(err), fault.FragmentProtocol)
	if held, err := x.Store.Suspect(ctx, x.order.Hash, string(reason)); err != nil || !held {
		return false, err
	}
	return true, x.hold(ctx, reason, x.order.Hash)
}

// endHold ends the hold and the suspicion, after this order has shown that their cause is gone.
func (x *attempt) endHold(ctx context.Context) error {
	if !x.probe && x.suspected == "" {
		return nil
	}
	x.probe, x.suspected = false, ""
	return x.Store.EndHold(ctx, x.row.Wallet, stars.Outages)
}

// fail records a failure of the order, and ends the attempt. The workflow is notified when the next attempt follows.
func (x *attempt) fail(ctx context.Context, failure *stars.Failure) error {
	record, err := x.Orders.Fail(ctx, x.claim, failure)
	if err != nil {
		return err
	}
	if record.State != lifecycle.TransactionFailed || record.Error != failure.Message {
		return errAgain // the record is ahead
	}
	if record.RetryAt == nil {
		given := *failure
		given.Final = true
		return failed(&given, 0)
	}
	x.tell(ctx, record)
	return failed(failure, time.Until(*record.RetryAt))
}

// longestDefer is the longest delay before an order is retried: a payment that expires frees its amount sooner than the
// 24-hour window.
const longestDefer = time.Hour

// deferPayment lets other orders pass an order that exceeds what is left of today's limit.
func (x *attempt) deferPayment(ctx context.Context, why error) error {
	x.raise(ctx, notice.AlertDailyLimit)
	until := time.Now().Add(x.Settings.HoldRetry)
	if full, ok := errors.AsType[*transaction.DayIsFull](why); ok {
		until = earlier(full.Until, time.Now().Add(longestDefer))
	}

	record, err := x.Store.Defer(ctx, x.order.Hash, until)
	if err != nil {
		return err
	}
	x.tell(ctx, record)
	later := fault.New(fault.DailyLimit, "this payment exceeds what is left of the 24-hour limit").Retry()
	later.RetryAfter = max(time.Until(until), time.Millisecond)
	return temporalio.ToTemporal(later)
}

// review requests the review that the limits require for the payment.
func (x *attempt) review(ctx context.Context) (transaction.Snapshot, error) {
	x.raise(ctx, notice.AlertTransactionReview)
	record, err := x.Store.ReviewPayment(ctx, x.order.Hash, x.Settings.Limits)
	if err == nil && !record.NeedsReview {
		err = errAgain
	}
	return record, err
}
