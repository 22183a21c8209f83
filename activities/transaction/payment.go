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
	SaveQuote(ctx context.Context, q transaction.Quote) (transaction.Snapshot, error)
	Finish(ctx context.Context, hash string, attempt int, done bool) (transaction.Snapshot, error)

	LivePayment(ctx context.Context, hash string, kind transaction.PaymentKind) (*transaction.Payment, error)
	SignPayment(
		ctx context.Context, want transaction.PaymentOrder, limits transaction.Limits, sign transaction.SignFunc,
	) (transaction.Payment, error)
	NextRequest(ctx context.Context, wallet string) (int64, error)
	MarkPurchaseConfirmed(ctx context.Context, id int64) error
	MarkPaymentSent(ctx context.Context, id int64) error
	WakeForPayment(ctx context.Context, wallet string) error
	KeepDust(ctx context.Context, hash string, least int64) (transaction.Snapshot, error)
	ReviewPayment(ctx context.Context, hash string, limits transaction.Limits) (transaction.Snapshot, error)

	CheckLimits(ctx context.Context, hash string, kind transaction.PaymentKind, nano int64, limits transaction.Limits) error
	Switches(ctx context.Context) (transaction.Switches, error)
	Hold(ctx context.Context, reason string, retryAt time.Time) error

	LeaveQueue(ctx context.Context, hash string, kind transaction.PaymentKind) error
	YieldTurn(ctx context.Context, hash string, kind transaction.PaymentKind) error
	ReturnTurn(ctx context.Context, hash string, kind transaction.PaymentKind) error
	DeferTurn(ctx context.Context, hash string, kind transaction.PaymentKind, until time.Time) error
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
	Metrics  metrics.Transaction
	Log      *slog.Logger

	healthy    atomic.Bool // no alert of ours is open
	prices     known[int64, money.Nano]
	recipients known[string, fragment.Recipient]
}

// quickTries are the tries of one activity that follow each other within seconds, before other orders get their turn.
// Temporal counts them; the workflow counts the tries of an order (Order.Try), each of which is one activity.
const quickTries = 3

// Order names a try to make a payment.
type Order struct {
	Hash    string `json:"hash"`
	Attempt int    `json:"attempt"` // of the transaction
	Try     int    `json:"try"`     // from 1, of this processing
}

// Payment is the result of a try to make a payment.
type Payment struct {
	Snapshot
	Failure string `json:"failure,omitempty"` // why nothing was signed; empty: it was, or it is not the order's turn
	Retry   bool   `json:"retry,omitempty"`   // after a failure: it may be tried again, after a pause
}

// BroadcastOutcome is the state after a broadcast.
type BroadcastOutcome struct {
	Snapshot
	Over bool `json:"over,omitempty"` // the payment's time is over: another broadcast is useless
}

// BroadcastPayment sends the bytes of a signed payment once more. Only the chain decides the outcome, not the answer.
func (a *PaymentActivities) BroadcastPayment(ctx context.Context, p PaymentOf) (BroadcastOutcome, error) {
	defer temporalio.SendHeartbeats(ctx)()

	payment, err := a.Store.LivePayment(ctx, p.Hash, p.Kind)
	if err != nil {
		return BroadcastOutcome{}, temporalio.RetryUntilSeen(ctx, err)
	}

	over := true
	if payment != nil && payment.State == transaction.PaymentSigned {
		over = time.Now().After(payment.ValidUntil.Add(a.Settings.FinalityMargin))
		a.broadcast(ctx, *payment)
	}

	snapshot, err := a.loadSnapshot(ctx, p.Hash)
	return BroadcastOutcome{Snapshot: snapshot, Over: over}, err
}

// broadcast sends a payment's bytes. The answer proves nothing about the payment: an accepted message may never reach
// the chain, and a rejected one may be there already.
func (a *PaymentActivities) broadcast(ctx context.Context, payment transaction.Payment) {
	if err := a.Store.MarkPaymentSent(ctx, payment.ID); err != nil {
		a.Log.Warn("payment not broadcast", "payment", payment.ID, "error", err)
		return
	}

	receipt, err := a.Chain.Broadcast(ctx, payment.BoC)
	a.Log.Info(
		"payment broadcast", "payment", payment.ID, "outcome", receipt.Outcome, "exit_code", receipt.ExitCode, "error", err,
	)
	if err := a.Store.WakeForPayment(ctx, payment.Wallet); err != nil {
		a.Log.Warn("the monitor was not woken", "error", err) // it reads the chain by itself, later
	}
}

// PayRefund signs and broadcasts the payment that returns a transaction's money, less gas, unless there is one already.
func (a *PaymentActivities) PayRefund(ctx context.Context, o Order) (Payment, error) {
	defer temporalio.SendHeartbeats(ctx)()

	record, err := a.Store.KeepDust(ctx, o.Hash, a.Settings.Reserve+max(a.Settings.RefundLeast, 1))
	if err != nil || record.RefundDue == 0 && record.Turn == nil { // the refund is not worth its gas
		snapshot, err := a.Settings.answer(ctx, record, err)
		return Payment{Snapshot: snapshot}, err
	}

	return a.pay(ctx, o, transaction.Refund, a.refund)
}

// refundComment explains the payment to the sender.
const refundComment = "Refund: the order could not be carried out"

// refund drafts the payment back to the sender.
func (a *PaymentActivities) refund(_ context.Context, t transaction.Transaction) (draft, error) {
	to, _, err := ton.ParseAddress(t.Sender)
	if err != nil {
		return draft{}, err
	}

	body, err := ton.CommentBody(refundComment)
	if err != nil {
		return draft{}, err
	}

	amount := money.Nano(t.RefundDueNano - a.Settings.Reserve)
	return draft{payment: ton.Payment{To: to, Amount: amount, Body: body}}, nil
}

// pay makes the one payment of an order. A payment that is already signed is broadcast again. prepare drafts the
// payment; it moves no money.
func (a *PaymentActivities) pay(
	ctx context.Context, o Order, kind transaction.PaymentKind, prepare prepareFunc,
) (Payment, error) {
	payment, err := a.Store.LivePayment(ctx, o.Hash, kind)
	if err != nil {
		return Payment{}, temporalio.RetryUntilSeen(ctx, err)
	}

	if payment == nil {
		snapshot, err := a.loadSnapshot(ctx, o.Hash)
		if err != nil || !o.hasTurn(snapshot, kind) {
			return Payment{Snapshot: snapshot}, err
		}
		if payment, err = a.sign(ctx, o, kind, prepare); err != nil {
			return a.unpaid(ctx, o, kind, err)
		}
	}

	if payment.State == transaction.PaymentSigned {
		a.broadcast(ctx, *payment)
	}

	snapshot, err := a.loadSnapshot(ctx, o.Hash)
	return Payment{Snapshot: snapshot}, err
}

// hasTurn says whether the wallet's turn is this order's.
func (o Order) hasTurn(s Snapshot, kind transaction.PaymentKind) bool {
	return s.Attempt == o.Attempt && s.Turn != nil && s.Turn.Kind == kind && s.Turn.Granted
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
