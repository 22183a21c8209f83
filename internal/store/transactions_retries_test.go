package store_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// failFor fails a transaction's attempt so that the system keeps retrying for a time.
func (b *bank) failFor(hash string, p transaction.RetryPolicy) transaction.Snapshot {
	b.t.Helper()
	return b.ok(b.Transactions.Fail(b.t.Context(), transaction.Failure{
		Claim: b.claimed(hash), Message: "Wallet service error: Could not send transaction", Class: lifecycle.Retryable, Retry: p,
	}))
}

// retry lets an operator retry a failed transaction.
func (b *bank) retry(hash string) transaction.Snapshot {
	b.t.Helper()
	return b.ok(b.Transactions.Retry(b.t.Context(), transaction.Request{Hash: hash, Attempt: b.tx(hash).Attempt}))
}

// beginAgain begins the planned attempt, at its time.
func (b *bank) beginAgain(hash string) error {
	b.t.Helper()
	b.exec(`UPDATE transactions SET retry_at = clock_timestamp() WHERE hash = $1 AND retry_at IS NOT NULL`, hash)
	b.passMinute()
	return second(b.begin(b.beginning(hash, 2*coin)))
}

// TestRetriesGrowApart fails an order repeatedly: each delay is twice the previous one, and none longer than an hour.
func TestRetriesGrowApart(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	policy := transaction.RetryPolicy{For: 24 * time.Hour, Pause: 10 * time.Minute, Ask: true}

	for tries, want := range []time.Duration{10 * time.Minute, 20 * time.Minute, 40 * time.Minute, time.Hour, time.Hour} {
		snapshot := b.failFor(hash, policy)
		failed := b.tx(hash)
		if snapshot.RetryAt == nil || failed.Failures != tries+1 || snapshot.RetryAt.Sub(failed.UpdatedAt).Round(time.Second) != want || snapshot.GivenUp {
			t.Fatalf("after %d tries: %+v, want a pause of %s", tries, snapshot, want)
		}
		b.must(b.beginAgain(hash))
		if again := b.tx(hash); again.State != lifecycle.TransactionProcessing || again.RetryAt != nil || again.Attempt != tries+2 {
			t.Fatalf("not tried again: %+v", again)
		}
	}

	b.balanced()
}

// TestRetriesEnd notifies an operator when the time or the number of attempts is used up, and starts over when the
// operator retries.
func TestRetriesEnd(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	for name, c := range map[string]struct {
		policy transaction.RetryPolicy
		tries  int
	}{
		"no time":                 {transaction.RetryPolicy{Pause: time.Minute, Ask: true}, 0},
		"three tries":             {transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond, Tries: 3, Ask: true}, 2},
		"the pauses add up to it": {transaction.RetryPolicy{For: 7 * time.Minute, Pause: time.Minute, Ask: true}, 3},
		"an hour at most each":    {transaction.RetryPolicy{For: 2*time.Hour + 30*time.Minute, Pause: 30 * time.Minute, Ask: true}, 3},
	} {
		hash := b.ordered(name, 3*coin)
		for range 2 {
			for range c.tries {
				if b.failFor(hash, c.policy).RetryAt == nil {
					t.Fatalf("%s: too early", name)
				}
				b.must(b.beginAgain(hash))
			}

			if last := b.failFor(hash, c.policy); last.RetryAt != nil || !last.GivenUp {
				t.Errorf("%s: %+v", name, last)
			}
			if asked, err := b.Transactions.AnyGivenUp(t.Context()); err != nil || !asked {
				t.Errorf("%s: asked %t, %v", name, asked, err)
			}
			b.refused(b.beginAgain(hash), fault.InvalidTransition)
			b.retry(hash)
			b.must(b.beginAgain(hash))
		}

		if asked, err := b.Transactions.AnyGivenUp(t.Context()); err != nil || asked {
			t.Errorf("%s: still asked %t, %v", name, asked, err)
		}
	}
}

