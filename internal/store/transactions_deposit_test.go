package store_test

import (
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// TestDepositIsConfirmedOnce by a second source, and no dispute comes after that.
func TestDepositIsConfirmedOnce(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	hash := b.ordered("a", 5*coin)
	deposit, err := b.DepositOf(ctx, hash)
	b.must(err)
	if row := b.tx(hash); deposit.Hash != hash || deposit.LT != row.LT || deposit.AmountNano != 5*coin || deposit.Sender != row.Sender ||
		!deposit.SameComment(row.Comment) || deposit.SameComment(row.Comment+"x") || deposit.At.IsZero() {
		t.Errorf("%+v", deposit)
	}

	if _, err := b.DepositOf(ctx, "none"); fault.CodeOf(err) != fault.TransactionNotFound {
		t.Errorf("a deposit that nobody has seen: %v", err)
	}

	for range 2 {
		if s := b.ok(b.ConfirmDeposit(ctx, hash)); !s.DepositConfirmed || s.DepositNano != 5*coin {
			t.Errorf("%+v", s)
		}
	}

	if s := b.ok(b.DisputeDeposit(ctx, hash)); s.NeedsReview || s.Disputed {
		t.Errorf("disputed after it was confirmed: %+v", s)
	}
	if got := b.events(hash); len(got) == 0 || got[len(got)-1] != lifecycle.TransactionConfirmed || slices.Index(got, lifecycle.TransactionConfirmed) != len(got)-1 {
		t.Errorf("%v", got)
	}
}

// TestDisputedDepositWaitsForAPerson who answers for it, or ends the order; then the refund is a matter of its own.
func TestDisputedDepositWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	right, wrong, other := b.ordered("a", 5*coin), b.ordered("b", 5*coin), b.ordered("c", 5*coin)
	resolve := func(hash string, outcome lifecycle.TransactionState) (transaction.Snapshot, error) {
		return b.ResolveTransaction(ctx, transaction.Request{Hash: hash, Attempt: 1, Refund: true}, outcome, "m")
	}

	disputed := func(want bool) {
		t.Helper()
		if got, err := b.AnyDisputed(ctx); err != nil || got != want {
			t.Errorf("disputed: %v, %v; want %v", got, err, want)
		}
	}

	b.ok(b.ReviewTransaction(ctx, other, 1, "r"))
	disputed(false)
	_, err := resolve(other, lifecycle.TransactionProcessing)
	b.refused(err, fault.InvalidTransition)

	b.enter(right, transaction.Purchase)
	for _, hash := range []string{right, wrong} {
		if s := b.ok(b.DisputeDeposit(ctx, hash)); !s.Disputed || s.Turn != nil {
			t.Errorf("%+v", s)
		}
	}

	disputed(true)
	if s := b.ok(resolve(right, lifecycle.TransactionProcessing)); s.State != lifecycle.TransactionProcessing || s.NeedsReview || !s.DepositConfirmed || s.Attempt != 1 {
		t.Errorf("%+v", s)
	}

	if s := b.ok(resolve(wrong, lifecycle.TransactionFailed)); s.RefundDue != 5*coin || s.DepositConfirmed {
		t.Errorf("%+v", s)
	}

	b.ok(b.DisputeDeposit(ctx, wrong))
	_, err = resolve(wrong, lifecycle.TransactionProcessing)
	b.refused(err, fault.InvalidTransition)
	if s := b.ok(b.WriteOffRefund(ctx, transaction.Request{Hash: wrong, Attempt: 1})); s.NeedsReview || s.RefundDue != 0 {
		t.Errorf("%+v", s)
	}

	disputed(false)
	b.balanced()
}
