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

// TestPaymentQueue lists what holds the wallet and what waits for it: purchases and refunds, and at the end those
// deferred by a limit. Transactions in review, paid or ended are not in it.
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
	b.want(second, transaction.Purchase)

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

// TestPause stops signing at once, even for a begun order; what is signed is still proven.
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
	b.refused(second(b.begin(b.beginning(next, 2*coin))), fault.PaymentsPaused)
	b.must(b.Transactions.Resume(ctx))
	order := b.want(next, transaction.Purchase)
	b.must(b.Transactions.Pause(ctx, nil, "once more"))
	_, err = b.sign(order, transaction.Limits{})
	b.refused(err, fault.PaymentsPaused)
	b.must(b.Transactions.Resume(ctx))
	if switches, err := b.Transactions.Switches(ctx); err != nil || switches.Pause.On() || switches.Pause.EndedAt == nil {
		t.Errorf("%+v, %v", switches, err)
	}
	b.signed(next, transaction.Purchase)
}

// TestHold keeps a hold's first time and last reason. It stops neither refunds nor the order that probes whether its
// cause is gone, and ends when that order is bought.
func TestHold(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	owed, hash := b.ordered("cid", 3*coin), b.ordered("ann", 3*coin)
	b.fail(owed, "Username not found", lifecycle.NonRetryable, true)
	b.must(b.Transactions.Hold(ctx, "session_expired", ""))
	before, err := b.Transactions.Switches(ctx)
	b.must(err)
	b.must(b.Transactions.Hold(ctx, "away", hash)) // which makes no more requests
	if wallet, err := b.Transactions.WalletByAddress(ctx, b.wallet); err != nil || wallet.RequestOf != nil {
		t.Errorf("%+v, %v", wallet, err)
	}
	b.refunded(owed)
	if after, err := b.Transactions.Switches(ctx); err != nil || !after.Hold.Since.Equal(*before.Hold.Since) || after.Hold.Reason != "away" {
		t.Errorf("%+v, %v", after, err)
	}

	probe := b.beginning(hash, 2*coin)
	b.refused(second(b.begin(probe)), fault.PaymentsHeld)
	probe.Probe = true
	order, err := b.begin(probe)
	b.must(err)
	b.must(second(b.sign(order, transaction.Limits{})))
	b.must(b.Transactions.EndHold(ctx, b.wallet, nil))
	if switches, err := b.Transactions.Switches(ctx); err != nil || switches.Hold.On() || switches.Hold.EndedAt == nil {
		t.Errorf("%+v, %v", switches, err)
	}
}

// TestOneProbesAHold lets many callers probe a hold at once: one does, and the next one later each time.
func TestOneProbesAHold(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	hash := b.deposit("ann", 3*coin)
	probed := func() (n int64) {
		t.Helper()
		var all sync.WaitGroup
		var taken atomic.Int64
		for range 4 {
			all.Go(func() {
				mine, err := b.Transactions.TakeProbe(ctx)
				if err != nil {
					t.Error(err)
				}
				if mine {
					taken.Add(1)
				}
			})
		}
		all.Wait()
		return taken.Load()
	}

	if n := probed(); n != 0 {
		t.Errorf("%d probe what is not held", n)
	}
	b.must(b.Transactions.Hold(ctx, "away", ""))
	if g, err := b.Transactions.Gate(ctx, hash); err != nil || g.ProbeIn > time.Second {
		t.Errorf("%+v, %v", g, err)
	}
	for _, want := range []int{2, 4, 8, 16, 30, 30} {
		b.exec(`UPDATE switches SET next_at = clock_timestamp() WHERE name = 'hold'`)
		if n := probed(); n != 1 {
			t.Errorf("%d probe at once", n)
		}
		b.must(b.Transactions.Hold(ctx, "still away", "")) // which is no reason to probe earlier
		g, err := b.Transactions.Gate(ctx, hash)
		if pause := time.Duration(want) * time.Second; err != nil || g.ProbeIn <= 0 || g.ProbeIn > pause || want > 2 && g.ProbeIn < pause/2-5*time.Second {
			t.Errorf("the next probe in %s, want %s; %v", g.ProbeIn, pause, err)
		}
	}
}

