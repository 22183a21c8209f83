package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
)

// TestFragmentUnavailable makes a part of Fragment unavailable while orders arrive: at most the first fails, the next
// ones wait without using an attempt, and all are bought once without a person's help.
func TestFragmentUnavailable(t *testing.T) {
	t.Parallel()
	for name, fault := range night.Cases(t, map[string]sim.Fault{
		"503 at the price":     {Match: "updateStarsPrices", Kind: "503"},
		"503 at the request":   {Match: "initBuyStarsRequest", Kind: "503"},
		"429 at the link":      {Match: "getBuyStarsLink", Kind: "429"},
		"cut at the search":    {Match: "searchStarsRecipient", Kind: "cut"},
		"no answer at request": {Match: "initBuyStarsRequest", Kind: "lost_answer"},
	}, "no answer at request") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// The first order's own retry must not begin before the second one fails, which makes it a hold.
			w := newRig(t, func(s *setup) { s.retryFor, s.retryPause = time.Hour, time.Minute })
			w.fragment.AddFault(fault)
			first, second := w.deposit(
				1, "durov 50",
			), w.depositAs(tonsim.Deposit{From: "another", AmountNano: 1e9, Comment: "anna 50"})

			wait.Eventually(w, "purchases are held", w.held)
			failed := w.failed()
			wait.Eventually(w, "more attempts fail", func() bool { return w.failed() >= failed+2 }) // few: the delay doubles

			w.fragment.ClearFaults()
			for _, hash := range []string{first, second} {
				if got := w.becomes(hash, lifecycle.TransactionProcessed); got.Failures > 1 {
					t.Errorf("%d failures", got.Failures)
				}
			}

			w.wantSold(2)
			w.balances()
		})
	}
}

// TestNightFragmentUnavailableForLong makes Fragment unavailable for longer than failed orders are retried: no order
// fails, and none leaves a trace until it is bought.
func TestNightFragmentUnavailableForLong(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.retryFor, s.retryPause = time.Second, 100*time.Millisecond })
	w.fragment.AddFault(sim.Fault{Kind: "503"})
	hash := w.deposit(1, "durov 50")
	w.wantHeld(hash)
	failed := w.failed()
	time.Sleep(3 * time.Second) // longer than a failed order would be retried
	wait.Eventually(w, "more attempts fail", func() bool { return w.failed() > failed })
	if got := w.events(hash); got != "detected" {
		t.Error(got)
	}

	w.fragment.ClearFaults()
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantSold(1)
	w.balances()
}

// TestOneOrderHoldsUpNobody has an order for which alone Fragment fails: others are bought meanwhile.
func TestOneOrderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.retryFor, s.retryPause = time.Hour, 100*time.Millisecond })
	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503"})
	first := w.deposit(1, "durov 50")
	wait.Eventually(w, "the first fails", func() bool { return w.get(first).Failures > 0 })
	second := w.depositAs(tonsim.Deposit{From: "another", AmountNano: 1e9, Comment: "anna 50"})
	wait.Eventually(w, "the second waits in line", func() bool { return w.inLine(second) })
	w.fragment.ClearFaults()
	w.becomes(second, lifecycle.TransactionProcessed)
	w.becomes(first, lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}
