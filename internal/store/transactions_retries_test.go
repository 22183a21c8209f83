package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// failFor fails a transaction's try so that the system goes on for a time.
func (b *bank) failFor(hash string, p transaction.RetryPolicy) transaction.Snapshot {
	b.t.Helper()
	return b.ok(b.Transactions.Fail(b.t.Context(), transaction.Failure{
		Hash: hash, Attempt: b.tx(hash).Attempt, Message: "Wallet service error: Could not send transaction",
		Class: lifecycle.Retryable, Retry: p,
	}))
}

func (b *bank) retry(hash string, bySystem bool) transaction.Snapshot {
	b.t.Helper()
	return b.ok(b.Transactions.Retry(
		b.t.Context(), transaction.Request{Hash: hash, Attempt: b.tx(hash).Attempt, System: bySystem},
	))
}

// TestRetriesGrowApart fails an order again and again: each pause is twice as long as the one before, and none longer
// than an hour.
func TestRetriesGrowApart(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	policy := transaction.RetryPolicy{For: 24 * time.Hour, Pause: 10 * time.Minute, Ask: true}

	for tries, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour} {
		snapshot := b.failFor(hash, policy)
		failed := b.tx(hash)
		if snapshot.RetryAt == nil || failed.Retries != tries || snapshot.RetryAt.Sub(failed.UpdatedAt).Round(time.Second) != want || snapshot.GivenUp {
			t.Fatalf("after %d tries: %+v, want a pause of %s", tries, snapshot, want)
		}
		if again := b.retry(hash, true); again.State != lifecycle.TransactionProcessing || again.RetryAt != nil {
			t.Fatalf("not tried again: %+v", again)
		}
	}

	b.balanced()
}

// TestRetriesEnd asks an operator when the time or the number of tries is over, and begins anew when the operator
// retries.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	for name, c := range map[string]struct {
		policy transaction.RetryPolicy
		tries  int
	}{
		"no time":            {transaction.RetryPolicy{Pause: time.Minute, Ask: true}, 0},
		"three tries":        {transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond, Tries: 3, Ask: true}, 3},
		"it waited for that": {transaction.RetryPolicy{For: time.Microsecond, Pause: time.Minute, Waited: true, Ask: true}, 0},
	} {
		hash := b.ordered(name, 3*coin)
		for range 2 {
			for range c.tries {
				if b.failFor(hash, c.policy).RetryAt == nil {
					t.Fatalf("%s: too early", name)
				}
				b.retry(hash, true)
			}

			if last := b.failFor(hash, c.policy); last.RetryAt != nil || !last.GivenUp {
				t.Errorf("%s: %+v", name, last)
			}
			if asked, err := b.Transactions.AnyGivenUp(t.Context()); err != nil || !asked {
				t.Errorf("%s: asked %t, %v", name, asked, err)
			}
			if still := b.retry(hash, true); still.State != lifecycle.TransactionFailed {
				t.Errorf("%s: the system retries what it has given up: %+v", name, still)
			}

			b.retry(hash, false)
		}

		if asked, err := b.Transactions.AnyGivenUp(t.Context()); err != nil || asked {
			t.Errorf("%s: still asked %t, %v", name, asked, err)
		}
	}
}

// TestTheLastTryIsAtTheEnd shortens the pause that would go beyond the end.
func TestTheLastTryIsAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	snapshot := b.failFor(hash, transaction.RetryPolicy{For: 10 * time.Minute, Pause: time.Hour, Ask: true})
	if failed := b.tx(hash); snapshot.RetryAt == nil || !snapshot.RetryAt.Equal(failed.FailingSince.Add(10*time.Minute)) {
		t.Errorf("%+v", snapshot)
	}
}

// TestSystemRetriesOnlyWhatIsPlanned lets the time come for a transaction that has changed meanwhile: nothing happens
// to it.
func TestSystemRetriesOnlyWhatIsPlanned(t *testing.T) {
	t.Parallel()
	policy := transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}
	for name, change := range map[string]func(b *bank, hash string){
		"under review": func(b *bank, hash string) {
			b.must(b.tryExec(`UPDATE transactions SET needs_review = true, review_reason = 'r' WHERE hash = '` + hash + `'`))
		},
		"ended by an operator": func(b *bank, hash string) { b.ok(b.Transactions.StopRetrying(b.t.Context(), hash)) },
		"failed for good": func(b *bank, hash string) {
			b.must(b.tryExec(`UPDATE transactions SET error_class = 'non-retryable' WHERE hash = '` + hash + `'`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			hash := b.ordered("ann", 3*coin)
			b.failFor(hash, policy)
			change(b, hash)
			before := b.tx(hash)
			if got := b.retry(hash, true); got.State != lifecycle.TransactionFailed || got.Revision != before.RowVersion {
				t.Errorf("%+v", got)
			}
		})
	}

	b := newBank(t)
	hash := b.ordered("bob", 3*coin)
	failed := b.failFor(hash, policy)
	for range 2 { // the answer of the first was lost
		again := b.ok(b.Transactions.Retry(
			t.Context(), transaction.Request{Hash: hash, Attempt: failed.Attempt, System: true},
		))
		if again.Attempt != failed.Attempt+1 || again.State != lifecycle.TransactionProcessing {
			t.Errorf("%+v", again)
		}
	}

	if events := strings.Join(b.events(hash), " "); strings.Count(events, "retried") != 1 {
		t.Errorf("events: %s", events)
	}
}

// TestWhatIsToBeTriedAgainIsLive wants a workflow for each planned retry.
func TestWhatIsToBeTriedAgainIsLive(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.failFor(hash, transaction.RetryPolicy{For: time.Hour, Pause: time.Minute})

	for _, want := range []int{1, 0} {
		live, err := b.Transactions.Live(t.Context(), 0, 0, 10)
		if err != nil || len(live) != want {
			t.Errorf("live %d, %v, want %d", len(live), err, want)
		}
		live, err = b.Transactions.LiveOf(t.Context(), 0, []string{hash})
		if err != nil || len(live) != want {
			t.Errorf("live %d by its hash, %v, want %d", len(live), err, want)
		}
		b.ok(b.Transactions.StopRetrying(t.Context(), hash))
	}
}

// TestThePersonHearsOnceThatNothingIsTried gives an order up twice, after tries of the system: whom it is for is told
// the first time.
func TestThePersonHearsOnceThatNothingIsTried(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	user := b.user(70)
	execIn(t, b.url, `UPDATE users SET username = 'durov'`)
	hash := b.ordered("ann", 3*coin)

	policy := transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond, Tries: 1, Ask: true}
	for range 2 {
		b.failFor(hash, policy)
		b.retry(hash, true)
		if last := b.failFor(hash, policy); !last.GivenUp {
			t.Fatalf("not given up: %+v", last)
		}
		b.retry(hash, false)
	}

	told := 0
	b.must(b.InTx(t.Context(), func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT count(*) FROM news n JOIN events e ON (e.workload, e.entity_id, e.seq) = (n.workload, n.entity_id, n.seq)
			WHERE n.user_id = $1 AND e.type = $2`, user.ID, lifecycle.TransactionGivenUp).Scan(&told)
	}))
	if told != 1 {
		t.Errorf("the person is told %d times that nothing is tried", told)
	}
}
