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

// TestTurn claims the turn from many sides: one has it, until it leaves, ends, or is not heard of for too long. Whoever has
// lost it can do nothing with it any more.
func TestTurn(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	hashes := []string{b.ordered("ann", 3*coin), b.ordered("bob", 3*coin), b.ordered("cid", 3*coin)}
	var claimed atomic.Int64
	var all sync.WaitGroup
	turns := make([]transaction.Turn, len(hashes))
	for i, hash := range hashes {
		all.Go(func() {
			turn, err := b.Transactions.ClaimTurn(ctx, hash)
			if err == nil {
				claimed.Add(1)
				turns[i] = turn
			} else {
				b.refused(err, fault.NoTurn)
			}
		})
	}
	all.Wait()
	if claimed.Load() != 1 {
		t.Fatalf("%d have the turn", claimed.Load())
	}

	has := slices.IndexFunc(turns, func(turn transaction.Turn) bool { return turn.Token != 0 })
	first, next := turns[has], hashes[(has+1)%3]
	b.must(b.Transactions.KeepTurn(ctx, first))
	again, err := b.Transactions.ClaimTurn(ctx, first.Hash) // by the next attempt, as its worker is lost
	b.must(err)
	lost := func(turn transaction.Turn) {
		t.Helper()
		b.refused(b.Transactions.KeepTurn(ctx, turn), fault.NoTurn)
		_, err := b.Transactions.NextRequest(ctx, turn)
		b.refused(err, fault.NoTurn)
		b.must(b.Transactions.LeaveTurn(ctx, turn)) // it ends no other claim
	}

	lost(first)
	b.must(b.Transactions.KeepTurn(ctx, again))
	b.must(b.Transactions.LeaveTurn(ctx, again))
	lost(again)

	silent, err := b.Transactions.ClaimTurn(ctx, next)
	b.must(err)
	b.exec(`UPDATE ton_wallets SET turn_until = now() - interval '1 second' WHERE address = $1`, b.wallet)
	heir, err := b.Transactions.ClaimTurn(ctx, first.Hash)
	b.must(err)
	lost(silent)
	if number, err := b.Transactions.NextRequest(ctx, heir); err != nil || number != 1 {
		t.Errorf("request %d, %v", number, err)
	}

	b.fail(first.Hash, "m", lifecycle.UnknownError, false) // by an operator
	lost(heir)
	if _, err := b.Transactions.ClaimTurn(ctx, next); err != nil {
		t.Errorf("the end of an order does not free its turn: %v", err)
	}
}

// TestPaymentQueue lists who has the turn and who waits for it: purchases and refunds, and at the end those that wait for
// room in a limit. What is in review, paid or over is not in it.
func TestPaymentQueue(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	full, first, second := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin), b.ordered("cid", 3*coin)
	owed, reviewed := b.ordered("dan", 3*coin), b.ordered("eve", 3*coin)
	b.bought(b.ordered("fay", 3*coin))
	b.fail(owed, "m", lifecycle.NonRetryable, true)
	b.ok(b.Transactions.Review(ctx, reviewed, 1, "r"))
	b.ok(b.Transactions.Defer(ctx, full, time.Now().Add(time.Hour)))
	b.claim(second)

	queue, err := b.Transactions.PaymentQueue(ctx, b.wallet, 100)
	b.must(err)
	var got []string
	for i, entry := range queue {
		if entry.Place != i+1 || (entry.GrantedAt != nil) != (i == 0) || (entry.NotBefore != nil) != (entry.TransactionHash == full) {
			t.Errorf("%+v", entry)
		}
		got = append(got, entry.TransactionHash)
	}
	if want := []string{second, first, owed, full}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if queue[2].Kind != transaction.Refund || queue[1].Kind != transaction.Purchase {
		t.Errorf("%+v", queue)
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
	_, err = b.sign(b.want(next, transaction.Purchase), transaction.Limits{})
	b.refused(err, fault.PaymentsPaused)
	b.must(b.Transactions.Resume(ctx))
	if switches, err := b.Transactions.Switches(ctx); err != nil || switches.Pause.On() || switches.Pause.EndedAt == nil {
		t.Errorf("%+v, %v", switches, err)
	}
	b.signed(next, transaction.Purchase)
}

// TestHold keeps the first moment and the last reason of a hold, until a purchase is signed; a refund does not end it.
func TestHold(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	owed, hash := b.ordered("cid", 3*coin), b.ordered("ann", 3*coin)
	b.fail(owed, "Username not found", lifecycle.NonRetryable, true)
	b.must(b.Transactions.Hold(ctx, "session_expired"))
	before, err := b.Transactions.Switches(ctx)
	b.must(err)
	b.must(b.Transactions.Hold(ctx, "away"))
	refund := b.signed(owed, transaction.Refund)
	b.accept(refund)
	b.scan()
	if after, err := b.Transactions.Switches(ctx); err != nil || !after.Hold.Since.Equal(*before.Hold.Since) || after.Hold.Reason != "away" {
		t.Errorf("%+v, %v", after, err)
	}

	b.signed(hash, transaction.Purchase)
	if switches, err := b.Transactions.Switches(ctx); err != nil || switches.Hold.On() || switches.Hold.EndedAt == nil {
		t.Errorf("%+v, %v", switches, err)
	}
}

// TestUnstartedTransactions lists what has no workflow until somebody says that it has.
func TestUnstartedTransactions(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	ann, bob := b.deposit("ann", 3*coin), b.deposit("bob", 3*coin)
	want := func(hashes ...string) {
		t.Helper()
		if got, err := b.Transactions.UnstartedOf(ctx, b.wallet, 10); err != nil || !slices.Equal(got, hashes) {
			t.Errorf("%v, %v", got, err)
		}
	}

	want(ann, bob)
	b.must(b.Transactions.MarkStarted(ctx, ann))
	want(bob)
	b.quoted(bob, 2*coin)
	want()
}

// TestPauseWaitsForThePen pauses in the middle of a signature: the pause begins after it, and nothing is signed from
// then on.
func TestPauseWaitsForThePen(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
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

// TestWakes tells who listens of a payment that was broadcast; what concerns another wallet is none of theirs.
func TestWakes(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	wakes, others := b.Transactions.PaymentWakes(ctx, b.wallet), b.Transactions.PaymentWakes(ctx, "another")
	hear := func(what string, wake <-chan struct{}, again func()) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); again() {
			select {
			case <-wake:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
		t.Fatalf("never heard of %s", what)
	}

	wake := func(wallet string) func() { return func() { b.must(b.Transactions.WakeForPayment(ctx, wallet)) } }
	hear("a payment", wakes, wake(b.wallet))
	select {
	case <-others:
		t.Error("a payment of another wallet")
	default:
	}
	hear("another's payment", others, wake("another"))
}
