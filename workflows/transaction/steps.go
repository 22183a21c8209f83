package transaction

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/workflows/record"
)

// step is what a transaction's workflow does next.
type step string

const (
	stepProve        step = "prove"         // a payment is signed: the chain decides
	stepConfirm      step = "confirm"       // the purchase is paid: the Stars must come
	stepAwaitReview  step = "await review"  // an operator decides
	stepStop         step = "stop"          // it was cancelled, and nothing is signed
	stepGiveUp       step = "give up"       // what was signed has not paid, too often
	stepRest         step = "rest"          // something went wrong: later
	stepQuote        step = "quote"         // what does it ask for, and what does that cost?
	stepQueue        step = "queue"         // get in line for the wallet
	stepAwaitTurn    step = "await turn"    // other orders are before it
	stepPay          step = "pay"           // sign the one payment
	stepAwaitRetry   step = "await retry"   // it failed, and an operator may try again
	stepRetryLater   step = "retry later"   // it failed, and is tried again when its time comes
	stepProveRefund  step = "prove refund"  // as prove, for the refund
	stepSettleRefund step = "settle refund" // the money is on its way back
	stepQueueRefund  step = "queue refund"
	stepPayRefund    step = "pay refund"
	stepOver         step = "over"
)

// next decides the step from a snapshot of the record. A signed payment comes first, whatever else was requested: the
// chain decides.
func next(at activities.Snapshot, s situation) step {
	switch {
	case stateOf(at.Purchase) == transaction.PaymentSigned:
		return stepProve
	case stateOf(at.Refund) == transaction.PaymentSigned:
		return stepProveRefund
	case at.State == lifecycle.TransactionProcessing:
		return nextPurchase(at, s)
	case at.State == lifecycle.TransactionFailed:
		return nextFailed(at, s)
	default:
		return stepOver
	}
}

func nextPurchase(at activities.Snapshot, s situation) step {
	switch {
	case at.NeedsReview:
		return stepAwaitReview
	case stateOf(at.Purchase) == transaction.PaymentPaid:
		return stepConfirm
	case s.Cancelled:
		return stepStop
	case !at.Again:
		return stepGiveUp
	case s.Rest:
		return stepRest
	case !at.Quoted && !s.Unquoted:
		return stepQuote
	case at.Turn == nil:
		return stepQueue
	case !at.Turn.Granted:
		return stepAwaitTurn
	default:
		return stepPay
	}
}

func nextFailed(at activities.Snapshot, s situation) step {
	switch {
	case stateOf(at.Refund) == transaction.PaymentPaid && !at.Refund.Kept:
		return stepSettleRefund
	case at.RefundDue > 0 && at.NeedsReview:
		return stepAwaitReview
	case at.RefundDue > 0 && s.Rest:
		return stepRest
	case at.RefundDue > 0 && at.Turn == nil:
		return stepQueueRefund
	case at.RefundDue > 0 && !at.Turn.Granted:
		return stepAwaitTurn
	case at.RefundDue > 0:
		return stepPayRefund
	case at.ErrorClass == lifecycle.NonRetryable, s.Cancelled:
		return stepOver
	case at.RetryAt != nil:
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

// steps are the functions of the steps. Each one ends with a new snapshot of the record.
var steps = map[step]func(*run, workflow.Context) error{
	stepProve:        func(t *run, ctx workflow.Context) error { return t.prove(ctx, transaction.Purchase) },
	stepConfirm:      (*run).confirm,
	stepAwaitReview:  (*run).awaitChange,
	stepStop:         func(t *run, ctx workflow.Context) error { return t.fail(ctx, stars.Cancelled.Message) },
	stepGiveUp:       func(t *run, ctx workflow.Context) error { return t.fail(ctx, stars.WalletRefused.Message) },
	stepRest:         (*run).pause,
	stepQuote:        (*run).quote,
	stepQueue:        func(t *run, ctx workflow.Context) error { return t.queue(ctx, transaction.Purchase) },
	stepAwaitTurn:    (*run).awaitTurn,
	stepPay:          (*run).pay,
	stepAwaitRetry:   (*run).awaitChange,
	stepRetryLater:   (*run).retryLater,
	stepProveRefund:  func(t *run, ctx workflow.Context) error { return t.prove(ctx, transaction.Refund) },
	stepSettleRefund: (*run).settleRefund,
	stepQueueRefund:  func(t *run, ctx workflow.Context) error { return t.queue(ctx, transaction.Refund) },
	stepPayRefund:    (*run).payRefund,
}

// quote reads the price of the order. Tries and pauses are the activity's options.
func (t *run) quote(ctx workflow.Context) error {
	quoting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.QuoteQueue, StartToCloseTimeout: 10 * time.Minute, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: t.settings.RetryInterval, MaximumInterval: maximumPause,
			MaximumAttempts: int32(t.settings.Attempts),
		},
		Summary:  "quote the order",
		Priority: temporal.Priority{FairnessKey: t.at.Sender}, // senders take turns here, too
	})

	var snapshot activities.Snapshot
	err := workflow.ExecuteActivity(quoting, payments.QuoteOrder, t.order()).Get(ctx, &snapshot)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return t.fail(ctx, failureIn(err))
	}

	if err := t.learn(ctx, snapshot); err != nil {
		return err
	}

	t.unquoted = !snapshot.Quoted
	return nil
}

