package transaction

import (
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
)

// failsFor lets purchases fail, with these delays.
func (b *book) failsFor(pauses ...time.Duration) {
	bought := b.pay
	b.pay = func(o activities.Order) (snapshot, error) {
		if len(pauses) == 0 {
			return bought(o)
		}
		pause := pauses[0]
		pauses = pauses[1:]
		return b.fails(pause)
	}
}

// TestRetriesAtTheirTimes makes an order fail twice: it is retried at the planned times, and no review is requested.
func TestRetriesAtTheirTimes(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	begin := b.Now()
	b.failsFor(time.Minute, 2*time.Minute)
	var shown lifecycle.TransactionView
	b.later(90*time.Second, func() {
		answer, err := b.QueryWorkflow(lifecycle.StateQuery)
		if err != nil || answer.Get(&shown) != nil {
			t.Error(err)
		}
	})

	if err := b.run(t, "open pay pay pay"); err != nil {
		t.Error(err)
	}
	if at := begin.Add(3 * time.Minute); shown.DeadlineAt == nil || shown.DeadlineAt.Sub(at).Abs() > 5*time.Second {
		t.Errorf("shown was %+v, want the deadline %s", shown, at)
	}
	if len(b.attention) != 0 {
		t.Errorf("attention was shown as %v", b.attention)
	}
}

// TestOperatorComesBeforeTheRetry retries by hand, and by signal, while a planned retry waits: each makes one attempt,
// at once.
func TestOperatorComesBeforeTheRetry(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		retry func(*testing.T, *book)
		want  string
	}{
		"update": {func(t *testing.T, b *book) {
			b.ask(t, "retry", lifecycle.TransactionInput{Actor: 7}, "")
		}, "open pay retry look pay"},
		"signal": {func(_ *testing.T, b *book) {
			b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{Actor: 7})
		}, "open pay retry look pay"},
		"the record": {func(_ *testing.T, b *book) {
			b.SignalWorkflow(lifecycle.TransactionRefreshSignal, nil)
		}, "open pay look look pay"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			begin := b.Now()
			b.failsFor(time.Hour)
			b.later(2*time.Minute, func() { c.retry(t, b) })
			if err := b.run(t, c.want); err != nil {
				t.Error(err)
			}
			if took := b.Now().Sub(begin).Round(time.Second); took != 2*time.Minute {
				t.Errorf("it took %s", took)
			}
		})
	}
}

// TestCancelEndsRetries cancels a failed transaction due for retry.
func TestCancelEndsRetries(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.failsFor(time.Hour)
	b.later(2*time.Minute, b.CancelWorkflow)
	if err := b.run(t, "open pay look cancel"); !temporal.IsCanceledError(err) {
		t.Error(err)
	}
}

// TestReviewEndsThePlan lets the record withdraw a planned retry: the time comes, and nothing is bought.
func TestReviewEndsThePlan(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.failsFor(time.Hour)
	b.later(time.Minute, func() {
		b.at.NeedsReview, b.at.RetryAt = true, nil
		b.SignalWorkflow(lifecycle.TransactionRefreshSignal, nil)
	})
	b.later(5*time.Hour, b.CancelWorkflow)
	_ = b.run(t, "open pay look look cancel")
	if len(b.attention) != 1 || !b.attention[0] {
		t.Errorf("attention was shown as %v", b.attention)
	}
}
