package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestLargeDepositWaitsForAPerson who approves it, or ends the order; the refund is then separate.
func TestLargeDepositWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	limits := transaction.Limits{ReviewFrom: 4 * coin}
	right, wrong, other := b.ordered("a", 5*coin), b.ordered("b", 5*coin), b.ordered("c", 4*coin)
	resolve := func(hash string, outcome lifecycle.TransactionState) (transaction.Snapshot, error) {
		return b.Transactions.Resolve(ctx, transaction.Request{Hash: hash, Attempt: 1, Refund: true}, outcome, "m")
	}

	for _, hash := range []string{right, wrong} {
		beginning := b.beginning(hash, 4*coin)
		beginning.Most = limits
		b.refused(second(b.begin(beginning)), fault.ReviewRequired)
		_, err := b.sign(b.want(hash, transaction.Purchase), limits)
		b.refused(err, fault.ReviewRequired)
		if s := b.ok(b.Transactions.ReviewPayment(ctx, hash, limits)); !s.MayGoOn || !s.NeedsReview {
			t.Errorf("%+v", s)
		}
	}

	if s := b.ok(resolve(right, lifecycle.TransactionProcessing)); s.State != lifecycle.TransactionProcessing || s.NeedsReview || s.Attempt != 1 {
		t.Errorf("%+v", s)
	}
	payment, err := b.sign(b.want(right, transaction.Purchase), limits)
	b.must(err)
	b.accept(payment)
	b.scan()
	b.through(payment)

	if s := b.ok(resolve(wrong, lifecycle.TransactionFailed)); s.RefundDue != 5*coin {
		t.Errorf("%+v", s)
	}
	_, err = b.sign(b.want(wrong, transaction.Refund), limits)
	b.refused(err, fault.ReviewRequired)
	b.ok(b.Transactions.ReviewPayment(ctx, wrong, limits))
	_, err = resolve(wrong, lifecycle.TransactionProcessing)
	b.refused(err, fault.InvalidTransition)
	if s := b.ok(b.Transactions.WriteOffRefund(ctx, transaction.Request{Hash: wrong, Attempt: 1})); s.NeedsReview || s.RefundDue != 0 {
		t.Errorf("%+v", s)
	}

	if _, err := b.sign(b.want(other, transaction.Purchase), limits); err != nil {
		t.Errorf("it is not above the limit: %v", err)
	}
	b.balanced()
}

// TestDepositsOfADayWaitForAPerson above a sum, which excludes reviewed deposits.
func TestDepositsOfADayWaitForAPerson(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	limits := transaction.Limits{ReviewFrom: 8 * coin, ReviewPerDay: 10 * coin}
	buy := func(hash string) error {
		t.Helper()
		payment, err := b.sign(b.want(hash, transaction.Purchase), limits)
		if err == nil {
			b.accept(payment)
			b.scan()
			b.through(payment)
		}
		return err
	}

	b.must(buy(b.ordered("a", 6*coin)))
	above, within, reviewed := b.ordered("b", 5*coin), b.ordered("c", 4*coin), b.ordered("d", 9*coin)
	b.refused(buy(above), fault.ReviewRequired)
	b.ok(b.Transactions.ReviewPayment(ctx, above, limits))
	b.must(buy(within))

	b.refused(buy(reviewed), fault.ReviewRequired)
	b.ok(b.Transactions.ReviewPayment(ctx, reviewed, limits))
	for _, hash := range []string{above, reviewed} {
		b.ok(b.Transactions.Resolve(ctx, transaction.Request{Hash: hash, Attempt: 1}, lifecycle.TransactionProcessing, ""))
		b.must(buy(hash))
	}

	late := b.ordered("e", 5*coin)
	b.refused(buy(late), fault.ReviewRequired)
	b.exec(`UPDATE payments SET created_at = created_at - interval '25 hours'`)
	b.must(buy(late))
	b.balanced()
}