// onPayments gives the options of an activity of the payment queue.
func (t *run) onPayments(ctx workflow.Context, summary string, retries temporal.RetryPolicy) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: lifecycle.PaymentQueue, StartToCloseTimeout: time.Minute, HeartbeatTimeout: heartbeatTimeout,
		RetryPolicy: &retries, Summary: summary,
	})
}

// askingTime is the time of an activity that asks Fragment several questions, one after the other.
const askingTime = 3 * time.Minute

// shortRetries begin within a second, whatever the setting is.
func (t *run) shortRetries(maximum time.Duration) temporal.RetryPolicy {
	return temporal.RetryPolicy{InitialInterval: min(t.firstPause(), time.Second), MaximumInterval: maximum}
}

func (t *run) firstPause() time.Duration { return max(t.settings.RetryInterval, time.Millisecond) }

// order names the try that comes next.
func (t *run) order() activities.Order {
	return activities.Order{Hash: t.hash, Attempt: t.at.Attempt, Try: t.tries + 1}
}

// heartbeatTimeout is how long an activity may send no heartbeat before its worker counts as lost.
const heartbeatTimeout = 15 * time.Second

// failureIn is the message of the failure that an activity ended with.
func failureIn(err error) string {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return failure.Message()
	}
	return stars.Unexplained.Message // a worker was lost, or its time was up
}

func (t *run) fail(ctx workflow.Context, message string) error {
	return ask(
		ctx, t, "fail", transactions.FailTransaction,
		activities.Failure{Hash: t.hash, Attempt: t.at.Attempt, Message: message},
	)
}

func (t *run) loadSnapshot(ctx workflow.Context) error {
	return ask(ctx, t, "read the record", transactions.LookAtTransaction, t.hash)
}

func (t *run) queue(ctx workflow.Context, kind transaction.PaymentKind) error {
	return ask(ctx, t, "wait for the wallet's turn", transactions.QueuePayment, activities.PaymentOf{Hash: t.hash, Kind: kind})
}

// hasSignal says whether the record may have changed: by a signal, or by a person.
func (t *run) hasSignal() bool { return t.turns.Len() > 0 || t.settled.Len() > 0 || t.changed }

// drainSignals drops the signals. They carry no data: only that they came counts.
func (t *run) drainSignals() {
	t.changed = false
	record.Drain(t.turns, t.settled)
}

func (t *run) awaitTurn(ctx workflow.Context) error {
	if signalled, err := t.awaitSignal(ctx); err != nil || !signalled {
		return err
	}
	t.drainSignals()
	return t.loadSnapshot(ctx)
}

// awaitSignal waits for a signal. A signal that only asks for a retry is dropped, so that none is left when this run
// hands over.
func (t *run) awaitSignal(ctx workflow.Context) (signalled bool, err error) {
	err = workflow.Await(ctx, func() bool { return t.hasSignal() || t.retries.Len() > 0 })
	record.Drain(t.retries)
	return t.hasSignal(), err
}

// pause waits until the next try. A signal interrupts it, because the record may have changed; what is left of it
// follows, unless it has.
func (t *run) pause(ctx workflow.Context) error {
	signalled, err := record.AwaitFor(ctx, left(ctx, *t.restUntil), "pause before the next try", t.hasSignal)

	switch {
	case err != nil:
		return err
	case signalled:
		t.drainSignals()
		return t.loadSnapshot(ctx)
	}

	t.restUntil = nil
	return nil
}

// left is the time until a moment; a moment that is over is waited for, too, because no setting may decide between
// commands.
func left(ctx workflow.Context, until time.Time) time.Duration {
	return max(until.Sub(workflow.Now(ctx)), time.Millisecond)
}

// maximumPause is the longest time between two tries.
const maximumPause = time.Hour

// failedTry counts a failed try and sets the pause after it.
func (t *run) failedTry(ctx workflow.Context) {
	t.tries++
	until := workflow.Now(ctx).Add(t.pauseAfter(t.tries)).UTC()
	t.restUntil = &until
}

func (t *run) pauseAfter(tries int) time.Duration {
	return min(t.firstPause()<<min(tries-1, 16), maximumPause)
}

