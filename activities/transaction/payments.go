package transaction

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
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
	SnapshotOf(ctx context.Context, hash string) (transaction.Snapshot, error)
	Gate(ctx context.Context, hash string) (transaction.Gate, error)
	Begin(ctx context.Context, b transaction.Beginning) (at transaction.Snapshot, request int64, err error)
	Review(ctx context.Context, hash string, attempt int, reason string) (transaction.Snapshot, error)
	Finish(ctx context.Context, hash string, attempt int, done bool) (transaction.Snapshot, error)

	LivePayment(ctx context.Context, hash string, kind transaction.PaymentKind) (*transaction.Payment, error)
	SignPayment(
		ctx context.Context, want transaction.PaymentOrder, limits transaction.Limits, sign transaction.SignFunc,
	) (transaction.Payment, error)
	PaymentByID(ctx context.Context, id int64) (transaction.Payment, error)
	MarkPurchaseConfirmed(ctx context.Context, id int64) error
	MarkPaymentSent(ctx context.Context, id int64) error
	WakeForPayment(ctx context.Context, wallet string) error
	KeepDust(ctx context.Context, hash string, least int64) (transaction.Snapshot, error)
	ReviewPayment(ctx context.Context, hash string, limits transaction.Limits) (transaction.Snapshot, error)

	Switches(ctx context.Context) (transaction.Switches, error)
	Hold(ctx context.Context, reason, hash string) error
	TakeProbe(ctx context.Context) (bool, error)
	Suspect(ctx context.Context, hash, reason string) (held bool, err error)
	EndHold(ctx context.Context, wallet string, failures []string) error

	Defer(ctx context.Context, hash string, until time.Time) (transaction.Snapshot, error)
	AnyDeferred(ctx context.Context) (bool, error)
}

// PaymentActivities holds the wallet: it signs messages, one at a time, broadcasts them, and follows at Fragment what
// they buy.
type PaymentActivities struct {
	Store    PaymentStore
	Alerts   Alerts
	Wallet   *ton.Wallet
	Chain    *toncenter.Client
	Fragment *fragment.Client
	Allow    []ton.Address // may be paid for Stars
	Settings Settings
	Orders   Orders
	Temporal temporalio.Signaler
	Metrics  metrics.Transaction
	Log      *slog.Logger

	Decided Bell // rung by this process's monitor

	healthy    atomic.Bool // no alert of ours is open
	prices     known[int64, money.Nano]
	recipients known[string, fragment.Recipient]
	lastPaid   lastPaid
}

// tell notifies the order's workflow of what an attempt that ends in a retry has written.
func (a *PaymentActivities) tell(ctx context.Context, at transaction.Snapshot) {
	run := activity.GetInfo(ctx).WorkflowExecution
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	if err := a.Temporal.SignalWorkflow(ctx, run.ID, run.RunID, lifecycle.TransactionStageSignal, at); err != nil {
		a.Log.Debug("workflow not notified", "workflow", run.ID, "error", err) // the reconciler notifies it
	}
}

const signalTimeout = 3 * time.Second
