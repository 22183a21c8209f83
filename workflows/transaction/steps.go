package transaction

import (
	"context"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
	"stagecoach/workflows/record"
)

// step is what a transaction's workflow does next.
type step string

const (
	stepBuy          step = "buy"           // wait for the wallet's turn, and buy in it
	stepConfirm      step = "confirm"       // the purchase is paid: the Stars must come
	stepAwaitReview  step = "await review"  // an operator decides
	stepStop         step = "stop"          // it was cancelled, and nothing is signed
	stepAwaitRoom    step = "await room"    // the limit for 24 hours is full
	stepAwaitRetry   step = "await retry"   // it failed, and an operator may try again
	stepRetryLater   step = "retry later"   // it failed, and is tried again when its time comes
	stepRefund       step = "refund"        // wait for the wallet's turn, and return the money
	stepSettleRefund step = "settle refund" // the money is on its way back
	stepOver         step = "over"
)

// steps are the functions of the steps. Each one ends with a new snapshot of the record.
var steps = map[step]func(*run, workflow.Context) error{
	stepBuy:          (*run).buy,
	stepConfirm:      (*run).confirm,
	stepAwaitReview:  (*run).awaitChange,
	stepStop:         (*run).stop,
	stepAwaitRoom:    (*run).awaitRoom,
	stepAwaitRetry:   (*run).awaitChange,
	stepRetryLater:   (*run).retryLater,
	stepRefund:       (*run).refund,
	stepSettleRefund: (*run).settleRefund,
}

// next decides the step from the snapshot of the record. A signed payment comes first, whatever else was requested: the
// chain decides.
func (t *run) next() step {
	switch at := t.at; {
	case stateOf(at.Purchase) == transaction.PaymentSigned:
		return stepBuy
	case stateOf(at.Refund) == transaction.PaymentSigned:
		return stepRefund
	case at.State == lifecycle.TransactionProcessing:
		return t.nextPurchase()
	case at.State == lifecycle.TransactionFailed:
		return t.nextFailed()
	default:
		return stepOver
	}
}

func (t *run) nextPurchase() step {
	paid := stateOf(t.at.Purchase) == transaction.PaymentPaid
	switch {
	case t.at.NeedsReview:
		return stepAwaitReview
	case paid && t.askedAt != nil:
		return stepConfirm
	case t.cancelled && !paid:
		return stepStop
	case t.deferredUntil != nil:
		return stepAwaitRoom
	default:
		return stepBuy
	}
}

func (t *run) nextFailed() step {
	owed := t.at.RefundDue > 0
	switch {
	case stateOf(t.at.Refund) == transaction.PaymentPaid && !t.at.Refund.Kept:
		return stepSettleRefund
	case owed && t.at.NeedsReview:
		return stepAwaitReview
	case owed && t.deferredUntil != nil:
		return stepAwaitRoom
	case owed:
		return stepRefund
	case t.at.ErrorClass == lifecycle.NonRetryable, t.cancelled:
		return stepOver
	case t.at.RetryAt != nil:
		return stepRetryLater
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

// buy buys the Stars. The activity waits in its queue for the wallet's turn; senders take turns. What a person cancels is
// cancelled while nothing is signed.
func (t *run) buy(ctx workflow.Context) error {
	order := activities.Order{Hash: t.hash, Decide: t.cancelled}
	return t.execute(ctx, "buy the Stars", t.at.Sender, time.Minute, payments.Buy, order)
}

// refund returns the money to the sender. A refund that is owed is tried until it is paid.
func (t *run) refund(ctx workflow.Context) error {
	return t.execute(ctx, "refund the sender", "refunds", time.Hour, payments.Refund, activities.Order{Hash: t.hash})
}

const (
	// turnTime bounds an execution that waits in the wallet's turn, as for the end of a pause.
	turnTime = 30 * 24 * time.Hour

	// heartbeatTimeout is how long an activity may send no heartbeat before its worker counts as lost.
	heartbeatTimeout = 30 * time.Second
)

// execute executes what is done in the wallet's turn. An execution that was interrupted is followed by another one.
func (t *run) execute(
	ctx workflow.Context, summary, fairness string, longestPause time.Duration,
	act func(context.Context, activities.Order) (activities.Outcome, error), order activities.Order,
) error {
	inTurn := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.PaymentQueue, StartToCloseTimeout: turnTime, HeartbeatTimeout: heartbeatTimeout,
		WaitForCancellation: true, Summary: summary, Priority: temporal.Priority{FairnessKey: fairness},
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: longestPause},
	})

	var outcome activities.Outcome
	t.executing = true
	defer func() { t.executing = false }()
	if err := workflow.ExecuteActivity(inTurn, act, order).Get(ctx, &outcome); err != nil {
		return t.loadSnapshot(ctx)
	}

	t.deferredUntil, t.askedAt = outcome.DeferredUntil, outcome.AskedAt
	return t.learn(ctx, outcome.Snapshot)
}