// pay signs the one payment. It is never cancelled, because what is signed has to be known.
func (t *run) pay(ctx workflow.Context) error {
	outcome, err := t.execute(ctx, "sign and broadcast the payment", payments.PayOrder)
	switch {
	case err != nil:
		return t.fail(ctx, failureIn(err))
	case outcome.Failure == "":
		return nil
	case outcome.Retry:
		t.failedTry(ctx)
		return nil
	default:
		return t.fail(ctx, outcome.Failure)
	}
}

// payRefund signs the refund. A refund that is owed is tried until it is paid.
func (t *run) payRefund(ctx workflow.Context) error {
	outcome, err := t.execute(ctx, "sign and broadcast the refund", payments.PayRefund)
	if err != nil || outcome.Failure != "" {
		t.failedTry(ctx)
	}
	return nil
}

func (t *run) execute(
	ctx workflow.Context, summary string, act func(context.Context, activities.Order) (activities.Payment, error),
) (outcome activities.Payment, err error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	paying := t.onPayments(ctx, summary, t.shortRetries(30*time.Second)) // the activity decides when it ends
	paying = workflow.WithStartToCloseTimeout(paying, askingTime)
	err = workflow.ExecuteActivity(paying, act, t.order()).Get(ctx, &outcome)
	if err == nil {
		err = t.learn(ctx, outcome.Snapshot)
	}
	return outcome, err
}

// prove waits until the chain has decided about a signed payment, and rebroadcasts its bytes at growing intervals.
// There is no other way on.
func (t *run) prove(ctx workflow.Context, kind transaction.PaymentKind) error {
	over := false
	interval := max(t.settings.RebroadcastEvery, time.Millisecond)
	for due := workflow.Now(ctx).Add(interval); ; {
		var signalled bool
		var err error
		if over {
			signalled, err = t.awaitSignal(ctx)
		} else {
			signalled, err = record.AwaitFor(ctx, left(ctx, due), "broadcast again", t.hasSignal)
		}

		if err != nil {
			return err
		}

		switch {
		case signalled:
			t.drainSignals()
			err = t.loadSnapshot(ctx)
		case !over:
			over, err = t.rebroadcast(ctx, kind)
			interval *= 2
			due = workflow.Now(ctx).Add(interval)
		}

		signed := stateOf(t.at.Purchase) == transaction.PaymentSigned || stateOf(t.at.Refund) == transaction.PaymentSigned
		if err != nil || !signed {
			if kind == transaction.Refund && t.at.RefundDue > 0 {
				t.failedTry(ctx)
			}
			return err
		}
		if t.handsOver(ctx, stepProve) {
			return nil
		}
	}
}

func (t *run) rebroadcast(ctx workflow.Context, kind transaction.PaymentKind) (over bool, err error) {
	broadcasting := t.onPayments(
		ctx, "broadcast the same bytes again",
		temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
	)
	var outcome activities.BroadcastOutcome
	payment := activities.PaymentOf{Hash: t.hash, Kind: kind}
	err = workflow.ExecuteActivity(broadcasting, payments.BroadcastPayment, payment).Get(ctx, &outcome)
	if err != nil {
		return false, err
	}
	return outcome.Over, t.learn(ctx, outcome.Snapshot)
}

// confirm waits for the Stars. The activity counts its patience from the first time that Fragment was asked: no time in
// the queue counts. When the Stars do not arrive in time an operator reviews the order: Stars are never bought again.
func (t *run) confirm(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	confirming := t.onPayments(ctx, "wait for the Stars", temporal.RetryPolicy{
		InitialInterval: 500 * time.Millisecond, BackoffCoefficient: 1.5, MaximumInterval: 5 * time.Second,
	})
	confirming = workflow.WithStartToCloseTimeout(confirming, askingTime)
	var snapshot activities.Snapshot
	if err := workflow.ExecuteActivity(confirming, payments.ConfirmPurchase, t.order()).Get(ctx, &snapshot); err != nil {
		return ask(ctx, t, "ask for a review", transactions.ReviewTransaction, activities.Review{
			Hash: t.hash, Attempt: t.at.Attempt, Reason: transaction.ReviewNotConfirmed,
		})
	}

	return t.learn(ctx, snapshot)
}

// settleRefund waits until the sender has received the money, or until it came back.
func (t *run) settleRefund(ctx workflow.Context) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	settling := t.onPayments(
		ctx, "see the refund arrive", temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
	)
	var snapshot activities.Snapshot
	if err := workflow.ExecuteActivity(settling, payments.ProveRefund, t.hash).Get(ctx, &snapshot); err != nil {
		return err
	}
	return t.learn(ctx, snapshot)
}
