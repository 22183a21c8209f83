package store_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// served lets one order after the other buy and gives the order in which they did.
func (b *bank) served(hashes []string) (order []int) {
	b.t.Helper()
	for {
		queue, err := b.Transactions.PaymentQueue(b.t.Context(), b.wallet, 100)
		b.must(err)
		if len(queue) == 0 {
			return order
		}
		if queue[0].GrantedAt == nil {
			b.t.Fatalf("nobody has the turn: %+v", queue)
		}
		order = append(order, slices.Index(hashes, queue[0].TransactionHash))
		b.bought(queue[0].TransactionHash)
	}
}

// TestQueueIsFair lets a sender with many orders and senders with one wait; the list says in advance who will be served
// when.
func TestQueueIsFair(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	var hashes []string
	for _, sender := range []string{"big", "big", "big", "big", "ann", "big", "bob", "ann"} {
		hashes = append(hashes, b.ordered(sender, 3*coin))
	}

	for _, hash := range hashes {
		b.enter(hash, transaction.Purchase)
		b.enter(hash, transaction.Purchase) // again: the same place
	}

	var planned []int
	queue, err := b.Transactions.PaymentQueue(t.Context(), b.wallet, 100)
	b.must(err)
	for i, entry := range queue {
		planned = append(planned, slices.Index(hashes, entry.TransactionHash))
		if entry.Place != i+1 || (entry.GrantedAt != nil) != (i == 0) {
			t.Errorf("%+v", entry)
		}
	}

	want := []int{0, 4, 6, 1, 7, 2, 3, 5}
	if order := b.served(hashes); !slices.Equal(order, want) || !slices.Equal(planned, want) {
		t.Errorf("served %v, planned %v", order, planned)
	}
}

// TestNobodyStarves lets new senders come without end: one who waits is served all the same.
func TestNobodyStarves(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.bought(b.ordered("old", 3*coin))
	b.enter(b.ordered("first", 3*coin), transaction.Purchase)
	waiting := b.ordered("old", 3*coin) // its sender had a turn, the others never
	b.enter(waiting, transaction.Purchase)

	for i := range 4 {
		b.enter(b.ordered(string(rune('a'+i)), 3*coin), transaction.Purchase)
		queue, err := b.Transactions.PaymentQueue(t.Context(), b.wallet, 1)
		b.must(err)
		b.bought(queue[0].TransactionHash)
		if queue[0].TransactionHash == waiting {
			return
		}
	}

	t.Error("it still waits")
}

// TestReturnedTurn gives a turn back: the order keeps its place, and its sender loses nothing.
func TestReturnedTurn(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	hashes := []string{b.ordered("ann", 3*coin), b.ordered("bob", 3*coin), b.ordered("ann", 3*coin)}
	for _, hash := range hashes {
		b.enter(hash, transaction.Purchase)
	}

	for range 2 {
		b.must(b.Transactions.ReturnTurn(ctx, hashes[0], transaction.Purchase))
		b.must(b.Transactions.ReturnTurn(ctx, hashes[0], transaction.Purchase)) // again: nothing
		if entry := b.enter(hashes[2], transaction.Purchase); entry.GrantedAt != nil {
			t.Errorf("%+v", entry)
		}
		if snapshot := b.ok(b.Transactions.SnapshotOf(ctx, hashes[0])); !snapshot.Turn.Granted || snapshot.Turn.Kind != transaction.Purchase {
			t.Errorf("%+v", snapshot.Turn) // granted again by the next read
		}
	}

	b.must(b.Transactions.LeaveQueue(ctx, hashes[0], transaction.Purchase))
	b.must(b.Transactions.LeaveQueue(ctx, hashes[0], transaction.Purchase))
	if snapshot := b.ok(b.Transactions.SnapshotOf(ctx, hashes[1])); !snapshot.Turn.Granted {
		t.Error("the turn did not go on")
	}

	b.fail(hashes[1], "m", lifecycle.UnknownError, false)
	if snapshot := b.ok(b.Transactions.SnapshotOf(ctx, hashes[2])); !snapshot.Turn.Granted {
		t.Error("the turn did not go on from one that failed")
	}
}

// TestGrantRace gives the turn from many sides: it goes to one.
func TestGrantRace(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	b.must(b.Transactions.Pause(ctx, nil, "test"))

	for _, sender := range []string{"a", "b", "c"} {
		if entry := b.enter(b.ordered(sender, 3*coin), transaction.Purchase); entry.GrantedAt != nil {
			t.Errorf("granted in a pause: %+v", entry)
		}
	}

	b.must(b.Transactions.Resume(ctx))
	var granted atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			entry, err := b.Transactions.GrantNext(ctx, b.wallet)
			if err != nil {
				t.Error(err)
			}
			if entry != nil {
				granted.Add(1)
			}
		})
	}

	all.Wait()
	if granted.Load() != 1 {
		t.Errorf("%d turns", granted.Load())
	}
}

