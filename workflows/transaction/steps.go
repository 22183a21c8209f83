package transaction

import (
	"context"
	"math"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
)

// snapshot is the recorded state of a transaction.
type snapshot = transaction.Snapshot

// step is what a transaction's workflow does next.
type step string

const (
	stepPay          step = "pay"           // wait for the wallet, and buy; after a failure, at the time of the next attempt
	stepConfirm      step = "confirm"       // the purchase is paid: the Stars must arrive
	stepAwaitReview  step = "await review"  // an operator decides
	stepStop         step = "stop"          // it was cancelled, and nothing is signed
	stepAwaitRetry   step = "await retry"   // it failed, and an operator may retry
	stepRefund       step = "refund"        // wait for the wallet, and return the money
	stepSettleRefund step = "settle refund" // the refund is in transit
	stepOver         step = "over"
)

// steps are the steps' functions. Each one ends with a new snapshot of the record.
var steps = map[step]func(*run, workflow.Context) error{
	stepPay:          (*run).pay,
	stepConfirm:      (*run).confirm,
	stepAwaitReview:  (*run).awaitChange,
	stepStop:         (*run).stop,
	stepAwaitRetry:   (*run).awaitChange,
	stepRefund:       (*run).refund,
	stepSettleRefund: (*run).settleRefund,
}

// next decides the step from the record's snapshot. A signed payment comes first, whatever else was requested: the
// chain decides.
func (t *run) next() step {
	at, owed := t.at, t.at.RefundDue > 0
	switch {
	case stateOf(at.Purchase) == transaction.PaymentSigned:
		return stepPay
	case stateOf(at.Refund) == transaction.PaymentSigned:
		return stepRefund
	case at.State == lifecycle.TransactionProcessed, at.State == "":
		return stepOver
	case at.State == lifecycle.TransactionFailed && stateOf(at.Refund) == transaction.PaymentPaid && !at.Refund.Kept:
		return stepSettleRefund
	case at.NeedsReview && (owed || at.State != lifecycle.TransactionFailed):
		return stepAwaitReview
	case owed:
		return stepRefund
	case at.State != lifecycle.TransactionFailed && stateOf(at.Purchase) == transaction.PaymentPaid:
		return stepConfirm
	case t.cancelled && (at.State != lifecycle.TransactionFailed || at.RetryAt != nil):
		return stepStop
	case at.State != lifecycle.TransactionFailed, at.RetryAt != nil:
		return stepPay
	case at.ErrorClass == lifecycle.NonRetryable, t.cancelled:
		return stepOver
	default:
		return stepAwaitRetry
	}
}

func stateOf(p *transaction.PaymentRef) transaction.PaymentState {
	if p == nil {
		return ""
	}
	return p.State
}

// pay buys the Stars. The activity waits in its queue; senders take turns. A person can cancel while nothing is signed.
func (t *run) pay(ctx workflow.Context) error {
	return t.execute(ctx, payments.Pay, activities.Order{Hash: t.hash, Decide: t.cancelled}, workflow.ActivityOptions{
		TaskQueue: lifecycle.PaymentQueue, StartToCloseTimeout: payTime, Summary: "buy the Stars",
		Priority: temporal.Priority{FairnessKey: t.at.Sender},
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumInterval: 10 * time.Second, MaximumAttempts: math.MaxInt32,
			NonRetryableErrorTypes: stars.NonRetryable,
		},
	})
}

// refund returns the money to the sender. A debt is retried until it is paid.
func (t *run) refund(ctx workflow.Context) error {
	return t.execute(ctx, payments.Refund, activities.Order{Hash: t.hash}, workflow.ActivityOptions{
		TaskQueue: lifecycle.RefundQueue, StartToCloseTimeout: payTime, Summary: "refund the sender",
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, MaximumInterval: time.Minute, MaximumAttempts: math.MaxInt32,
		},
	})
}

const (
	// payTime bounds one attempt: its wait, and then a payment from the price to the last confirmation.
	payTime = 15 * time.Minute

	// heartbeatTimeout is how long an activity may go without a heartbeat before its worker counts as lost.
	heartbeatTimeout = 30 * time.Second
)

// execute executes an activity that pays. The delay between two attempts ends early if a person, or the record,
// requests something else: the activity is then cancelled, and the next step decided anew.
func (t *run) execute(
	ctx workflow.Context, act func(context.Context, activities.Order) (snapshot, error), order activities.Order,
	options workflow.ActivityOptions,
) error {
	options.HeartbeatTimeout, options.WaitForCancellation = heartbeatTimeout, true
	paying, stop := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer stop()

	t.asked = false
	paid := workflow.ExecuteActivity(paying, act, order)
	for !paid.IsReady() && !t.asked && ctx.Err() == nil {
		changed := t.mayHaveChanged(ctx)
		if workflow.Await(ctx, func() bool { return paid.IsReady() || t.asked || changed() }) != nil || paid.IsReady() {
			break
		}

		hinted := t.refreshes.Len() > 0 || t.retries.Len() > 0
		if err := t.followChange(ctx); err != nil {
			return err
		}
		rests := t.at.Ended() || t.at.DeferredUntil != nil || t.at.NeedsReview
		if hinted && rests || t.cancelled && rests || t.mayContinue(ctx) {
			break
		}
	}
	stop()

	var now snapshot
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := paid.Get(ctx, &now); err != nil {
		return t.loadSnapshot(ctx)
	}
	return t.learn(ctx, now)
}

// stop ends a transaction for an operator, unless a purchase is signed or paid.
func (t *run) stop(ctx workflow.Context) error {
	return ask(ctx, t, "cancel", transactions.CancelTransaction, t.hash)
}

// confirm waits for a paid purchase's Stars. If they do not arrive in time an operator reviews the order: Stars are
// never bought twice.
func (t *run) confirm(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	confirming := t.besidePayments(ctx, "wait for the Stars", temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second,
	})
	var now snapshot
	if err := workflow.ExecuteActivity(confirming, payments.Confirm, activities.Order{Hash: t.hash}).Get(ctx, &now); err != nil {
		return err
	}
	return t.learn(ctx, now)
}

// settleRefund waits until the sender has received the money, or it came back.
func (t *run) settleRefund(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	settling := t.besidePayments(
		ctx, "see the refund arrive", temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	)
	var now snapshot
	if err := workflow.ExecuteActivity(settling, payments.ProveRefund, t.hash).Get(ctx, &now); err != nil {
		return err
	}
	return t.learn(ctx, now)
}

// besidePayments returns the options of an activity that follows a payment while others are made.
func (t *run) besidePayments(ctx workflow.Context, summary string, retries temporal.RetryPolicy) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.WalletQueue, StartToCloseTimeout: askingTime, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: &retries, Summary: summary,
	})
}

// askingTime bounds an activity that sends Fragment and the chain several queries in sequence.
const askingTime = 3 * time.Minute

// awaitChange waits for a person, or for a hint that the record has changed.
func (t *run) awaitChange(ctx workflow.Context) error {
	if err := workflow.Await(ctx, t.mayHaveChanged(ctx)); err != nil {
		return err
	}
	return t.followChange(ctx)
}