// stop ends a transaction for an operator, unless a purchase is signed or paid.
func (t *run) stop(ctx workflow.Context) error {
	return ask(ctx, t, "cancel", transactions.CancelTransaction, t.hash)
}

// confirm waits for the Stars outside of the turn. When they do not arrive in time an operator reviews the order: Stars are
// never bought again.
func (t *run) confirm(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	confirming := t.besideTurn(ctx, "wait for the Stars", temporal.RetryPolicy{
		InitialInterval: time.Second, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second,
	})
	var snapshot activities.Snapshot
	order := activities.Order{Hash: t.hash, AskedAt: t.askedAt}
	if err := workflow.ExecuteActivity(confirming, payments.ConfirmPurchase, order).Get(ctx, &snapshot); err != nil {
		return ask(ctx, t, "ask for a review", transactions.ReviewTransaction, activities.Review{
			Hash: t.hash, Attempt: t.at.Attempt, Reason: transaction.ReviewNotConfirmed,
		})
	}

	t.askedAt = nil
	return t.learn(ctx, snapshot)
}

// settleRefund waits until the sender has received the money, or until it came back.
func (t *run) settleRefund(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	settling := t.besideTurn(
		ctx, "see the refund arrive", temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	)
	var snapshot activities.Snapshot
	if err := workflow.ExecuteActivity(settling, payments.ProveRefund, t.hash).Get(ctx, &snapshot); err != nil {
		return err
	}
	return t.learn(ctx, snapshot)
}

// besideTurn gives the options of an activity that follows a payment beside the turn.
func (t *run) besideTurn(ctx workflow.Context, summary string, retries temporal.RetryPolicy) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.WalletQueue, StartToCloseTimeout: askingTime, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: &retries, Summary: summary,
	})
}

// askingTime is the time of an activity that asks Fragment and the chain several questions, one after the other.
const askingTime = 3 * time.Minute

// awaitRoom waits until the limit for 24 hours has room. A person may end the wait.
func (t *run) awaitRoom(ctx workflow.Context) error {
	signalled := func() bool { return t.hasSignal() || t.retries.Len() > 0 }
	changed, err := record.AwaitFor(ctx, left(ctx, *t.deferredUntil), "wait for room in the limit", signalled)
	if err != nil {
		return err
	}

	t.deferredUntil = nil
	if !changed {
		return nil
	}
	t.drainSignals()
	record.Drain(t.retries)
	return t.loadSnapshot(ctx)
}

// awaitChange waits for a person, or for a hint that the record has changed.
func (t *run) awaitChange(ctx workflow.Context) error {
	if err := workflow.Await(ctx, t.mayHaveChanged(ctx)); err != nil {
		return err
	}
	return t.followChange(ctx)
}

// retryLater waits until the time of a planned retry, and then begins it. A person may begin it earlier.
func (t *run) retryLater(ctx workflow.Context) error {
	changed, err := record.AwaitFor(ctx, left(ctx, *t.at.RetryAt), "pause before it is tried again", t.mayHaveChanged(ctx))
	switch {
	case err != nil:
		return err
	case changed:
		return t.followChange(ctx)
	}

	return ask(
		ctx, t, "retry", transactions.RetryTransaction,
		activities.Request{Hash: t.hash, Attempt: t.at.Attempt, System: true},
	)
}

// left is the time until a moment; a moment that is over is waited for, too, because no setting may decide between
// commands.
func left(ctx workflow.Context, until time.Time) time.Duration {
	return max(until.Sub(workflow.Now(ctx)), time.Millisecond)
}
