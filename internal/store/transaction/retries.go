package transaction

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// MostRetryPause is the longest delay between the system's attempts to execute a failed order.
const MostRetryPause = time.Hour

// RetryPolicy decides whether the system retries a failed order. The zero policy is for failures that concern no
// operator.
type RetryPolicy struct {
	For   time.Duration // until the delays add up to it; 0: never
	Pause time.Duration // delay before the first retry; doubles for each later one, up to MostRetryPause
	Tries int           // maximum; 0: unlimited within For
	Ask   bool          // notify an operator if the system does not retry
}

// next returns the delay before the next retry of an order that failed this often; 0: no retry.
func (p RetryPolicy) next(failures int) time.Duration {
	if p.Tries > 0 && failures >= p.Tries {
		return 0
	}

	waited, pause := time.Duration(0), min(max(p.Pause, time.Millisecond), MostRetryPause)
	for range failures - 1 {
		waited, pause = waited+pause, min(2*pause, MostRetryPause)
		if waited >= p.For {
			return 0
		}
	}
	return min(pause, p.For-waited)
}

// planRetry decides what follows a failure: another attempt by the system, or handing it to an operator. The user is
// notified of the latter once, unless the failure itself is the user's first notification.
func (w *writing) planRetry(ctx context.Context, p RetryPolicy) error {
	w.Failures++
	if pause := p.next(w.Failures); pause > 0 {
		at := w.Now.Add(pause)
		w.RetryAt = &at
		return nil
	}
	if !p.Ask {
		return nil
	}

	w.GivenUpAt = &w.Now
	w.Note(lifecycle.TransactionGivenUp)
	failed, givenUp, err := w.failedBefore(ctx)
	if failed && !givenUp {
		w.notified = append(w.notified, lifecycle.TransactionGivenUp)
	}
	return err
}

// processAgain clears the plan when its attempt begins. An operator's retry begins a new series.
func processAgain(t *lockedTransaction, step TransactionStep) {
	if len(step.Roles) > 0 {
		t.Failures = 0
	}
	process(t, step)
}

// endRetries cancels the system's retry plan.
func (t *Transaction) endRetries() { t.RetryAt, t.GivenUpAt = nil, nil }

// Retry moves a failed transaction back to processing, as the next attempt. It is refused for a non-retryable failure,
// and while a purchase is signed or paid. A signal, which has no id, is idempotent.
func (s *Store) Retry(ctx context.Context, r Request) (Snapshot, error) {
	return s.request(ctx, r, lifecycle.TransactionActionRetry, "", func(*writing, Transaction) error { return nil })
}

// AnyGivenUp reports whether the system has given up on a transaction that no operator has handled yet. Served by the
// index transactions_given_up.
func (s *Store) AnyGivenUp(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE `+isGivenUp+`)`)
}
