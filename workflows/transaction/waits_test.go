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

// handedOver returns what the workflow, which must have continued as new, hands to its next run.
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

// brief are the steps that take one activity, whose attempts add no events, with what bounds each.
var brief = map[step]string{
	stepConfirm:      "ends after the patience of a confirmation",
	stepStop:         "one write",
	stepSettleRefund: "nobody signals a refund that is paid",
}

// waitsIn brings a transaction to each waiting step.
var waitsIn = map[step]func(b *book){
	stepPay: func(b *book) {
		b.pay = func(activities.Order) (snapshot, error) { return b.defers(time.Hour) }
	},
	stepRefund: func(b *book) {
		b.failed("Invalid username", lifecycle.NonRetryable)
		b.at.RefundDue = 1000
		b.refund = func(activities.Order) (snapshot, error) { return b.defers(time.Hour) }
	},
	stepAwaitReview: func(b *book) {
		b.process()
		b.at.NeedsReview = true
	},
	stepAwaitRetry: func(b *book) { b.failed("Something", lifecycle.UnknownError) },
}

// TestEveryStepIsBounded sends each waiting step what may arrive in a day, and expects it to continue as new once its
// history is long, with everything that the next run needs; a step that is not brief must be here.
func TestEveryStepIsBounded(t *testing.T) {
	t.Parallel()
	for s := range steps {
		if _, ends := brief[s]; ends == (waitsIn[s] != nil) || waiting[s] == ends {
			t.Errorf("%s: brief %v, waits in the test %v, hands over %v", s, ends, waitsIn[s] != nil, waiting[s])
		}
	}

	for s, bring := range waitsIn {
		t.Run(string(s), func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			bring(b)
			b.later(time.Second, func() { b.SignalWorkflow(lifecycle.TransactionRetrySignal, "cannot be read") })

			for n := range 24 * 12 {
				b.later(time.Duration(n+1)*5*time.Minute, func() {
					b.SetContinueAsNewSuggested(n > 10)
					b.SignalWorkflow(lifecycle.TransactionRefreshSignal, nil)
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

// TestHandOverAwaitsTheAttempt makes the history long while an order is queued: its attempt is cancelled, and the next
// run begins once it has ended.
func TestHandOverAwaitsTheAttempt(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	begin := b.Now()
	b.leaves = time.Minute
	b.pay = func(activities.Order) (snapshot, error) { return b.inLine(10 * time.Minute) }
	b.later(5*time.Minute, func() { b.SetContinueAsNewSuggested(true) })
	b.later(5*time.Minute+30*time.Second, func() { // the attempt still runs
		b.process()
		b.purchase(transaction.PaymentSigned)
	})

	b.ExecuteWorkflow(lifecycle.TransactionType, hash)
	if carried := b.handedOver(t); carried.Status != lifecycle.TransactionProcessing {
		t.Errorf("the next run gets %+v", carried)
	}
	if took := b.Now().Sub(begin).Round(time.Second); took != 6*time.Minute || b.done() != "open pay look" {
		t.Errorf("after %s it did %s", took, b.done())
	}
}

// TestNextRunGoesOn starts the run after one that was stuck: it shows that, and does not repeat the alert.
func TestNextRunGoesOn(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process()
	shown := temporal.NewSearchAttributes(temporalio.AttentionAttribute.ValueSet(true))
	if err := b.SetTypedSearchAttributesOnStart(shown); err != nil {
		t.Fatal(err)
	}
	since := b.Now().Add(-time.Hour)
	b.at.Since = &since
	b.ExecuteWorkflow(lifecycle.TransactionType, hash, &Carried{
		Status: lifecycle.TransactionProcessing, Entered: b.at.Since, Since: since, Stuck: true,
	})
	if err := b.GetWorkflowError(); err != nil || b.done() != "open pay" {
		t.Error(err, b.done())
	}
	if len(b.attention) != 0 {
		t.Errorf("attention is shown as %v", b.attention)
	}
}

// TestOlderPosition lets an operator's decision arrive while an earlier activity still runs: its later report is older
// than what is known.
func TestOlderPosition(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process()
	b.at.Revision = 5
	b.pay = func(activities.Order) (snapshot, error) {
		older := b.at
		older.Revision = 4
		b.at.State, b.at.Revision = lifecycle.TransactionProcessed, 9
		return older, nil
	}

	if err := b.run(t, "open pay look"); err != nil {
		t.Error(err)
	}
	if got := b.stages; len(got) != 2 || got[1] != "processed" {
		t.Errorf("shown were %v", got)
	}
}