// TestPause stops signing at once, for who has the turn already too; what is signed is still proven.
func TestPause(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	admin := b.user(1)
	hash, next := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin)
	payment := b.signed(hash, transaction.Purchase)
	b.enter(next, transaction.Purchase)
	b.must(b.Transactions.Pause(ctx, &admin.ID, "inventory"))
	b.must(b.Transactions.Pause(ctx, nil, "again"))
	switches, err := b.Transactions.Switches(ctx)
	if err != nil || switches.Pause.Reason != "inventory" || *switches.Pause.ByUser != admin.ID || switches.Hold.On() {
		t.Errorf("%+v, %v", switches, err)
	}

	b.accept(payment)
	if brought := b.scan(); len(brought.Settled) != 1 {
		t.Errorf("%+v", brought)
	}

	b.through(payment)
	if brought := b.scan(); brought.Granted != nil {
		t.Errorf("%+v", brought)
	}

	b.must(b.Transactions.Resume(ctx))
	if brought := b.scan(); brought.Granted == nil || brought.Granted.TransactionHash != next {
		t.Errorf("%+v", brought)
	}

	b.must(b.Transactions.Pause(ctx, nil, "again"))
	_, err = b.sign(b.want(next, transaction.Purchase), transaction.Limits{})
	b.refused(err, fault.PaymentsPaused)
	b.must(b.Transactions.Resume(ctx))
	b.signed(next, transaction.Purchase)
}

// TestHold stops purchases but for one that tries after a while; refunds go on. A signature of the one lifts it.
func TestHold(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	owed := b.ordered("cid", 3*coin)
	b.fail(owed, "Username not found", lifecycle.NonRetryable, true)
	hash, next := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin)
	b.enter(hash, transaction.Purchase)
	b.enter(next, transaction.Purchase)
	later := time.Now().Add(time.Hour)
	b.must(b.Transactions.Hold(ctx, "session_expired", later))
	_, err := b.sign(b.want(hash, transaction.Purchase), transaction.Limits{})
	b.refused(err, fault.PaymentsHeld)
	b.must(b.Transactions.ReturnTurn(ctx, hash, transaction.Purchase))
	if entry, err := b.Transactions.GrantNext(ctx, b.wallet); err != nil || entry != nil {
		t.Errorf("%+v, %v", entry, err)
	}

	refund := b.signed(owed, transaction.Refund)
	b.accept(refund)
	if brought := b.scan(); brought.Granted != nil {
		t.Errorf("%+v", brought)
	}

	b.must(b.Transactions.Hold(ctx, "session_expired", time.Now().Add(-time.Second)))
	entry, err := b.Transactions.GrantNext(ctx, b.wallet)
	if err != nil || entry == nil || !entry.Probe || entry.TransactionHash != hash {
		t.Errorf("%+v, %v", entry, err)
	}

	b.must(b.Transactions.Hold(ctx, "session_expired", later)) // it failed again
	b.must(b.Transactions.ReturnTurn(ctx, hash, transaction.Purchase))
	if entry, err := b.Transactions.GrantNext(ctx, b.wallet); err != nil || entry != nil {
		t.Errorf("%+v, %v", entry, err)
	}

	b.must(b.Transactions.Hold(ctx, "daily_limit", time.Now().Add(-time.Second)))
	payment := b.signed(hash, transaction.Purchase)
	if switches, err := b.Transactions.Switches(ctx); err != nil || switches.Hold.On() {
		t.Errorf("%+v, %v", switches, err)
	}

	b.accept(payment)
	b.scan()
	if entry := b.enter(next, transaction.Purchase); entry.GrantedAt != nil {
		t.Errorf("the turn went on from a purchase that is not through: %+v", entry)
	}

	b.through(payment)
	if entry := b.enter(next, transaction.Purchase); entry.GrantedAt == nil || entry.Probe {
		t.Errorf("%+v", entry)
	}
}

