package transaction_test

import (
	"strings"
	"testing"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// large lets a second source be asked for deposits of two TON and more.
func large(s *setup) { s.settings.SecondSource, s.settings.SecondFrom = true, 2_000_000_000 }

// lie makes the second source report something else from now on.
func (w *rig) lie(lies tonsim.Lies) {
	w.Helper()
	w.must(w.second.Tell(lies))
}

// asked counts how often the second source was asked for a transfer.
func (w *rig) asked() (n int) {
	for _, r := range w.second.Requests() {
		if strings.HasSuffix(r.Path, "/transactions") {
			n++
		}
	}
	return n
}

// disputed waits until a transaction is held for its deposit, and nothing was paid for it.
func (w *rig) disputed(hash string, status lifecycle.TransactionState) {
	w.Helper()
	w.eventually("it is held for its deposit", func() bool {
		got := w.get(hash)
		return got.NeedsReview && got.ReviewReason == transaction.ReviewDisputed && got.State == status
	})
	if got := w.states(hash); got != "" || w.inLine(hash) {
		w.Errorf("a disputed deposit has payments %q, in line: %v", got, w.inLine(hash))
	}
}

// resolved resolves a transaction. Its workflow is notified of the review a moment after the record has it.
func (w *rig) resolved(hash string, outcome lifecycle.TransactionState, comment string) (now transaction.Transaction) {
	w.Helper()
	w.eventually("it is resolved as "+string(outcome), func() bool {
		var err error
		now, err = w.client.Resolve(w.Context(), w.admin, hash, outcome, "", comment, "")
		return err == nil
	})
	return now
}

// TestSecondSourceAgrees asks once for a large deposit, and never for a small one.
func TestSecondSourceAgrees(t *testing.T) {
	t.Parallel()
	w := newRig(t, large)
	w.becomes(w.deposit(1.9, "durov 50"), lifecycle.TransactionProcessed)
	if n := w.asked(); n != 0 {
		t.Errorf("asked %d times for a small deposit", n)
	}

	hash := w.deposit(2, "durov 50")
	if got := w.becomes(hash, lifecycle.TransactionProcessed); got.DepositConfirmedAt == nil || !strings.Contains(w.events(hash), lifecycle.TransactionConfirmed) || w.asked() != 1 {
		t.Errorf("confirmed %v, asked %d times: %s", got.DepositConfirmedAt, w.asked(), w.events(hash))
	}

	w.balances()
}

// TestSecondSourceDisagrees holds an order for each thing that may differ, and lets a small one pass. An operator who
// answers for the deposit lets the order go on.
func TestSecondSourceDisagrees(t *testing.T) {
	t.Parallel()
	w := newRig(t, large)
	for what, lies := range map[string]tonsim.Lies{
		"amount": {AmountNano: 1_000_000_000}, "sender": {Sender: "0:" + strings.Repeat("ab", 32)}, "comment": {Comment: "anna 50"}, "missing": {Missing: true},
	} {
		w.lie(lies)
		hash := w.deposit(2, "durov 50")
		w.disputed(hash, lifecycle.TransactionProcessing)
		w.wantAlert(notice.AlertDeposit, true)
		w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)

		w.lie(tonsim.Lies{})
		now := w.resolved(hash, lifecycle.TransactionProcessing, "three explorers show it: "+what)
		if now.State != lifecycle.TransactionProcessing && now.State != lifecycle.TransactionProcessed || now.DepositConfirmedAt == nil {
			t.Errorf("%s: %+v", what, now)
		}

		w.becomes(hash, lifecycle.TransactionProcessed)
	}

	if n, err := w.store.AnyDisputed(t.Context()); n || err != nil {
		t.Errorf("disputed: %v, %v", n, err)
	}

	w.balances()
}

// TestDisputedDepositIsNotGivenBack until the sources agree, or a person decides about the money itself.
func TestDisputedDepositIsNotGivenBack(t *testing.T) {
	t.Parallel()
	w := newRig(t, large, func(s *setup) { s.settings.Refund = true })
	w.lie(tonsim.Lies{Missing: true})
	back, kept := w.deposit(2, "durov 50"), w.deposit(2, "durov 50")

	for _, hash := range []string{back, kept} {
		w.disputed(hash, lifecycle.TransactionProcessing)
		w.resolved(hash, lifecycle.TransactionFailed, "no order")
		w.disputed(hash, lifecycle.TransactionFailed)
	}

	_, err := w.client.WriteOff(t.Context(), w.admin, kept, "it was never paid", "")
	w.must(err)
	w.resolved(back, lifecycle.TransactionFailed, "it was paid: give it back")
	w.eventually("the money goes back", func() bool { return w.states(back) == "refund paid" })
	if got := w.get(kept); got.NeedsReview || got.RefundDueNano != 0 || w.states(kept) != "" {
		t.Errorf("%+v, %s", got, w.states(kept))
	}

	w.balances()
}

// TestSecondSourceAway waits, is cancelled, or goes on when the source is back; others do not wait for that.
func TestSecondSourceAway(t *testing.T) {
	t.Parallel()
	w := newRig(t, large)
	w.second.AddFault(sim.Fault{Kind: "503"})
	waits, stopped := w.deposit(2, "durov 50"), w.deposit(2, "durov 50")
	w.eventually("it was asked in vain", func() bool { return len(w.second.Requests()) >= 4 })
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)
	w.must(w.server.Client.CancelWorkflow(t.Context(), lifecycle.TransactionID(stopped), ""))
	w.becomes(stopped, lifecycle.TransactionFailed)
	if got := w.get(waits); got.State != lifecycle.TransactionProcessing || got.NeedsReview || w.inLine(waits) {
		t.Errorf("%+v, in line: %v", got, w.inLine(waits))
	}

	w.second.ClearFaults()
	w.lie(tonsim.Lies{BehindMS: 30_000}) // and then it lags: what it does not know yet is not disputed
	before := w.asked()
	w.eventually("it was asked again", func() bool { return w.asked() > before })
	if got := w.get(waits); got.NeedsReview {
		t.Errorf("%+v", got)
	}

	w.lie(tonsim.Lies{})
	w.becomes(waits, lifecycle.TransactionProcessed)
	w.balances()
}

// TestOnlyDisputedDepositsAreAccepted refuses to let any other review end so.
func TestOnlyDisputedDepositsAreAccepted(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	hash := w.inReview("durov 50")
	if _, err := w.client.Resolve(t.Context(), w.admin, hash, lifecycle.TransactionProcessing, "", "", ""); fault.CodeOf(err) != fault.InvalidTransition {
		t.Errorf("%v", err)
	}
}

// TestSecondSourceComesLate is configured while orders wait in line: whoever gets the turn is checked before it is
// used.
func TestSecondSourceComesLate(t *testing.T) {
	t.Parallel()
	w := newRig(t, large)
	w.paymentActivities.Settings.SecondSource, w.purchases.Settings.SecondSource = false, false
	w.must(w.client.Pause(t.Context(), w.admin, "a test"))
	agreed, other := w.deposit(2, "durov 50"), w.deposit(3, "durov 50")
	w.eventually("they wait in line", func() bool { return w.inLine(agreed) && w.inLine(other) })
	w.stopWorker()
	w.paymentActivities.Settings.SecondSource, w.purchases.Settings.SecondSource = true, true
	w.startWorker()
	w.lie(tonsim.Lies{AmountNano: 2_000_000_000})
	w.must(w.client.Resume(t.Context()))
	w.disputed(other, lifecycle.TransactionProcessing)
	w.becomes(agreed, lifecycle.TransactionProcessed)
	w.balances()
}
