package store_test

import (
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestALaterAttemptFencesOffTheFirst lets an abandoned attempt continue: it neither signs nor fails the order held by
// another attempt, and no third attempt begins with what it saw before.
func TestALaterAttemptFencesOffTheFirst(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.deposit("ann", 3*coin)
	seen := b.beginning(hash, 2*coin)
	first, err := b.begin(seen)
	b.must(err)
	b.refused(second(b.begin(seen)), fault.NoTurn)
	later, err := b.begin(b.beginning(hash, 2*coin))
	b.must(err)
	if first.RequestNumber+1 != later.RequestNumber || b.tx(hash).TakenBy != later.TakenBy {
		t.Errorf("%+v, then %+v", first, later)
	}

	first.RequestNumber = later.RequestNumber
	_, err = b.sign(first, transaction.Limits{})
	b.refused(err, fault.NoTurn)
	failure := transaction.Failure{Claim: first.Claim, Message: "m", Class: lifecycle.UnknownError}
	if got := b.ok(b.Transactions.Fail(t.Context(), failure)); got.State != lifecycle.TransactionProcessing {
		t.Errorf("%+v", got)
	}
	if _, err := b.sign(later, transaction.Limits{}); err != nil {
		t.Error(err)
	}
	if events := b.events(hash); !slices.Equal(events, []string{"detected", "locked", "payment_signed"}) {
		t.Errorf("%v", events)
	}
}

// TestOneRequestAtATime assigns a number only while no other order's request is open, no payment is undecided, and the
// last purchase is confirmed, or was paid half a minute ago.
func TestOneRequestAtATime(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ann, bob := b.deposit("ann", 3*coin), b.deposit("bob", 3*coin)
	may := func(when string, hash string, want bool) transaction.PaymentOrder {
		t.Helper()
		before := b.tx(hash)
		gate, err := b.Transactions.Gate(t.Context(), hash)
		b.must(err)
		order, err := b.begin(b.beginning(hash, 2*coin))
		switch {
		case want && (err != nil || gate.Requested || gate.Left != nil && gate.Left.TransactionHash != hash && gate.Left.State == transaction.PaymentSigned):
			t.Fatalf("%s: %v, the gate had %+v", when, err, gate)
		case !want:
			b.refused(err, fault.NoTurn)
			if after := b.tx(hash); after.RowVersion != before.RowVersion || after.TakenBy != before.TakenBy || !after.UpdatedAt.Equal(before.UpdatedAt) {
				t.Errorf("%s: a refusal has written %+v", when, after)
			}
			if !gate.Requested && gate.Left == nil {
				t.Errorf("%s: the gate was open", when)
			}
		}
		return order
	}

	may("nobody has asked", ann, true)
	may("another has asked", bob, false)
	may("it has asked itself", ann, true)
	b.passMinute()
	may("the other was silent for a minute", bob, true)
	b.fail(bob, "m", lifecycle.UnknownError, false)
	payment, err := b.sign(may("the other has failed", ann, true), transaction.Limits{})
	b.must(err)

	cid := b.deposit("cid", 3*coin)
	may("a payment is undecided", cid, false)
	b.accept(payment)
	b.scan()
	may("the last purchase is not confirmed", cid, false)
	b.exec(`UPDATE payments SET settled_at = settled_at - $2::interval WHERE id = $1`, payment.ID, transaction.ConfirmTime)
	may("it was paid half a minute ago", cid, true)
	b.exec(`UPDATE payments SET settled_at = now() WHERE id = $1`, payment.ID)
	may("it is not the last any more", cid, true)
	b.fail(cid, "m", lifecycle.UnknownError, false)

	b.exec(`UPDATE payments SET request_number = (SELECT requests FROM ton_wallets WHERE address = $2) WHERE id = $1`, payment.ID, b.wallet)
	dan := b.deposit("dan", 3*coin)
	may("it is the last again", dan, false)
	b.ok(b.Transactions.Review(t.Context(), ann, 1, "r"))
	may("a person looks at it", dan, true)
}

// TestGateShowsWhatIsLeft reads, as of one moment, what takes precedence over an order: the undecided payment, then the
// unconfirmed purchase, and its own delay.
func TestGateShowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	gate := func(hash string) transaction.Gate {
		t.Helper()
		g, err := b.Transactions.Gate(t.Context(), hash)
		b.must(err)
		return g
	}
	ann, bob := b.ordered("ann", 3*coin), b.deposit("bob", 3*coin)
	if g := gate(bob); !g.Requested || g.Left != nil || g.RetryIn != 0 || g.ProbeIn != 0 || g.Hash != bob || g.Wallet.Address != b.wallet {
		t.Errorf("%+v", g)
	}
	if g := gate(ann); g.Requested {
		t.Errorf("its own request: %+v", g)
	}

	payment := b.signed(ann, transaction.Purchase)
	if g := gate(bob); g.Requested || g.Left == nil || g.Left.ID != payment.ID || g.Left.State != transaction.PaymentSigned {
		t.Errorf("%+v", g)
	}
	b.accept(payment)
	b.scan()
	if g := gate(bob); g.Left == nil || g.Left.ID != payment.ID || g.Left.State != transaction.PaymentPaid || !g.Left.Last {
		t.Errorf("%+v", g)
	}
	b.through(payment)
	if g := gate(bob); g.Left != nil {
		t.Errorf("%+v", g)
	}

	b.quoted(bob, 2*coin)
	b.failFor(bob, transaction.RetryPolicy{For: time.Hour, Pause: 10 * time.Minute})
	if g := gate(bob); g.RetryIn <= 0 || g.RetryIn > 10*time.Minute {
		t.Errorf("%+v", g)
	}
}

