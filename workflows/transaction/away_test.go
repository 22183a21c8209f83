package transaction_test

import (
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
)

// TestFragmentAway lets Fragment be away while orders come: each waits in line without using an attempt, one after the
// other asks whether it is back, and all are bought once without a person's help.
func TestFragmentAway(t *testing.T) {
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
			w := newRig(t, func(s *setup) { s.settings.RetryFor, s.settings.TurnPatience = time.Hour, time.Hour })
			w.fragment.AddFault(fault)
			first, second := w.deposit(
				1, "durov 50",
			), w.depositAs(tonsim.Deposit{From: "another", AmountNano: 1e9, Comment: "anna 50"})

			wait.Eventually(w, "both wait in line", func() bool { return w.inLine(first) && w.inLine(second) })
			w.wantHeld(first)
			failed := w.failed()
			wait.Eventually(w, "more tries fail", func() bool { return w.failed() >= failed+5 })

			w.fragment.ClearFaults()
			for _, hash := range []string{first, second} {
				if got := w.becomes(hash, lifecycle.TransactionProcessed); got.Attempt != 1 {
					t.Errorf("%d attempts", got.Attempt)
				}
			}

			w.wantSold(2)
			w.balances()
		})
	}
}

// TestNightFragmentAwayForLong waits for Fragment for a time only, then the order fails and an operator may retry it.
func TestNightFragmentAwayForLong(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.RetryFor, s.settings.TurnPatience = time.Hour, time.Hour })
	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503"})
	hash := w.deposit(1, "durov 50")
	w.wantHeld(hash)
	_, err := testdb.Connect(t, w.database).Exec(
		t.Context(), `UPDATE transactions SET processing_since = processing_since - interval '2 hours' WHERE hash = $1`, hash,
	)
	w.must(err)
	w.fails(hash, "Service unavailable: Fragment API returned 503", lifecycle.Retryable)

	w.fragment.ClearFaults()
	_, err = w.client.Retry(t.Context(), w.admin, hash, "they are back", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantSold(1)
	w.balances()
}

// TestOneOrderHoldsUpNobody has an order for which alone Fragment fails: others are bought meanwhile.
func TestOneOrderHoldsUpNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.RetryFor, s.settings.TurnPatience = time.Hour, time.Hour })
	w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503"})
	first := w.deposit(1, "durov 50")
	wait.Eventually(w, "the first waits in line", func() bool { return w.inLine(first) && w.failed() >= 4 })
	second := w.depositAs(tonsim.Deposit{From: "another", AmountNano: 1e9, Comment: "anna 50"})
	wait.Eventually(w, "the second waits in line", func() bool { return w.inLine(second) })
	w.fragment.ClearFaults()
	w.becomes(second, lifecycle.TransactionProcessed)
	w.becomes(first, lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}
