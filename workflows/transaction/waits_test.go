package transaction

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// handedOver gives what the workflow, which must have continued as new, hands to its next run.
func (b *book) handedOver(t *testing.T) (carried Carried) {
	t.Helper()
	again, ok := errors.AsType[*workflow.ContinueAsNewError](b.GetWorkflowError())
	if !ok || again.WorkflowType.Name != lifecycle.TransactionType {
		t.Fatalf("it does not continue as new: %v; did %s", b.GetWorkflowError(), b.done())
	}
	var same string
	if err := converter.GetDefaultDataConverter().FromPayloads(again.Input, &same, &carried); err != nil || same != hash {
		t.Fatalf("the next run gets %q, %v", same, err)
	}
	return carried
}

// brief are the steps that take one activity, whose tries add no events: what bounds each.
var brief = map[step]string{
	stepConfirm:      "ends after the patience of a confirmation",
	stepStop:         "one write",
	stepGiveUp:       "one write",
	stepQuote:        "as many tries as the setting says",
	stepQueue:        "one write",
	stepPay:          "the activity knows when to end",
	stepSettleRefund: "nobody signals a refund that is paid",
	stepQueueRefund:  "one write",
	stepPayRefund:    "the activity knows when to end",
}

// waitsIn brings a transaction to each step that waits, and returns the signal that arrives there.
var waitsIn = map[step]struct {
	signal string
	bring  func(b *book)
}{
	stepAwaitTurn: {lifecycle.TransactionTurnSignal, func(b *book) { b.taken = true }},
	stepProve:     {lifecycle.TransactionSettledSignal, func(*book) {}},
	stepRest: {lifecycle.TransactionTurnSignal, func(b *book) {
		b.pay = func(activities.Order) (activities.Payment, error) {
			b.at.Turn = nil
			return activities.Payment{Snapshot: b.at, Failure: "Failed to fetch: Network error", Retry: true}, nil
		}
	}},
	stepAwaitReview: {lifecycle.TransactionSettledSignal, func(b *book) {
		b.quote = func() (activities.Snapshot, error) { b.at.NeedsReview = true; return b.at, nil }
	}},
	stepAwaitRetry: {lifecycle.TransactionSettledSignal, func(b *book) {
		b.process(1)
		b.failed(
			"Something", lifecycle.UnknownError,
		)
	}},
	stepRetryLater: {lifecycle.TransactionSettledSignal, func(b *book) {
		b.process(1)
		b.failed("Something", lifecycle.Retryable)
		later := b.Now().Add(48 * time.Hour)
		b.at.RetryAt = &later
	}},
	stepProveRefund: {lifecycle.TransactionSettledSignal, func(b *book) {
		b.process(1)
		b.failed("Invalid username", lifecycle.NonRetryable)
		b.at.Refund = &transaction.PaymentRef{Kind: transaction.Refund, State: transaction.PaymentSigned}
	}},
}

// TestEveryStepIsBounded sends each step that waits what may come there in a day, and sees it continue as new once its
// history is long, with all that the next run needs; a step that is not brief must be here.
func TestEveryStepIsBounded(t *testing.T) {
	t.Parallel()
	for s := range steps {
		if _, ends := brief[s]; ends == (waitsIn[s].bring != nil) || waiting[s] == ends {
			t.Errorf("%s: brief %v, waits in the test %v, hands over %v", s, ends, waitsIn[s].bring != nil, waiting[s])
		}
	}

	for s, wait := range waitsIn {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			wait.bring(b)
			b.later(time.Second, func() { b.SignalWorkflow(lifecycle.TransactionRetrySignal, "cannot be read") })

			for n := range 24 * 12 {
				b.later(time.Duration(n+1)*5*time.Minute, func() {
					b.SetContinueAsNewSuggested(n > 10)
					b.SignalWorkflow(wait.signal, nil)
				})
			}

			b.later(26*time.Hour, b.CancelWorkflow)
			b.ExecuteWorkflow(lifecycle.TransactionType, hash)
			carried := b.handedOver(t)
			if carried.Status != b.at.State || carried.Since.IsZero() {
				t.Errorf("the next run gets %+v", carried)
			}
		})
	}
}

// TestNextRunGoesOn starts the run after one that rested between two tries: it rests for what is left, and counts on.
func TestNextRunGoesOn(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	b.at.Quoted = true
	until := b.Now().Add(10 * time.Minute)
	var order activities.Order
	var paid time.Time
	b.pay = func(o activities.Order) (activities.Payment, error) {
		order, paid = o, b.Now()
		b.purchase(transaction.PaymentPaid)
		return activities.Payment{Snapshot: b.at}, nil
	}

	shown := temporal.NewSearchAttributes(temporalio.AttentionAttribute.ValueSet(true))
	if err := b.SetTypedSearchAttributesOnStart(shown); err != nil {
		t.Fatal(err)
	}
	b.ExecuteWorkflow(lifecycle.TransactionType, hash, &Carried{
		Status: lifecycle.TransactionProcessing, Entered: b.at.Since, Since: *b.at.Since, Tries: 2, RestUntil: &until,
	})
	if err := b.GetWorkflowError(); err != nil || order.Try != 3 || paid.Before(until) {
		t.Errorf("%v, try %d at %s, want the third at %s", err, order.Try, paid, until)
	}
	if len(b.attention) != 0 {
		t.Errorf("attention is shown as %v", b.attention)
	}
}

// TestOlderPosition lets an operator's decision come while an activity that began before it still runs: what that one
// tells then is older than what is known.
func TestOlderPosition(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	b.at.Quoted, b.at.NeedsReview, b.at.Revision = true, false, 5
	b.quote = func() (activities.Snapshot, error) { return b.at, nil }
	older := b.at
	older.Turn = &transaction.Turn{Kind: transaction.Purchase, Granted: true}
	pays := 0
	b.pay = func(activities.Order) (activities.Payment, error) {
		if pays++; pays > 1 {
			return activities.Payment{Snapshot: b.at}, nil
		}
		b.at.State, b.at.Revision = lifecycle.TransactionProcessed, 9
		b.at.Turn = nil
		older.Revision = 4
		return activities.Payment{Snapshot: older}, nil
	}

	if err := b.run(t, "lock queue pay look"); err != nil {
		t.Error(err)
	}
	if got := b.stages; len(got) != 2 || got[1] != "processed" {
		t.Errorf("shown were %v", got)
	}
}

// TestSignalsDoNotProlongARest sends hints during an hour's rest: the next try begins when the hour is over.
func TestSignalsDoNotProlongARest(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	b.at.Quoted = true
	until := b.Now().Add(time.Hour)
	var paid time.Time
	b.pay = func(activities.Order) (activities.Payment, error) {
		paid = b.Now()
		b.purchase(transaction.PaymentPaid)
		return activities.Payment{Snapshot: b.at}, nil
	}

	for _, minute := range []time.Duration{20, 40, 59} {
		b.later(minute*time.Minute, func() { b.SignalWorkflow(lifecycle.TransactionTurnSignal, nil) })
	}

	b.ExecuteWorkflow(lifecycle.TransactionType, hash, &Carried{
		Status: lifecycle.TransactionProcessing, Entered: b.at.Since, Since: *b.at.Since, Tries: 2, RestUntil: &until,
	})
	if err := b.GetWorkflowError(); err != nil || paid.Before(until) || paid.After(until.Add(time.Minute)) {
		t.Errorf("paid at %s, the rest ended at %s, %v", paid, until, err)
	}
}