// TestBeginTakesOverWhatRests begins to buy orders waiting in processing: after a lost attempt, an operator's retry,
// and a review. None of them gets an event for it.
func TestBeginTakesOverWhatRests(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	lost, retried, reviewed := b.ordered("ann", 3*coin), b.ordered("bob", 3*coin), b.deposit("cid", 3*coin)
	b.fail(retried, "m", lifecycle.UnknownError, false)
	b.retry(retried)
	b.ok(b.Transactions.ReviewPayment(t.Context(), reviewed, transaction.Limits{ReviewFrom: coin}))
	b.refused(second(b.begin(b.beginning(reviewed, 2*coin))), fault.NoTurn)
	b.ok(b.Transactions.Resolve(t.Context(), transaction.Request{Hash: reviewed, Attempt: 1}, lifecycle.TransactionProcessing, ""))
	for _, hash := range []string{lost, retried, reviewed} {
		before, was := b.events(hash), b.tx(hash)
		b.quoted(hash, coin)
		if got := b.tx(hash); !slices.Equal(b.events(hash), before) || got.Attempt != was.Attempt || got.TakenBy == was.TakenBy || got.QuoteNano != coin || got.Recipient != "r" {
			t.Errorf("%+v, was %+v", got, was)
		}
	}
}

// TestBeginWritesNothingWhenItIsRefused stops payments before each write of a queued order: its row and the wallet stay
// as they were. A probe passes a hold, and nothing else.
func TestBeginWritesNothingWhenItIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before func(b *bank) error
		change func(*transaction.Beginning)
		want   fault.Code
	}{
		"a pause": {before: func(b *bank) error { return b.Transactions.Pause(b.t.Context(), nil, "p") }, want: fault.PaymentsPaused},
		"a probe in a pause": {
			before: func(b *bank) error { return b.Transactions.Pause(b.t.Context(), nil, "p") },
			change: func(o *transaction.Beginning) { o.Probe = true }, want: fault.PaymentsPaused,
		},
		"a hold": {before: func(b *bank) error { return b.Transactions.Hold(b.t.Context(), "h", "") }, want: fault.PaymentsHeld},
		"a probe in a hold": {
			before: func(b *bank) error { return b.Transactions.Hold(b.t.Context(), "h", "") },
			change: func(o *transaction.Beginning) { o.Probe = true },
		},
		"behind the chain":     {change: func(o *transaction.Beginning) { o.Seqno, o.LT = o.Seqno+1, o.LT+1 }, want: fault.PaymentsHeld},
		"a large deposit":      {change: func(o *transaction.Beginning) { o.Most.ReviewFrom = coin }, want: fault.ReviewRequired},
		"above the limit":      {change: func(o *transaction.Beginning) { o.Most.PerPurchase = coin }, want: fault.PaymentLimit},
		"another's attempt":    {change: func(o *transaction.Beginning) { o.TakenBy = "another" }, want: fault.NoTurn},
		"an attempt before it": {change: func(o *transaction.Beginning) { o.Attempt-- }, want: fault.NoTurn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			hash := b.deposit("ann", 3*coin)
			beginning := b.beginning(hash, 2*coin)
			if c.before != nil {
				b.must(c.before(b))
			}
			if c.change != nil {
				c.change(&beginning)
			}

			before := b.tx(hash)
			_, err := b.begin(beginning)
			b.refused(err, c.want)
			after := b.tx(hash)
			wallet, err := b.Transactions.WalletByAddress(t.Context(), b.wallet)
			b.must(err)
			if begun := c.want == ""; begun != (after.State == lifecycle.TransactionProcessing) || begun != (wallet.Requests == 1) || !begun && !after.UpdatedAt.Equal(before.UpdatedAt) {
				t.Errorf("%+v, the wallet %+v", after, wallet)
			}
		})
	}
}