// TestTheLastTryIsAtTheEnd shortens a delay that would exceed the end. Other waits of the order do not count.
func TestTheLastTryIsAtTheEnd(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	policy := transaction.RetryPolicy{For: 40 * time.Minute, Pause: 20 * time.Minute, Ask: true}
	for range 2 {
		snapshot := b.failFor(hash, policy)
		if failed := b.tx(hash); snapshot.RetryAt == nil || !snapshot.RetryAt.Equal(failed.UpdatedAt.Add(20*time.Minute)) {
			t.Errorf("%+v", snapshot)
		}
		b.exec(`UPDATE transactions SET created_at = created_at - interval '3 days', updated_at = updated_at - interval '2 days' WHERE hash = $1`, hash)
		b.must(b.beginAgain(hash))
	}
	if last := b.failFor(hash, policy); last.RetryAt != nil || !last.GivenUp {
		t.Errorf("%+v", last)
	}
}

// TestSystemRetriesOnlyWhatIsPlanned lets the time come for a transaction that has changed meanwhile: nothing happens
// to it.
func TestSystemRetriesOnlyWhatIsPlanned(t *testing.T) {
	t.Parallel()
	policy := transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}
	for name, change := range map[string]func(b *bank, hash string){
		"under review": func(b *bank, hash string) {
			b.exec(`UPDATE transactions SET needs_review = true, review_reason = 'r', retry_at = NULL WHERE hash = $1`, hash)
		},
		"ended by an operator": func(b *bank, hash string) {
			b.ok(b.Transactions.Stop(b.t.Context(), transaction.Failure{Claim: transaction.Claim{Hash: hash}}))
		},
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
			b.refused(b.beginAgain(hash), fault.InvalidTransition)
			if got := b.tx(hash); got.State != lifecycle.TransactionFailed || got.RowVersion != before.RowVersion {
				t.Errorf("%+v", got)
			}
		})
	}

	b := newBank(t)
	hash := b.ordered("bob", 3*coin)
	b.failFor(hash, policy)
	b.refused(second(b.begin(b.beginning(hash, 2*coin))), fault.InvalidTransition) // its delay is not over
	failed := b.beginning(hash, 2*coin)
	b.must(b.beginAgain(hash))
	b.refused(second(b.begin(failed)), fault.NoTurn) // it has seen an older state
	if events := strings.Join(b.events(hash), " "); strings.Count(events, "retried") != 1 {
		t.Errorf("events: %s", events)
	}
}

// TestARepeatedFailureIsOne fails an order twice with the same claim, begun or not: that is one failure, and one
// attempt.
func TestARepeatedFailureIsOne(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	inLine, resting := b.deposit("ann", 3*coin), b.ordered("bob", 3*coin)
	b.fail(resting, "m", lifecycle.UnknownError, false)
	b.retry(resting)
	for name, hash := range map[string]string{"in the line": inLine, "resting": resting, "begun": b.ordered("cid", 3*coin)} {
		failure := transaction.Failure{
			Claim: b.claimed(hash), Message: "m", Class: lifecycle.Retryable, Retry: transaction.RetryPolicy{For: time.Hour, Pause: time.Minute},
		}
		first := b.ok(b.Transactions.Fail(t.Context(), failure))
		again := b.ok(b.Transactions.Fail(t.Context(), failure))
		if got := b.tx(hash); got.Failures != 1 || first.State != lifecycle.TransactionFailed || again.Revision != first.Revision {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestPlannedRetryIsLive requires a workflow for each planned retry.
func TestPlannedRetryIsLive(t *testing.T) {
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
		b.ok(b.Transactions.Stop(t.Context(), transaction.Failure{Claim: transaction.Claim{Hash: hash}}))
	}
}

// TestUserIsNotifiedOnceOfGivingUp gives up an order twice, after the system's retries: its recipient is
// notified the first time.
func TestUserIsNotifiedOnceOfGivingUp(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	user := b.user(70)
	execIn(t, b.url, `UPDATE users SET username = 'durov'`)
	hash := b.ordered("ann", 3*coin)

	policy := transaction.RetryPolicy{For: time.Hour, Pause: time.Millisecond, Tries: 2, Ask: true}
	for range 2 {
		b.failFor(hash, policy)
		b.must(b.beginAgain(hash))
		if last := b.failFor(hash, policy); !last.GivenUp {
			t.Fatalf("not given up: %+v", last)
		}
		b.retry(hash)
		b.must(b.beginAgain(hash))
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
