package transaction_test

import (
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// large requires a review for deposits above 1.5 TON.
func large(s *setup) { s.settings.Limits = transaction.Limits{ReviewFrom: 1_500_000_000} }

// wantHeldForDeposit waits until a transaction is held for its deposit, and nothing was paid for it.
func (w *rig) wantHeldForDeposit(hash string, state lifecycle.TransactionState) {
	w.Helper()
	wait.Eventually(w, "it waits for a person: "+w.events(hash), func() bool {
		got := w.get(hash)
		return got.NeedsReview && got.ReviewReason == transaction.ReviewDeposit && got.State == state
	})
	if got := w.states(hash); got != "" || w.inLine(hash) {
		w.Errorf("it has payments %q, in line: %v", got, w.inLine(hash))
	}
}

// resolved resolves a transaction. Its workflow learns of the review shortly after it is recorded.
func (w *rig) resolved(hash string, outcome lifecycle.TransactionState, comment string) {
	w.Helper()
	wait.Eventually(w, "it is resolved as "+string(outcome), func() bool {
		_, err := w.client.Resolve(w.Context(), w.admin, hash, outcome, "", comment, "")
		return err == nil
	})
}

// TestNightLargeDepositGoesOnAfterAReview holds an order because of its deposit, lets a small one pass, and continues.
func TestNightLargeDepositGoesOnAfterAReview(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, large)
	hash := w.deposit(2, "durov 50")
	w.wantHeldForDeposit(hash, lifecycle.TransactionProcessing)
	w.wantAlert(notice.AlertTransactionReview, true)
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)

	w.resolved(hash, lifecycle.TransactionProcessing, "three explorers show it")
	if got := w.becomes(hash, lifecycle.TransactionProcessed); got.DepositConfirmedAt == nil {
		t.Errorf("%+v", got)
	}
	w.balances()
}

// TestLargeDepositIsNotGivenBack until a person decides about the money itself.
func TestLargeDepositIsNotGivenBack(t *testing.T) {
	t.Parallel()
	w := newRig(t, large, func(s *setup) { s.settings.Refund = true })
	back, kept := w.deposit(2, "durov 50"), w.deposit(2, "durov 50")
	for _, hash := range []string{back, kept} {
		w.wantHeldForDeposit(hash, lifecycle.TransactionProcessing)
		w.resolved(hash, lifecycle.TransactionFailed, "no order")
		w.wantHeldForDeposit(hash, lifecycle.TransactionFailed)
	}

	_, err := w.client.WriteOff(t.Context(), w.admin, kept, "it was never paid", "")
	w.must(err)
	w.resolved(back, lifecycle.TransactionFailed, "it was paid: give it back")
	wait.Eventually(w, "the money goes back", func() bool { return w.states(back) == "refund paid" })
	if got := w.get(kept); got.NeedsReview || got.RefundDueNano != 0 || w.states(kept) != "" {
		t.Errorf("%+v, %s", got, w.states(kept))
	}
	w.balances()
}

// TestOnlyDepositsAreAccepted refuses this outcome for any other review.
func TestOnlyDepositsAreAccepted(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	hash := w.inReview("durov 50")
	if _, err := w.client.Resolve(t.Context(), w.admin, hash, lifecycle.TransactionProcessing, "", "", ""); fault.CodeOf(err) != fault.InvalidTransition {
		t.Errorf("%v", err)
	}
}
