package store

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"

	"github.com/jackc/pgx/v5"
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

// planRetry decides what follows a failure: another try by the system, or the question to an operator.
func (w *writing) planRetry(p RetryPolicy) {
	if w.FailingSince == nil {
		since := w.now
		if p.Waited {
			since = *w.ProcessingSince
		}
		w.FailingSince = &since
	}

	w.RetryOf, w.RetryAt, w.GivenUpAt = w.Attempt, p.next(w.now, *w.FailingSince, w.Retries), nil
	if w.RetryAt == nil && p.Ask {
		w.GivenUpAt = &w.now
	}
}

// startRetry forgets the plan as its try begins. An operator's retry begins a new series.
func (w *writing) startRetry(bySystem bool) {
	w.RetryAt, w.GivenUpAt = nil, nil
	if bySystem {
		w.Retries++
	} else {
		w.FailingSince, w.Retries = nil, 0
	}
}

// noteGivenUp records that an operator is asked. The user is told once, and not where the failure itself is the first
// news.
func (w *writing) noteGivenUp(ctx context.Context) error {
	if w.GivenUpAt == nil {
		return nil
	}

	if w.UserID != nil {
		err := w.tx.QueryRow(ctx, `SELECT count(*) FILTER (WHERE type = $3) > 1 AND count(*) FILTER (WHERE type = $4) = 0
			FROM events WHERE workload = $1 AND entity_id = $2 AND type IN ($3, $4)`,
			lifecycle.WorkloadTransaction, w.Hash, lifecycle.TransactionFailure, lifecycle.TransactionGivenUp).Scan(&w.news)
		if err != nil {
			return err
		}
	}

	return w.note(ctx, lifecycle.TransactionGivenUp)
}

// retryBySystem says whether the system's retry of an attempt is still to be done. Where money may have moved meanwhile
// the plan ends.
func (w *writing) retryBySystem(ctx context.Context, attempt int) (bool, error) {
	if w.Attempt != attempt || w.NextRetry() == nil || w.ErrorClass == lifecycle.NonRetryable {
		return false, nil
	}

	spent, err := w.spent(ctx)
	if err != nil || spent == nil {
		return err == nil, err
	}
	return false, w.endRetries(ctx)
}

// endRetries ends the plan without a word of the transaction's: its state stays.
func (w *writing) endRetries(ctx context.Context) error {
	w.RetryAt, w.GivenUpAt = nil, nil
	batch := &pgx.Batch{}
	w.queueRow(batch)
	return w.tx.SendBatch(ctx, batch).Close()
}

// StopRetrying ends the system's tries of a failed transaction for good: an operator has ended its workflow, and needs
// no question.
func (s *Store) StopRetrying(ctx context.Context, hash string) (TransactionSnapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.NextRetry() == nil && !w.GivenUp() {
			return nil
		}
		return w.endRetries(ctx)
	})
}

// AnyGivenUp says whether the system has given up a transaction that no operator has looked after yet; by
// transactions_given_up.
func (s *Store) AnyGivenUp(ctx context.Context) (given bool, err error) {
	err = s.pool.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE status = 'failed' AND retry_of = attempt AND given_up_at IS NOT NULL)`).Scan(&given)
	return given, unavailable(err)
}
