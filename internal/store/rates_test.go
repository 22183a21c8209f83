package store_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/operations"
)

// TestReserveHoldsOverAllProcesses lets two processes take from one allowance at once: together they get the burst and
// no more.
func TestReserveHoldsOverAllProcesses(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	other, err := store.Open(t.Context(), w.url, testdb.Key)
	w.must(err)
	t.Cleanup(other.Close)
	rate := account.Rate{PerSecond: 0.001, Burst: 10} // none comes back while the test runs

	var granted, refused atomic.Int64
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			process := []*store.Store{w.Store, other}[i%2]
			_, err := process.Reserve(t.Context(), "k", rate, 1, 0)
			switch {
			case err == nil:
				granted.Add(1)
			case fault.CodeOf(err) == fault.RateLimited && fault.As(err).RetryAfter > time.Minute:
				refused.Add(1)
			default:
				t.Errorf("reserve: %v", err)
			}
		})
	}

	all.Wait()
	if granted.Load() != 10 || refused.Load() != 40 {
		t.Errorf("%d granted, %d refused; want 10 and 40", granted.Load(), refused.Load())
	}

	if _, err := other.Reserve(t.Context(), "another", rate, 10, 0); err != nil {
		t.Errorf("another key pays for the first: %v", err)
	}
}

// TestReserveQueuesThoseWithPatience checks that each reservation gets a later place, and that one beyond the patience
// takes nothing.
func TestReserveQueuesThoseWithPatience(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	rate := account.Rate{PerSecond: 0.01, Burst: 1} // a place each 100 s
	reserve := func(n int, patience time.Duration) (time.Duration, error) {
		return w.Reserve(t.Context(), "k", rate, n, patience)
	}

	// the machine may be slow
	near := func(got, want time.Duration) bool { return got <= want && got > want-90*time.Second }

	for i := range 3 {
		wait, err := reserve(1, time.Hour)
		if want := time.Duration(i) * 100 * time.Second; err != nil || i > 0 && !near(wait, want) || i == 0 && wait != 0 {
			t.Errorf("reservation %d waits %s, %v; want %s", i, wait, err, want)
		}
	}

	for range 2 {
		_, err := reserve(1, 100*time.Second)
		if f := fault.As(err); f == nil || f.Code != fault.RateLimited || !near(f.RetryAfter, 300*time.Second) {
			t.Errorf("without patience: %v", err)
		}
	}

	if wait, err := reserve(1, time.Hour); err != nil || !near(wait, 300*time.Second) {
		t.Errorf("a refused reservation took its place: %s, %v", wait, err)
	}
}

// TestReserveMoreThanTheBurst takes at once what no burst allows: it is possible for one who finds the allowance whole.
func TestReserveMoreThanTheBurst(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	rate := account.Rate{PerSecond: 0.01, Burst: 1}
	if wait, err := w.Reserve(t.Context(), "k", rate, 5, 0); err != nil || wait != 0 {
		t.Errorf("five at once: %s, %v", wait, err)
	}
	if _, err := w.Reserve(t.Context(), "k", rate, 1, 0); fault.CodeOf(err) != fault.RateLimited {
		t.Errorf("and one more: %v", err)
	}
}

// TestOldRatesAreSwept deletes the rows whose allowance has been whole for a day.
func TestOldRatesAreSwept(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for i := range 5 {
		_, err := w.Reserve(t.Context(), fmt.Sprint(i), account.Rate{PerSecond: 1, Burst: 1}, 1, 0)
		w.must(err)
	}

	w.exec(`UPDATE rate_limits SET tat = now() - interval '25 hours' WHERE key < '3'`)

	var swept int64
	for _, old := range w.OldKinds(operations.Retention{}) {
		deleted, _, err := w.DeleteOld(t.Context(), old, 0, 100)
		w.must(err)
		swept += deleted
	}

	if swept != 3 {
		t.Errorf("%d rows swept, want 3", swept)
	}
}
