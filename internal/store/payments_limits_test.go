package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// full lets an order attempt a purchase at a daily limit without room for it, and returns when there will be room.
func (b *bank) full(hash string, kind transaction.PaymentKind, limits transaction.Limits) time.Time {
	b.t.Helper()
	_, err := b.sign(b.want(hash, kind), limits)
	b.refused(err, fault.DailyLimit)
	refusal, ok := errors.AsType[*transaction.DayIsFull](err)
	if !ok {
		b.t.Fatalf("%v", err)
	}

	if kind == transaction.Purchase {
		beginning := b.beginning(hash, b.tx(hash).QuoteNano)
		beginning.Most = limits
		_, err := b.begin(beginning)
		b.refused(err, fault.DailyLimit)
	}
	b.ok(b.Transactions.Defer(b.t.Context(), hash, refusal.Until))
	return refusal.Until
}

// refunded takes a debt to its end on the chain.
func (b *bank) refunded(hash string) {
	b.t.Helper()
	payment := b.signed(hash, transaction.Refund)
	b.accept(payment)
	b.scan()
	b.settle(payment, transaction.Destination{Kept: true})
}

// TestSmallerOnesPass lets an order that does not fit into today's limit wait until the 24-hour window has room, and
// serves others meanwhile.
func TestSmallerOnesPass(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	limits := transaction.Limits{PerDay: 5 * coin}
	first, second := b.bought(b.ordered("a", 2*coin)), b.bought(b.ordered("b", 4*coin)) // of one coin, and of three
	b.exec(`UPDATE payments SET created_at = created_at - interval '10 hours' WHERE id = $1`, first.ID)

	big, small := b.ordered("big", 4*coin), b.ordered("small", 2*coin)
	until := b.full(big, transaction.Purchase, limits) // one coin is left, the next in fourteen hours, three in a day
	if want := b.payment(second.ID).CreatedAt.Add(24 * time.Hour); !until.Equal(want) {
		t.Errorf("room at %v, want %v", until, want)
	}

	b.bought(small)
	if deferred, err := b.Transactions.AnyDeferred(t.Context()); err != nil || !deferred {
		t.Errorf("%v, %v", deferred, err)
	}
	if waits, err := b.Transactions.Deferred(t.Context()); err != nil || !slices.Equal(waits, []string{big}) {
		t.Errorf("%v, %v", waits, err)
	}

	limits.PerDay = 0 // the operator raises it
	if _, err := b.sign(b.want(big, transaction.Purchase), limits); err != nil {
		t.Error(err)
	}
	if deferred, err := b.Transactions.AnyDeferred(t.Context()); err != nil || deferred {
		t.Errorf("%v, %v", deferred, err)
	}
}

// TestPassedForADay stops passing after a day: otherwise an endless stream of small orders would use up the room that a
// big one waits for.
func TestPassedForADay(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	limits := transaction.Limits{PerDay: 5 * coin, RefundPerDay: 5 * coin}
	b.bought(b.ordered("a", 4*coin)) // of three coins
	big, small := b.ordered("big", 4*coin), b.ordered("small", 2*coin)
	b.full(big, transaction.Purchase, limits)
	beginning := b.beginning(small, coin)
	beginning.Most = limits
	b.passMinute()
	b.must(second(b.begin(beginning)))

	b.exec(`UPDATE transactions SET deferred_at = now() - interval '25 hours' WHERE hash = $1`, big)
	_, err := b.sign(b.want(small, transaction.Purchase), limits)
	b.refused(err, fault.DailyLimit)
	b.full(small, transaction.Purchase, limits)

	owed := b.ordered("owed", 2*coin)
	b.fail(owed, "m", lifecycle.NonRetryable, true)
	refund, err := b.sign(b.want(owed, transaction.Refund), limits)
	if err != nil {
		t.Errorf("a refund waits for room in the limit of purchases: %v", err)
	}
	b.accept(refund)
	b.scan()

	b.exec(`UPDATE payments SET created_at = created_at - interval '25 hours'`)
	if _, err := b.sign(b.want(big, transaction.Purchase), limits); err != nil {
		t.Errorf("there is room for the one that was passed: %v", err)
	}
}

