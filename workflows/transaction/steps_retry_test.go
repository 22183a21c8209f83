package transaction

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
)

// TestRetriesAtTheirTimes makes an order fail twice: it is tried again at the planned times, and no review is
// requested.
func TestRetriesAtTheirTimes(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	begin := b.Now()
	b.retryIn = []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute}
	b.unpaidUntil(begin.Add(3 * time.Minute))
	var shown lifecycle.TransactionView
	b.later(90*time.Second, func() {
		answer, err := b.QueryWorkflow(lifecycle.StateQuery)
		if err != nil || answer.Get(&shown) != nil {
			t.Error(err)
		}
	})

	if err := b.run(t, "lock buy retry-by-system buy retry-by-system buy"); err != nil {
		t.Error(err)
	}
	if at := begin.Add(3 * time.Minute); shown.DeadlineAt == nil || shown.DeadlineAt.Sub(at).Abs() > 5*time.Second {
		t.Errorf("shown was %+v, want the deadline %s", shown, at)
	}
	if len(b.attention) != 0 {
		t.Errorf("attention was shown as %v", b.attention)
	}
}

// TestOperatorComesBeforeTheRetry retries by hand, and by signal, while a planned retry waits: there is one try for
// each.
func TestOperatorComesBeforeTheRetry(t *testing.T) {
	t.Parallel()
	for name, retry := range map[string]func(*testing.T, *book){
		"update": func(t *testing.T, b *book) { b.ask(t, "retry", lifecycle.TransactionInput{Actor: 7}, "") },
		"signal": func(_ *testing.T, b *book) {
			b.SignalWorkflow(lifecycle.TransactionRetrySignal, lifecycle.TransactionInput{Actor: 7})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook(t)
			b.retryIn = []time.Duration{time.Hour}
			b.unpaidUntil(b.Now().Add(time.Minute))
			b.later(2*time.Minute, func() { retry(t, b) })
			if err := b.run(t, "lock buy retry buy"); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestCancelEndsRetries cancels a failed transaction that was to be tried again.
func TestCancelEndsRetries(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.retryIn = []time.Duration{time.Hour}
	b.unpaidUntil(b.Now().Add(time.Minute))
	b.later(2*time.Minute, b.CancelWorkflow)
	err := b.run(t, "lock buy cancel")
	if _, cancelled := errors.AsType[*temporal.CanceledError](err); !cancelled {
		t.Error(err)
	}
}

// TestReviewEndsThePlan lets the record withdraw a planned retry: the time comes, and nothing is bought.
func TestReviewEndsThePlan(t *testing.T) {
	t.Parallel()
	b := newBook(t)
	b.retryIn = []time.Duration{time.Hour}
	b.unpaidUntil(b.Now().Add(24 * time.Hour))
	b.later(time.Minute, func() {
		b.at.NeedsReview, b.at.RetryAt = true, nil
		b.SignalWorkflow(lifecycle.TransactionRefreshSignal, nil)
	})
	b.later(5*time.Hour, b.CancelWorkflow)
	_ = b.run(t, "lock buy look cancel")
	if len(b.attention) != 1 || !b.attention[0] {
		t.Errorf("attention was shown as %v", b.attention)
	}
}
