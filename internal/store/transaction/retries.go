package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// MostRetryPause is the longest time between two tries of the system to carry out a failed order.
const MostRetryPause = time.Hour

// RetryPolicy says whether the system tries a failed order again. The zero policy is for failures of which no operator
// needs to know.
type RetryPolicy struct {
	For    time.Duration // since the order began to fail; 0: never
	Pause  time.Duration // before the first try; doubled for each one after, up to MostRetryPause
	Tries  int           // at most; 0: as many as there is time for
	Waited bool          // it has waited for the same reason since it entered processing: that time counts
	Ask    bool          // an operator is asked when the system does not try again
}

// next gives when the system tries again an order that has been failing since then; nil: it does not. The last try is
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

// NextRetry is when the system tries a failed transaction again; nil: it does not.
func (t Transaction) NextRetry() *time.Time {
	if t.State != lifecycle.TransactionFailed || t.RetryOf != t.Attempt || t.NeedsReview {
		return nil
	}
	return t.RetryAt
}

// GivenUp says whether the system tries a failed transaction no more, and asks an operator.
func (t Transaction) GivenUp() bool {
	return t.State == lifecycle.TransactionFailed && t.RetryOf == t.Attempt && t.GivenUpAt != nil
}

// planRetry decides what follows a failure: another try by the system, or the question to an operator. The user is told
// of the question once, and not where the failure itself is the first news.
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
		w.told = append(w.told, lifecycle.TransactionGivenUp)
	}
	return err
}

// processAgain forgets the plan as its try begins. An operator's retry begins a new series.
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

// RetryTransaction takes a failed transaction back into processing, as the next attempt. It is refused for a
// non-retryable failure, and while a purchase is signed or paid. The same request again changes nothing, and so does
// the system's when that is not planned any more.
func (s *Store) RetryTransaction(ctx context.Context, r Request) (Snapshot, error) {
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

// dropRetries ends the plan without a word of the transaction's: its state stays.
func (w *writing) dropRetries() {
	w.endRetries()
	w.Edited = true
}

// StopRetrying ends the system's tries of a failed transaction for good: an operator has ended its workflow, and needs
// no question.
func (s *Store) StopRetrying(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.NextRetry() != nil || w.GivenUp() {
			w.dropRetries()
		}
		return nil
	})
}

// AnyGivenUp says whether the system has given up a transaction that no operator has looked after yet; by
// transactions_given_up.
func (s *Store) AnyGivenUp(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE `+isGivenUp+`)`)
}