// TestStuckWithoutStops excludes the time of pauses and holds, counting overlaps once. Nothing is stuck before an
// attempt has begun, or while payments are stopped.
func TestStuckWithoutStops(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	ago := func(what string, minutes int) {
		t.Helper()
		b.exec(`UPDATE switches SET since = since - make_interval(mins => $2) WHERE name = $1`, what, minutes)
	}
	later := func(hash string, after time.Duration) time.Duration {
		t.Helper()
		d, err := b.Transactions.MarkStuck(ctx, hash, after)
		b.must(err)
		return d
	}
	listed := func(after time.Duration) int {
		t.Helper()
		rows, err := b.Transactions.List(ctx, transaction.Filter{StuckFor: after, Limit: 10})
		b.must(err)
		return len(rows)
	}
	near := func(got, want time.Duration) bool { return got > want-time.Minute && got <= want }

	waits := b.deposit("bob", 3*coin)
	b.ok(b.Transactions.ReviewPayment(ctx, waits, transaction.Limits{ReviewFrom: coin}))
	b.exec(`UPDATE transactions SET processing_since = processing_since - interval '3 hours' WHERE hash = $1`, waits)
	if got := later(waits, time.Hour); got != time.Hour {
		t.Errorf("no attempt has begun, and it is looked at again in %s", got)
	}

	b.must(b.Transactions.Pause(ctx, nil, "before it"))
	ago("pause", 600)
	b.must(b.Transactions.Resume(ctx))
	hash := b.ordered("ann", 3*coin)
	b.exec(`UPDATE transactions SET processing_since = processing_since - interval '100 minutes' WHERE hash = $1`, hash)
	if got := later(hash, 2*time.Hour); !near(got, 20*time.Minute) {
		t.Errorf("looked at again in %s", got)
	}

	// A pause of 50 minutes, a hold within it of 10, and one that begins in its last 20 and ends 15 later.
	b.must(b.Transactions.Pause(ctx, nil, "p"))
	b.must(b.Transactions.Hold(ctx, "h", ""))
	ago("pause", 30)
	ago("hold", 10)
	b.must(b.Transactions.EndHold(ctx, b.wallet, nil))
	b.must(b.Transactions.Hold(ctx, "h", ""))
	ago("pause", 20)
	ago("hold", 20)
	if got := later(hash, time.Minute); got != time.Minute {
		t.Errorf("stuck while payments are stopped, or looked at again in %s", got)
	}
	if listed(40*time.Minute) != 1 || listed(55*time.Minute) != 0 {
		t.Error("what is stuck is listed with the time of the stops")
	}
	b.exec(`UPDATE switches SET since = NULL, reason = '', stopped = stopped + interval '30 minutes' WHERE name = 'pause'`) // ends, 20 minutes after the hold began
	ago("hold", 15)
	b.must(b.Transactions.EndHold(ctx, b.wallet, nil))
	if got := later(hash, 2*time.Hour); !near(got, 85*time.Minute) {
		t.Errorf("looked at again in %s", got)
	}
	if listed(34*time.Minute) != 1 || listed(36*time.Minute) != 0 {
		t.Error("what is stuck is listed with the time of the stops")
	}

	for range 2 {
		if got := later(hash, 30*time.Minute); got != 0 {
			t.Errorf("not stuck: looked at again in %s", got)
		}
	}
	if events := b.events(hash); !slices.Equal(events, []string{"detected", "locked", "stuck"}) {
		t.Errorf("%v", events)
	}
}
