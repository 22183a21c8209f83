package store_test

import (
	"errors"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// full lets an order try to buy at a limit for a day that has no room for it, and gives when there is.
func (b *bank) full(hash string, kind transaction.PaymentKind, limits transaction.Limits) time.Time {
	b.t.Helper()
	_, err := b.sign(b.want(hash, kind), limits)
	b.refused(err, fault.DailyLimit)
	refusal, ok := errors.AsType[*transaction.DayIsFull](err)
	if !ok {
		b.t.Fatalf("%v", err)
	}

	before := b.Transactions.CheckLimits(b.t.Context(), hash, kind, b.want(hash, kind).AmountNano, limits)
	b.refused(before, fault.DailyLimit)
	b.must(b.Transactions.DeferTurn(b.t.Context(), hash, kind, refusal.Until))
	return refusal.Until
}

// TestSmallerOnesPass lets an order that does not fit into today's limit wait until the day's window has room, and
// serves others meanwhile.
func TestSmallerOnesPass(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	limits := transaction.Limits{PerDay: 5 * coin}
	first, second := b.bought(b.ordered("a", 2*coin)), b.bought(b.ordered("b", 4*coin)) // of one coin, and of three
	b.exec(`UPDATE payments SET created_at = created_at - interval '10 hours' WHERE id = $1`, first.ID)

	big, small := b.ordered("big", 4*coin), b.ordered("small", 2*coin)
	b.enter(big, transaction.Purchase)
	b.enter(small, transaction.Purchase)
	until := b.full(big, transaction.Purchase, limits) // one coin is left, the next in fourteen hours, three in a day
	if want := b.payment(second.ID).CreatedAt.Add(24 * time.Hour); !until.Equal(want) {
		t.Errorf("room at %v, want %v", until, want)
	}

	b.bought(small)
	if deferred, err := b.Transactions.AnyDeferred(t.Context()); err != nil || !deferred {
		t.Errorf("%v, %v", deferred, err)
	}
	if queue, err := b.Transactions.PaymentQueue(t.Context(), b.wallet, 10); err != nil || len(queue) != 1 || queue[0].GrantedAt != nil || queue[0].NotBefore == nil {
		t.Errorf("%+v, %v", queue, err)
	}

	b.exec(`UPDATE payment_queue SET not_before = now()`)
	if entry, err := b.Transactions.GrantNext(t.Context(), b.wallet); err != nil || entry == nil || entry.TransactionHash != big {
		t.Errorf("its time has come: %+v, %v", entry, err)
	}

	b.must(b.Transactions.DeferTurn(t.Context(), big, transaction.Purchase, time.Now().Add(time.Hour)))
	b.must(b.Transactions.Resume(t.Context())) // by an operator who has raised the limit
	if entry, err := b.Transactions.GrantNext(t.Context(), b.wallet); err != nil || entry == nil || entry.TransactionHash != big {
		t.Errorf("an operator resumes: %+v, %v", entry, err)
	}
}

// TestPassedForADay stops passing after a day: otherwise small orders without end would take the room that a big one
// waits for.
func TestPassedForADay(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	limits := transaction.Limits{PerDay: 4 * coin}
	b.bought(b.ordered("a", 4*coin))
	big := b.ordered("big", 4*coin)
	b.enter(big, transaction.Purchase)
	b.full(big, transaction.Purchase, limits)

	small := b.ordered("small", 2*coin)
	if !b.turnOf(small, transaction.Purchase) {
		t.Error("a small one does not pass")
	}

	b.must(b.Transactions.ReturnTurn(t.Context(), small, transaction.Purchase))
	b.exec(`UPDATE payment_queue SET deferred_at = now() - interval '25 hours' WHERE transaction_hash = $1`, big)
	if entry, err := b.Transactions.GrantNext(t.Context(), b.wallet); err != nil || entry != nil {
		t.Errorf("it was passed for a day, and still is: %+v, %v", entry, err)
	}

	owed := b.ordered("owed", 2*coin)
	b.fail(owed, "m", lifecycle.NonRetryable, true)
	if !b.turnOf(owed, transaction.Refund) {
		t.Error("a refund waits for room in the limit of purchases")
	}

	b.must(b.Transactions.LeaveQueue(t.Context(), owed, transaction.Refund))

	b.exec(`UPDATE payment_queue SET not_before = now() WHERE transaction_hash = $1`, big)
	if entry, err := b.Transactions.GrantNext(t.Context(), b.wallet); err != nil || entry == nil || entry.TransactionHash != big {
		t.Errorf("%+v, %v", entry, err)
	}
}

// TestRefundLimits asks a person about a refund above the limit for one, and lets one wait that does not fit today.
func TestRefundLimits(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	owed := func(sender string, nano int64) string {
		hash := b.ordered(sender, nano)
		b.fail(hash, "m", lifecycle.NonRetryable, true)
		b.enter(hash, transaction.Refund)
		return hash
	}

	b.incoming(address("owner"), coin, false) // pays for the gas
	limits := transaction.Limits{PerRefund: 3 * coin, RefundPerDay: 4 * coin}

	large := owed("a", 4*coin)
	_, err := b.sign(b.want(large, transaction.Refund), limits)
	b.refused(err, fault.ReviewRequired)
	if snapshot := b.ok(b.Transactions.ReviewPayment(t.Context(), large, limits)); !snapshot.NeedsReview || snapshot.RefundDue != 4*coin || snapshot.Turn != nil {
		t.Errorf("%+v", snapshot)
	}

	payment := b.signed(owed("b", 3*coin), transaction.Refund)
	b.accept(payment)
	b.scan()
	b.settle(payment.ID, transaction.Destination{Kept: true})
	b.full(owed("c", 2*coin), transaction.Refund, limits)

	request := transaction.Request{Hash: large, Attempt: b.tx(large).Attempt}
	b.ok(b.Transactions.Resolve(t.Context(), request, lifecycle.TransactionFailed, "m"))
	if snapshot := b.ok(b.Transactions.Resolve(t.Context(), request, lifecycle.TransactionFailed, "m")); snapshot.NeedsReview || snapshot.RefundDue != 4*coin {
		t.Errorf("%+v", snapshot)
	}

	b.enter(large, transaction.Refund)
	if _, err := b.sign(b.want(large, transaction.Refund), limits); err != nil {
		t.Errorf("a person has allowed it: %v", err)
	}

	b.balanced()
}

// TestKeepDust books what is owed and not worth its gas, once, and says so.
func TestKeepDust(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("a", 2*coin)
	b.fail(hash, "m", lifecycle.NonRetryable, true)
	b.enter(hash, transaction.Refund)
	if snapshot := b.ok(b.Transactions.KeepDust(t.Context(), hash, 2*coin)); snapshot.RefundDue != 2*coin || snapshot.Turn == nil {
		t.Errorf("it is worth it: %+v", snapshot)
	}

	for range 2 {
		if snapshot := b.ok(b.Transactions.KeepDust(t.Context(), hash, 2*coin+1)); snapshot.RefundDue != 0 || snapshot.Turn != nil {
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