// TestUntold keeps what workflows should hear until somebody says that they did.
func TestUntold(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	untold := func(starts, settled, turns int) transaction.PendingSignals {
		t.Helper()
		got, err := b.Transactions.PendingSignalsOf(ctx, b.wallet, 10)
		if err != nil || len(got.Starts) != starts || len(got.Settled) != settled || len(got.Turns) != turns {
			t.Errorf("%+v, %v", got, err)
		}
		return got
	}

	ann, bob := b.deposit("ann", 3*coin), b.deposit("bob", 3*coin)
	if got := untold(2, 0, 0); got.Starts[0] != ann || got.Starts[1] != bob {
		t.Errorf("%+v", got)
	}

	b.must(b.Transactions.MarkStarted(ctx, ann))
	untold(1, 0, 0)
	b.quoted(ann, 2*coin)
	b.quoted(bob, 2*coin)
	untold(0, 0, 0)
	payment := b.signed(ann, transaction.Purchase) // it was told its turn when it asked
	b.enter(bob, transaction.Purchase)
	untold(0, 0, 0)
	b.accept(payment)
	b.scan()
	got := untold(0, 1, 0)
	b.must(b.Transactions.MarkSettledNotified(ctx, got.Settled[0].PaymentID))
	b.through(payment)
	got = untold(0, 0, 1)
	turn := got.Turns[0]
	b.must(b.Transactions.ReturnTurn(ctx, bob, transaction.Purchase))
	b.must(b.Transactions.MarkTurnNotified(ctx, turn)) // of a turn that is over
	untold(0, 0, 0)
	if _, err := b.Transactions.GrantNext(ctx, b.wallet); err != nil {
		t.Error(err)
	}

	b.must(b.Transactions.MarkTurnNotified(ctx, turn))
	got = untold(0, 0, 1)
	b.must(b.Transactions.MarkTurnNotified(ctx, got.Turns[0]))
	untold(0, 0, 0)
}

// TestPauseWaitsForThePen pauses in the middle of a signature: the pause begins after it, and nothing is signed from
// then on.
func TestPauseWaitsForThePen(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.enter(hash, transaction.Purchase)
	order := b.want(hash, transaction.Purchase)
	paused := make(chan error, 1)
	_, err := b.Transactions.SignPayment(t.Context(), order, transaction.Limits{}, func(seqno uint32) (transaction.Signed, error) {
		go func() { paused <- b.Transactions.Pause(t.Context(), nil, "test") }()
		for waiting := 0; waiting == 0; {
			select {
			case err := <-paused:
				t.Errorf("the pause has begun, and this will be signed: %v", err)
				paused <- err
				return b.pen(order)(seqno)
			case <-time.After(5 * time.Millisecond):
				waiting = b.count(`pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`)
			}
		}

		return b.pen(order)(seqno)
	})

	b.must(err)
	b.must(<-paused)
	if _, err := b.sign(order, transaction.Limits{}); err != nil {
		t.Errorf("what is signed already is there in a pause too: %v", err)
	}
}

// TestWakes tells who listens of a turn that somebody has got, once that is committed, and of a payment that was
// broadcast; what concerns another wallet is none of theirs.
func TestWakes(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ann, bob := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin)
	payment := b.signed(ann, transaction.Purchase)
	b.enter(bob, transaction.Purchase)
	ctx, stop := context.WithCancel(t.Context())
	wakes, others := b.Transactions.WakesOf(ctx, b.wallet), b.Transactions.WakesOf(ctx, "another")
	heard := func(wake <-chan struct{}) func() bool {
		return func() bool {
			select {
			case <-wake:
				return true
			case <-time.After(10 * time.Millisecond):
				return false
			}
		}
	}

	hear := func(what string, wake <-chan struct{}, again func()) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); !heard(wake)(); again() {
			if time.Now().After(deadline) {
				t.Fatalf("never heard of %s", what)
			}
		}
	}

	wake := func(wallet string) func() { return func() { b.must(b.Transactions.WakeForPayment(ctx, wallet)) } }
	hear("a payment", wakes.Payments, wake(b.wallet)) // from here on both listen
	hear("another's payment", others.Payments, wake("another"))
	b.accept(payment)
	b.scan()
	if heard(wakes.Turns)() {
		t.Error("nobody has got a turn yet")
	}

	b.through(payment)
	hear("a turn", wakes.Turns, func() {})
	if heard(others.Turns)() {
		t.Error("a turn at another wallet")
	}

	stop()
}

// TestYieldedTurn goes to who waits behind, and comes back when they are through.
func TestYieldedTurn(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	first, second := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin)
	for _, hash := range []string{first, second} {
		b.enter(hash, transaction.Purchase)
	}

	b.must(b.Transactions.YieldTurn(t.Context(), first, transaction.Purchase))
	if b.turnOf(first, transaction.Purchase) || !b.turnOf(second, transaction.Purchase) {
		t.Error("the turn stays with who has yielded it")
	}
	if order := b.served([]string{first, second}); !slices.Equal(order, []int{1, 0}) {
		t.Errorf("served %v", order)
	}
}
