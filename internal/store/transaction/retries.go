package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// MostRetryPause is the longest time between two attempts of the system to carry out a failed order.
const MostRetryPause = time.Hour

// RetryPolicy decides whether the system retries a failed order. The zero policy is for failures of which no operator
// needs to know.
type RetryPolicy struct {
	For    time.Duration // since the order began to fail; 0: never
	Pause  time.Duration // before the first retry; doubled for each later one, up to MostRetryPause
	Tries  int           // at most; 0: unlimited within For
	Waited bool          // it has waited for the same reason since it entered processing: that time counts
	Ask    bool          // ask an operator when the system does not retry
}

// next returns when the system retries an order that has been failing since then; nil: it does not. The last retry is
// at the end of the time.
func (p RetryPolicy) next(now, since time.Time, tries int) *time.Time {
	end := since.Add(p.For)
	if !now.Before(end) || p.Tries > 0 && tries >= p.Tries {
		return nil
	}

	at := now.Add(min(max(p.Pause, time.Millisecond)<<min(tries, 16), MostRetryPause))
	if at.After(end) {
		at = end
	}
	return &at
}

// NextRetry is when the system retries a failed transaction; nil: it does not.
func (t Transaction) NextRetry() *time.Time {
	if t.State != lifecycle.TransactionFailed || t.RetryOf != t.Attempt || t.NeedsReview {
		return nil
	}
	return t.RetryAt
}

// GivenUp reports whether the system has stopped retrying a failed transaction, and asks an operator.
func (t Transaction) GivenUp() bool {
	return t.State == lifecycle.TransactionFailed && t.RetryOf == t.Attempt && t.GivenUpAt != nil
}

// planRetry decides what follows a failure: another attempt by the system, or the question to an operator. The user is
// notified of the question once, unless the failure itself is the user's first notification.
func (w *writing) planRetry(ctx context.Context, p RetryPolicy) error {
	if w.FailingSince == nil {
		since := w.Now
		if p.Waited {
			since = *w.ProcessingSince
		}
		w.FailingSince = &since
	}

	w.RetryOf, w.RetryAt, w.GivenUpAt = w.Attempt, p.next(w.Now, *w.FailingSince, w.Retries), nil
	if w.RetryAt != nil || !p.Ask {
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
	t.endRetries()
	if len(step.Roles) == 0 {
		t.Retries++
	} else {
		t.FailingSince, t.Retries = nil, 0
	}
	process(t, step)
}

// endRetries ends the system's plan.
func (t *Transaction) endRetries() { t.RetryAt, t.GivenUpAt = nil, nil }

// Retry takes a failed transaction back into processing, as the next attempt. It is refused for a
// non-retryable failure, and while a purchase is signed or paid. A repeated request changes nothing; neither does the
// system's request when that retry is not planned any more.
func (s *Store) Retry(ctx context.Context, r Request) (Snapshot, error) {
	return s.write(ctx, r.Hash, func(w *writing) error {
		switch {
		case w.during(r.Attempt + 1), r.System && w.Attempt != r.Attempt:
			return nil
		case w.Attempt != r.Attempt:
			return w.otherAttempt(lifecycle.TransactionActionRetry)
		}

		err := w.Take(r.step(lifecycle.TransactionActionRetry, ""))
		switch {
		case r.System && fault.CodeOf(err) == fault.PaymentUndecided: // money may have moved meanwhile
			w.dropRetries()
			return nil
		case r.System:
			return passedOver(err)
		case err != nil:
			return err
		}

		return w.fulfil(ctx, r, lifecycle.TransactionActionRetry, "")
	})
}

// dropRetries ends the plan without an event: the state stays.
func (w *writing) dropRetries() {
	w.endRetries()
	w.Edited = true
}

// StopRetrying ends the system's retries of a failed transaction for good: an operator has ended its workflow, and
// needs no question.
func (s *Store) StopRetrying(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.NextRetry() != nil || w.GivenUp() {
			w.dropRetries()
		}
		return nil
	})
}

// AnyGivenUp reports whether the system has given up a transaction that no operator has handled yet; the index
// transactions_given_up serves it.
func (s *Store) AnyGivenUp(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE `+isGivenUp+`)`)
}
