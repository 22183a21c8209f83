package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// confirm confirms the paid purchase, and briefly waits for the Stars. If they take longer, Confirm continues.
func (x *attempt) confirm(ctx context.Context) error {
	for asked := time.Now(); ; {
		temporalio.Progressed(ctx)
		record, err := x.finish(ctx, x.order.Hash, x.claim.Attempt, *x.paid)
		switch {
		case err == nil && record.Purchase != nil && record.Purchase.State == transaction.PaymentBounced:
			return stars.WalletRefused
		case err == nil:
			x.at = record
			return nil
		case ctx.Err() != nil, isRefusal(err, fault.StoreUnavailable):
			return err
		case time.Since(asked) > x.Settings.TurnPatience:
			x.at, err = x.Store.SnapshotOf(ctx, x.order.Hash)
			return err
		}
		if err := x.pause(ctx, make(chan time.Time, 1)); err != nil {
			return err
		}
	}
}

// Confirm confirms a paid purchase to Fragment and queries once whether the Stars were sent; the retry policy repeats
// it. The first attempt after the time since the payment is over is the last one, however late it comes: then an
// operator reviews the order, because Stars are never bought twice.
func (a *PaymentActivities) Confirm(ctx context.Context, o Order) (transaction.Snapshot, error) {
	defer temporalio.SendHeartbeats(ctx)()

	payment, err := a.Store.LivePayment(ctx, o.Hash, transaction.Purchase)
	if err != nil {
		return outcome(ctx, transaction.Snapshot{}, err)
	}
	if payment == nil || payment.State != transaction.PaymentPaid { // it bounced, or was never paid
		record, err := a.Store.SnapshotOf(ctx, o.Hash)
		return outcome(ctx, record, err)
	}

	record, err := a.finish(ctx, o.Hash, payment.Attempt, *payment)
	switch {
	case err == nil:
		return record, nil
	case ctx.Err() != nil || isRefusal(err, fault.StoreUnavailable) || time.Since(*payment.SettledAt) <= a.Settings.ConfirmPatience:
		return transaction.Snapshot{}, temporalio.RetryUntilSeen(ctx, temporalio.FaultOf(err).Retry())
	}

	a.Log.Warn("purchase not confirmed in time", "transaction", o.Hash, "error", err)
	a.raise(ctx, notice.AlertTransactionReview)
	record, err = a.Store.Review(ctx, o.Hash, payment.Attempt, transaction.ReviewNotConfirmed)
	return outcome(ctx, record, err)
}

// finish processes the transaction of a paid purchase once the receiver has kept the money and the Stars were sent. A
// purchase whose money came back is left to the workflow.
func (a *PaymentActivities) finish(
	ctx context.Context, hash string, attempt int, payment transaction.Payment,
) (transaction.Snapshot, error) {
	var asked error // from Fragment, whose answer does not matter if the money came back
	ref, done, err := together(
		func() (transaction.PaymentRef, error) {
			return settleDestination(ctx, a.Chain, a.Store, payment, a.Settings.Refund)
		},
		func() (done bool, _ error) {
			done, asked = a.done(ctx, payment)
			return done, nil
		},
	)
	if err != nil {
		return transaction.Snapshot{}, err
	}
	if ref.State != transaction.PaymentPaid {
		return a.Store.SnapshotOf(ctx, hash)
	}

	if asked == nil && (!ref.Kept || payment.Last && !done) {
		asked = notYet
	}
	if fragment.Holds(asked) { // the money is paid: all that is left is to ask again
		asked = cmp.Or(a.hold(ctx, fault.CodeOf(asked), ""), error(held))
	}
	if asked != nil {
		return transaction.Snapshot{}, asked
	}

	record, err := a.Store.Finish(ctx, hash, attempt, done)
	countEnd(a.Metrics, record, err)
	return record, err
}

// done confirms the payment to Fragment, until that is accepted, and queries whether the Stars were sent. Fragment
// reports only the session's last purchase: if a later one was requested, nothing is queried.
func (a *PaymentActivities) done(ctx context.Context, payment transaction.Payment) (bool, error) {
	temporalio.Progressed(ctx)
	err := a.confirm(ctx, payment)
	if err != nil {
		a.Log.Warn("purchase not confirmed", "payment", payment.ID, "error", err) // Fragment also sees the payment on its own
	}
	if !payment.Last && fragment.Holds(err) {
		return false, err
	}
	if !payment.Last {
		return false, nil
	}

	temporalio.Progressed(ctx)
	state, err := a.Fragment.State(ctx, fragmentProcessing)
	if err == nil && state.NeedUpdate {
		temporalio.Progressed(ctx)
		state, err = a.Fragment.State(ctx, state.Mode)
	}
	return state.Done(), err
}

func (a *PaymentActivities) confirm(ctx context.Context, payment transaction.Payment) error {
	if payment.RequestID == "" || payment.ConfirmedAt != nil {
		return nil
	}
	if err := a.Fragment.Confirm(ctx, payment.RequestID, payment.BoC); err != nil {
		return err
	}
	return a.Store.MarkPurchaseConfirmed(ctx, payment.ID)
}

// fragmentProcessing is shown on a page while a purchase is in progress.
const fragmentProcessing = "processing"
