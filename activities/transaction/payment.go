package transaction

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/metrics"
	"stagecoach/internal/money"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// PaymentStore is the part of the record that the payment activities use.
type PaymentStore interface {
	DestinationStore
	ByHash(ctx context.Context, hash string) (transaction.Transaction, error)
	SnapshotOf(ctx context.Context, hash string) (transaction.Snapshot, error)
	OrderOf(ctx context.Context, hash string) (transaction.Transaction, transaction.Snapshot, error)
	SaveQuote(ctx context.Context, q transaction.Quote) (transaction.Snapshot, error)
	Finish(ctx context.Context, hash string, attempt int, done bool) (transaction.Snapshot, error)

	LivePayment(ctx context.Context, hash string, kind transaction.PaymentKind) (*transaction.Payment, error)
	SignPayment(
		ctx context.Context, want transaction.PaymentOrder, limits transaction.Limits, sign transaction.SignFunc,
	) (transaction.Payment, error)
	PaymentByID(ctx context.Context, id int64) (transaction.Payment, error)
	SignedPayment(ctx context.Context, hash string) (*transaction.Payment, error)
	UnfinishedPayment(ctx context.Context, hash string) (*transaction.Payment, error)
	MarkPurchaseConfirmed(ctx context.Context, id int64) error
	MarkPaymentSent(ctx context.Context, id int64) error
	WakeForPayment(ctx context.Context, wallet string) error
	KeepDust(ctx context.Context, hash string, least int64) (transaction.Snapshot, error)
	ReviewPayment(ctx context.Context, hash string, limits transaction.Limits) (transaction.Snapshot, error)

	CheckLimits(ctx context.Context, hash string, kind transaction.PaymentKind, nano int64, limits transaction.Limits) error
	Switches(ctx context.Context) (transaction.Switches, error)
	Hold(ctx context.Context, reason string) error

	ClaimTurn(ctx context.Context, hash string) (transaction.Turn, error)
	KeepTurn(ctx context.Context, turn transaction.Turn) error
	LeaveTurn(ctx context.Context, turn transaction.Turn) error
	NextRequest(ctx context.Context, turn transaction.Turn) (int64, error)
	Defer(ctx context.Context, hash string, until time.Time) (transaction.Snapshot, error)
	AnyDeferred(ctx context.Context) (bool, error)
}

// PaymentActivities holds the wallet: it signs messages, one at a time, broadcasts them, and follows at Fragment
// what they buy.
type PaymentActivities struct {
	Store    PaymentStore
	Alerts   Alerts
	Wallet   *ton.Wallet
	Chain    *toncenter.Client
	Fragment *fragment.Client
	Allow    []ton.Address // that may be paid for Stars
	Settings Settings
	Orders   Orders
	Metrics  metrics.Transaction
	Log      *slog.Logger

	Decided Bell // rung by the monitor of this process

	healthy    atomic.Bool // no alert of ours is open
	prices     known[int64, money.Nano]
	recipients known[string, fragment.Recipient]
	paid       lastPaid
}

// refundComment explains the payment to the sender.
const refundComment = "Refund: the order could not be carried out"

// refund drafts the payment back to the sender.
func (a *PaymentActivities) refund(_ context.Context, x *execution) (draft, error) {
	to, _, err := ton.ParseAddress(x.row.Sender)
	if err != nil {
		return draft{}, err
	}

	body, err := ton.CommentBody(refundComment)
	if err != nil {
		return draft{}, err
	}

	amount := money.Nano(x.row.RefundDueNano - a.Settings.Reserve)
	return draft{payment: ton.Payment{To: to, Amount: amount, Body: body}}, nil
}

// loadSnapshot gives the transaction as the record has it now.
func (a *PaymentActivities) loadSnapshot(ctx context.Context, hash string) (Snapshot, error) {
	record, err := a.Store.SnapshotOf(ctx, hash)
	return a.Settings.answer(ctx, record, err)
}

// ProveRefund waits until the sender's receipt of the money is final, or until the money came back.
func (a *PaymentActivities) ProveRefund(ctx context.Context, hash string) (Snapshot, error) {
	defer temporalio.SendHeartbeats(ctx)()

	payment, err := a.Store.LivePayment(ctx, hash, transaction.Refund)
	if err == nil && payment != nil {
		var ref transaction.PaymentRef
		ref, err = settleDestination(ctx, a.Chain, a.Store, *payment, a.Settings.Refund)
		if err == nil && ref.State == transaction.PaymentPaid && !ref.Kept {
			err = notYet
		}
	}

	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return a.loadSnapshot(ctx, hash)
}

// notYet ends a try to see an event that takes time; the activity's retry policy starts the next one.
var notYet = fault.New(fault.PaymentUndecided, "not decided yet").Retry()
