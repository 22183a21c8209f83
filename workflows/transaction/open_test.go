package transaction_test

import (
	"strings"
	"testing"

	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// TestUnderpaidIsRefunded makes a failed order of each transfer from the dust limit on that does not buy the fewest
// Stars, whatever earlier orders cost, and of one with an encrypted comment. Their senders get the money back.
func TestUnderpaidIsRefunded(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.Refund, s.settings.RefundLeast = true, 10_000_000 })
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed) // the price is known
	for hash, message := range map[string]string{
		w.depositAs(tonsim.Deposit{From: "a", AmountNano: 50_000_000, Comment: "durov"}):                    "Stars amount should be at least 50",
		w.depositAs(tonsim.Deposit{From: "b", AmountNano: 300_000_000, Comment: "durov"}):                   "Stars amount should be at least 50",
		w.depositAs(tonsim.Deposit{From: "c", AmountNano: 1e9, Comment: "durov 50", Kind: "encrypted"}):     "Invalid comment format",
		w.depositAs(tonsim.Deposit{From: "d", AmountNano: 50_000_000, Comment: "durov", Kind: "encrypted"}): "Invalid comment format",
	} {
		w.fails(hash, message, lifecycle.NonRetryable)
		wait.Eventually(w, "it is refunded", func() bool { return w.states(hash) == "refund paid" })
	}

	w.deposit(0.049_999_999, "durov")
	last := w.deposit(1, "durov")
	w.becomes(last, lifecycle.TransactionProcessed)
	all, err := w.store.Transactions.List(t.Context(), transaction.Filter{Limit: 100})
	w.must(err)
	if len(all) != 6 {
		t.Errorf("%d orders", len(all))
	}
	w.wantSold(2)
	w.balances()
}

// TestOpenedWhilePaymentsAreStopped decides what does not need the wallet while another order holds it and cannot pay:
// during a pause, and during a hold. The lock and its consequences are one change, and people see what the comment
// requests.
func TestOpenedWhilePaymentsAreStopped(t *testing.T) {
	t.Parallel()
	for name, stop := range map[string]func(*rig){
		"pause": func(w *rig) { w.must(w.client.Pause(w.Context(), w.admin, "a test")) },
		"hold":  func(w *rig) { w.setSession("Session expired") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, large)
			stop(w)
			first := w.deposit(1, "anna 50")
			wait.Eventually(w, "it has its turn", func() bool { return w.inLine(first) })

			encrypted := w.depositAs(tonsim.Deposit{From: "x", AmountNano: 1e9, Comment: "durov 50", Kind: "encrypted"})
			w.failedWhenOpened(encrypted, "Invalid comment format", "", 0)
			w.failedWhenOpened(w.deposit(1, "no order at all"), "Invalid comment format", "", 0)
			w.failedWhenOpened(w.deposit(3, "no order, and large"), "Invalid comment format", "", 0)
			w.failedWhenOpened(w.deposit(1, "abc 50"), "Invalid username format", "", 0)
			w.failedWhenOpened(w.deposit(1, "durov 49"), "Stars amount should be at least 50", "durov", 49)
			w.failedWhenOpened(w.deposit(1, "https://t.me/durov 1000001"), "Stars amount exceeds maximum limit", "durov", 1_000_001)

			reviewed := w.deposit(2, "\u200e@durov ５０")
			w.wantHeldForDeposit(reviewed, lifecycle.TransactionProcessing)
			w.wantAtOnce(reviewed, "detected locked needs_review")
			w.wantAlert(notice.AlertTransactionReview, true)
			if got := w.get(reviewed); got.Username != "durov" || got.Stars != 50 {
				t.Errorf("%q, %d Stars", got.Username, got.Stars)
			}

			if !w.inLine(first) || w.states(first) != "" {
				t.Errorf("the first order is no longer in line: %s", w.events(first))
			}
			w.setSession("")
			w.must(w.client.Resume(t.Context()))
			w.becomes(first, lifecycle.TransactionProcessed)
			w.resolved(reviewed, lifecycle.TransactionProcessing, "three explorers show it")
			w.becomes(reviewed, lifecycle.TransactionProcessed)
			w.wantSold(2)
			w.balances()
		})
	}
}

// failedWhenOpened waits until an order has failed, and requires that to have happened as it was opened.
func (w *rig) failedWhenOpened(hash, message, username string, number int64) {
	w.Helper()
	got := w.fails(hash, message, lifecycle.NonRetryable)
	if got.Username != username || got.Stars != number {
		w.Errorf("%q is for %q, %d Stars; want %q, %d", got.Comment, got.Username, got.Stars, username, number)
	}
	w.wantAtOnce(hash, "detected locked failed")
}

// wantAtOnce requires exactly these events, all but the first in one change.
func (w *rig) wantAtOnce(hash, want string) {
	w.Helper()
	events, err := w.store.Transactions.EventsOf(w.Context(), hash)
	w.must(err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
		if event.Seq > 1 && event.XID != events[1].XID {
			w.Errorf("%s is another change than %s", event.Type, events[1].Type)
		}
	}
	if got := strings.Join(types, " "); got != want {
		w.Errorf("events %q, want %q", got, want)
	}
}

// TestCancelledBeforeItIsOpened cancels an order whose workflow no worker has begun.
func TestCancelledBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.worker.Stop()
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is started", func() bool { return w.get(hash).WorkflowStartedAt != nil })
	w.must(w.server.Client.CancelWorkflow(t.Context(), lifecycle.TransactionID(hash), ""))
	w.startMain()
	w.fails(hash, "Cancelled by operator", lifecycle.UnknownError)
	w.wantAtOnce(hash, "detected locked failed")
	_ = w.over(hash)
	w.wantSold(0)
	w.balances()
}

// setSession sets what Fragment reports about the session; empty: it is valid.
func (w *rig) setSession(says string) {
	w.Helper()
	settings := w.fragment.CurrentSettings()
	settings.SessionFailed = says
	w.must(w.fragment.Set(settings))
}
