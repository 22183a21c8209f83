package transaction

import (
	"cmp"
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// confirmInTurn confirms a paid purchase, and waits a moment for the Stars. When they take longer the turn is given free, and
// ConfirmPurchase goes on.
func (x *execution) confirmInTurn(ctx context.Context) error {
	payment, err := x.Store.LivePayment(ctx, x.order.Hash, transaction.Purchase)
	if err != nil || payment == nil {
		return err
	}

	asked := time.Now()
	for {
		temporalio.Progressed(ctx)
		record, err := x.finish(ctx, x.order.Hash, x.at.Attempt, *payment)
		switch {
		case err == nil && record.Purchase != nil && record.Purchase.State == transaction.PaymentBounced:
			return nil
		case err == nil:
			x.ended = record.Ended()
			x.at, err = x.Settings.answer(ctx, record, nil)
			return cmp.Or(err, errEnded)
		case ctx.Err() != nil, isRefusal(err, fault.StoreUnavailable):
			return err
		case time.Since(asked) > x.Settings.TurnPatience:
			x.outcome.AskedAt = &asked
			return nil
		}
		if err := x.wait(ctx, x.Settings.LookEvery); err != nil {
			return err
		}
	}
}

// ConfirmPurchase confirms a paid purchase to Fragment and asks whether the Stars are sent, once; the retry policy asks
// again. The try after the end of the patience is the last one.
func (a *PaymentActivities) ConfirmPurchase(ctx context.Context, o Order) (Snapshot, error) {
	defer temporalio.SendHeartbeats(ctx)()

	record, err := a.Store.SnapshotOf(ctx, o.Hash)
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	payment, err := a.Store.LivePayment(ctx, o.Hash, transaction.Purchase)
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	if payment == nil || payment.State != transaction.PaymentPaid { // it bounced, or was never paid
		return a.Settings.answer(ctx, record, nil)
	}

	record, err = a.finish(ctx, o.Hash, record.Attempt, *payment)
	if o.AskedAt != nil && err != nil && ctx.Err() == nil && !isRefusal(err, fault.StoreUnavailable) &&
		time.Since(*o.AskedAt) > a.Settings.ConfirmPatience {
		a.Log.Warn("purchase not confirmed in time", "transaction", o.Hash, "error", err)
		return Snapshot{}, temporalio.ToTemporal(fault.New(fault.PaymentUndecided, "the Stars have not come in time"))
	}
	return a.Settings.answer(ctx, record, err)
}

// finish processes the transaction of a paid purchase once the receiver has kept the money and the Stars are sent. A
// purchase whose money came back is left to the workflow.
func (a *PaymentActivities) finish(
	ctx context.Context, hash string, attempt int, payment transaction.Payment,
) (transaction.Snapshot, error) {
	var asked error // of Fragment, whose answer does not matter when the money came back
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
	if fragment.Holds(asked) { // the money is paid: the only way on is to ask again
		asked = cmp.Or(a.hold(ctx, fault.CodeOf(asked)), error(notYet))
	}
	if asked != nil {
		return transaction.Snapshot{}, asked
	}

	record, err := a.Store.Finish(ctx, hash, attempt, done)
	countEnd(a.Metrics, record, err)
	return record, err
}

// done confirms the payment to Fragment, until that is taken, and queries whether the Stars are sent. Fragment reports
// only the session's last purchase: when a later one was requested, nothing is queried.
func (a *PaymentActivities) done(ctx context.Context, payment transaction.Payment) (bool, error) {
	err := a.confirm(ctx, payment)
	if err != nil {
		a.Log.Warn("purchase not confirmed", "payment", payment.ID, "error", err) // Fragment sees the payment by itself, too
	}
	if !payment.Last && fragment.Holds(err) {
		return false, err
	}
	if !payment.Last {
		return false, nil
	}

	state, err := a.Fragment.State(ctx, fragmentProcessing)
	if err == nil && state.NeedUpdate {
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

// fragmentProcessing is what a page shows while a purchase is in progress.
const fragmentProcessing = "processing"
