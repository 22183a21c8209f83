package transaction

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
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
	stepBuy:          "the activity knows when to end, and waits without events",
	stepConfirm:      "ends after the patience of a confirmation",
	stepStop:         "one write",
	stepRefund:       "the activity knows when to end, and waits without events",
	stepSettleRefund: "nobody signals a refund that is paid",
}

// waitsIn brings a transaction to each step that waits, and returns the signal that arrives there.
var waitsIn = map[step]struct {
	signal string
	bring  func(b *book)
}{
	stepAwaitRoom: {lifecycle.TransactionRefreshSignal, func(b *book) {
		b.buy = func(context.Context, activities.Order) (activities.Outcome, error) {
			until := b.Now().Add(time.Hour)
			return activities.Outcome{Snapshot: b.at, DeferredUntil: &until}, nil
		}
	}},
	stepAwaitReview: {lifecycle.TransactionRefreshSignal, func(b *book) {
		b.buy = func(context.Context, activities.Order) (activities.Outcome, error) {
			b.at.NeedsReview = true
			return activities.Outcome{Snapshot: b.at}, nil
		}
	}},
	stepAwaitRetry: {lifecycle.TransactionRefreshSignal, func(b *book) {
		b.process(1)
		b.failed(
			"Something", lifecycle.UnknownError,
		)
	}},
	stepRetryLater: {lifecycle.TransactionRefreshSignal, func(b *book) {
		b.process(1)
		b.failed("Something", lifecycle.Retryable)
		later := b.Now().Add(48 * time.Hour)
		b.at.RetryAt = &later
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

// TestNextRunGoesOn starts the run after one that was stuck: it shows that, and alerts nobody again.
func TestNextRunGoesOn(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.process(1)
	shown := temporal.NewSearchAttributes(temporalio.AttentionAttribute.ValueSet(true))
	if err := b.SetTypedSearchAttributesOnStart(shown); err != nil {
		t.Fatal(err)
	}
	since := b.Now().Add(-time.Hour)
	b.at.Since = &since
	b.ExecuteWorkflow(lifecycle.TransactionType, hash, &Carried{
		Status: lifecycle.TransactionProcessing, Entered: b.at.Since, Since: since, Stuck: true,
	})
	if err := b.GetWorkflowError(); err != nil || b.done() != "lock buy" {
		t.Error(err, b.done())
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
	b.at.Revision = 5
	b.buy = func(context.Context, activities.Order) (activities.Outcome, error) {
		older := b.at
		older.Revision = 4
		b.at.State, b.at.Revision = lifecycle.TransactionProcessed, 9
		return activities.Outcome{Snapshot: older}, nil
	}

	if err := b.run(t, "lock buy look"); err != nil {
		t.Error(err)
	}
	if got := b.stages; len(got) != 2 || got[1] != "processed" {
		t.Errorf("shown were %v", got)
	}
}