// TestRefundLimits requests a review for a refund above the limit for one, and defers one that does not fit today.
func TestRefundLimits(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	owed := func(sender string, nano int64) string {
		hash := b.ordered(sender, nano)
		b.fail(hash, "m", lifecycle.NonRetryable, true)
		return hash
	}

	b.incoming(address("owner"), coin, false) // pays for the gas
	limits := transaction.Limits{PerRefund: 3 * coin, RefundPerDay: 4 * coin}

	large := owed("a", 4*coin)
	_, err := b.sign(b.want(large, transaction.Refund), limits)
	b.refused(err, fault.ReviewRequired)
	if snapshot := b.ok(b.Transactions.ReviewPayment(t.Context(), large, limits)); !snapshot.NeedsReview || snapshot.RefundDue != 4*coin {
		t.Errorf("%+v", snapshot)
	}

	b.refunded(owed("b", 3*coin))
	b.full(owed("c", 2*coin), transaction.Refund, limits)

	request := transaction.Request{Hash: large, Attempt: b.tx(large).Attempt, RequestID: "once"}
	b.ok(b.Transactions.Resolve(t.Context(), request, lifecycle.TransactionFailed, "m"))
	if snapshot := b.ok(b.Transactions.Resolve(t.Context(), request, lifecycle.TransactionFailed, "m")); snapshot.NeedsReview || snapshot.RefundDue != 4*coin {
		t.Errorf("%+v", snapshot)
	}

	if _, err := b.sign(b.want(large, transaction.Refund), limits); err != nil {
		t.Errorf("a person has allowed it: %v", err)
	}

	b.balanced()
}

// TestKeepDust books a debt that is not worth its gas, once, and reports it.
func TestKeepDust(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("a", 2*coin)
	b.fail(hash, "m", lifecycle.NonRetryable, true)
	if snapshot := b.ok(b.Transactions.KeepDust(t.Context(), hash, 2*coin)); snapshot.RefundDue != 2*coin {
		t.Errorf("it is worth it: %+v", snapshot)
	}

	for range 2 {
		if snapshot := b.ok(b.Transactions.KeepDust(t.Context(), hash, 2*coin+1)); snapshot.RefundDue != 0 {
			t.Errorf("%+v", snapshot)
		}
	}

	if got := b.tx(hash); got.DustNano != 2*coin {
		t.Errorf("%+v", got)
	}
	if books := b.balanced(); books[transaction.AccountRefundDue] != 0 || books[transaction.AccountReceived] != -2*coin {
		t.Errorf("%v", books)
	}
	if types := b.events(hash); types[len(types)-1] != lifecycle.TransactionDust {
		t.Errorf("%v", types)
	}
}

// TestASecondRefundWithinADay requires a review, as when the sender returns each refund; others are unaffected, an
// approved refund is paid, and a day later none is required.
func TestASecondRefundWithinADay(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.incoming(address("owner"), 3*coin, false) // pays for the gas
	owed := func(sender string) string {
		hash := b.ordered(sender, 2*coin)
		b.fail(hash, "m", lifecycle.NonRetryable, true)
		return hash
	}

	b.refunded(owed("a"))
	none := transaction.Limits{}
	second := owed("a")
	_, err := b.sign(b.want(second, transaction.Refund), none)
	b.refused(err, fault.ReviewRequired)
	b.refunded(owed("b"))

	if snapshot := b.ok(b.Transactions.ReviewPayment(t.Context(), second, none)); !snapshot.NeedsReview {
		t.Errorf("%+v", snapshot)
	}
	request := transaction.Request{Hash: second, Attempt: b.tx(second).Attempt}
	b.ok(b.Transactions.Resolve(t.Context(), request, lifecycle.TransactionFailed, "m"))
	b.refunded(second)
	b.balanced()

	b.exec(`UPDATE payments SET created_at = created_at - interval '24 hours'`)
	b.refunded(owed("a"))
}
