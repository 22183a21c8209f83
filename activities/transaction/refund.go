package transaction

import (
	"cmp"
	"context"
	"errors"

	"stagecoach/internal/fault"
	"stagecoach/internal/money"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
)

const refundComment = "Refund: the order could not be carried out"

// Refund returns what is owed to a transaction's sender, less gas. It ends with the record's snapshot once the refund
// is paid, kept as dust, or in review; the policy retries failures until then. A hold of the shop does not affect it.
func (a *PaymentActivities) Refund(ctx context.Context, o Order) (transaction.Snapshot, error) {
	_, err := a.Store.KeepDust(ctx, o.Hash, a.Settings.Reserve+max(a.Settings.RefundLeast, 1)) // it is not worth its gas
	if err != nil {
		return transaction.Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return a.attempt(ctx, o, (*attempt).refund)
}

func (x *attempt) refund(ctx context.Context) (transaction.Snapshot, error) {
	temporalio.Progressed(ctx)
	g, err := x.Store.Gate(ctx, x.order.Hash)
	if err != nil {
		return transaction.Snapshot{}, err
	}

	x.row, x.claim = g.Transaction, transaction.Claim{Hash: g.Hash}
	switch {
	case g.Left != nil && g.Left.State == transaction.PaymentSigned: // its own, or another order's
		_, err = x.follow(ctx, *g.Left)
	case g.NeedsReview, g.RefundDueNano == 0:
		return g.Snapshot(), nil
	case g.Pause.On():
		err = x.wait(ctx, paused)
	default:
		err = x.payBack(ctx)
	}

	switch code := fault.CodeOf(err); {
	case err == nil:
		return transaction.Snapshot{}, errAgain
	case ctx.Err() != nil, errors.Is(err, errWorkerStops), code == fault.StoreUnavailable:
		return transaction.Snapshot{}, err
	case code == fault.NoTurn, code == fault.PaymentsHeld, code == fault.PaymentsPaused:
		return transaction.Snapshot{}, cmp.Or(x.wait(ctx, err), errAgain)
	case code == fault.DailyLimit:
		return transaction.Snapshot{}, x.deferPayment(ctx, err)
	case code == fault.ReviewRequired:
		return x.review(ctx)
	}

	x.Log.Warn("refund not made", "transaction", x.order.Hash, "error", err, "cause", errors.Unwrap(err))
	x.raise(ctx, notice.AlertRefund)
	if isRefusal(err, fault.InsufficientFunds) {
		x.raise(ctx, notice.AlertWalletEmpty)
	}
	again := *failureOf(err)
	again.Final = false // a debt is retried until it is paid
	return transaction.Snapshot{}, failed(&again, 0)
}

// payBack signs the payment back to the sender, and broadcasts it.
func (x *attempt) payBack(ctx context.Context) error {
	to, _, err := ton.ParseAddress(x.row.Sender)
	if err != nil {
		return err
	}
	body, err := ton.CommentBody(refundComment)
	if err != nil {
		return err
	}

	temporalio.Progressed(ctx)
	state, err := x.readWallet(ctx)
	if err != nil {
		return err
	}
	amount := money.Nano(x.row.RefundDueNano - x.Settings.Reserve)
	if err := affordable(state, amount, x.Settings.Reserve); err != nil {
		return err
	}

	payment, err := x.sign(ctx, transaction.Refund, draft{payment: ton.Payment{To: to, Amount: amount, Body: body}}, state)
	if err == nil {
		x.broadcast(context.WithoutCancel(ctx), payment)
		x.resolveAlerts(ctx)
	}
	return err
}

// ProveRefund waits until the sender's receipt of the money is final, or until the money came back.
func (a *PaymentActivities) ProveRefund(ctx context.Context, hash string) (transaction.Snapshot, error) {
	defer temporalio.SendHeartbeats(ctx)()

	payment, err := a.Store.LivePayment(ctx, hash, transaction.Refund)
	if err == nil && payment != nil {
		var ref transaction.PaymentRef
		ref, err = settleDestination(ctx, a.Chain, a.Store, *payment, a.Settings.Refund)
		if err == nil && ref.State == transaction.PaymentPaid && !ref.Kept {
			err = notYet
		}
	}

	var record transaction.Snapshot
	if err == nil {
		record, err = a.Store.SnapshotOf(ctx, hash)
	}
	return outcome(ctx, record, err)
}

// notYet ends an attempt to see an event that takes time; the activity's retry policy starts the next one.
var notYet = fault.New(fault.PaymentUndecided, "not decided yet").Retry()