// TestSuspicion holds payments when two consecutive orders fail for the same reason: a single order does not suffice,
// and another reason, or a purchase in between, starts over.
func TestSuspicion(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	suspect := func(hash, reason string, want bool) {
		t.Helper()
		held, err := b.Transactions.Suspect(ctx, hash, reason)
		b.must(err)
		switches, err := b.Transactions.Switches(ctx)
		if err != nil || held != want || switches.Hold.On() != want || switches.Hold.Suspect != reason || want && switches.Hold.Reason != "X" {
			t.Errorf("held %t by %s, want %t: %+v, %v", held, reason, want, switches, err)
		}
	}

	suspect("ann", "X", false)
	suspect("ann", "X", false)
	suspect("bob", "Y", false)
	suspect("ann", "X", false)
	b.must(b.Transactions.EndHold(ctx, b.wallet, nil))
	suspect("bob", "X", false)
	suspect("ann", "X", true)
	suspect("ann", "Z", true)
}

// TestTheEndOfAHoldWakes makes the orders that failed because of its cause due at once, and their workflows be started;
// all others wait as before.
func TestTheEndOfAHoldWakes(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	other := b.bank()
	failed := func(b *bank, message string, p transaction.RetryPolicy) string {
		t.Helper()
		hash := b.ordered(message, 3*coin)
		b.ok(b.Transactions.Fail(ctx, transaction.Failure{Claim: b.claimed(hash), Message: message, Class: lifecycle.UnknownError, Retry: p}))
		b.must(b.Transactions.MarkStarted(ctx, hash))
		return hash
	}

	policy := transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}
	away, own := failed(b, "away", policy), failed(b, "its own", policy)
	given, elsewhere := failed(b, "away", transaction.RetryPolicy{Ask: true}), failed(other, "away", policy)
	before := map[string]transaction.Transaction{}
	for _, hash := range []string{own, given, elsewhere} {
		before[hash] = b.tx(hash)
	}
	b.must(b.Transactions.Hold(ctx, "away", ""))
	b.must(b.Transactions.EndHold(ctx, b.wallet, []string{"away", "refused"}))

	if g, err := b.Transactions.Gate(ctx, away); err != nil || g.RetryIn != 0 || g.RetryAt == nil || g.WorkflowStartedAt != nil || g.Hold.On() {
		t.Errorf("%+v, %v", g, err)
	}
	for hash, was := range before {
		if got := b.tx(hash); got.WorkflowStartedAt == nil || (got.RetryAt == nil) != (was.RetryAt == nil) || got.RetryAt != nil && !got.RetryAt.Equal(*was.RetryAt) {
			t.Errorf("%s: %+v, was %+v", got.ErrorMessage, got, was)
		}
	}
	if loose, err := b.Transactions.Loose(ctx, b.wallet, 10, 10); err != nil || !slices.Equal(loose.Unstarted, []string{away}) {
		t.Errorf("%+v, %v", loose, err)
	}
}

// TestUnstartedTransactions lists transactions without a workflow until one is recorded.
func TestUnstartedTransactions(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	ann, bob := b.deposit("ann", 3*coin), b.deposit("bob", 3*coin)
	want := func(hashes ...string) {
		t.Helper()
		if loose, err := b.Transactions.Loose(ctx, b.wallet, 10, 10); err != nil || !slices.Equal(loose.Unstarted, hashes) {
			t.Errorf("%+v, %v", loose, err)
		}
	}

	want(ann, bob)
	b.must(b.Transactions.MarkStarted(ctx, ann))
	want(bob)
	b.quoted(bob, 2*coin) // a lost payment locks it, too
	want(bob)
	b.must(b.Transactions.MarkStarted(ctx, bob))
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

// TestWakes notifies listeners of a broadcast payment, but not of another wallet's.
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
