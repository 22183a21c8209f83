package transaction_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
)

// TestBroadcastTrouble has a case for each inconclusive answer to a broadcast: the same bytes are sent again, one
// purchase is made, nothing is signed twice.
func TestBroadcastTrouble(t *testing.T) {
	t.Parallel()
	for name, f := range night.Cases(t, map[string]sim.Fault{
		"lost answer":                       {Kind: "lost_answer", Times: 1},
		"500 with exit code 133":            {Kind: "exit_133", Times: 1},
		"500 with exit code 133, but taken": {Kind: "exit_133", Times: 1, Applied: true},
		"500 with exit code 136":            {Kind: "exit_136", Times: 1},
		"duplicate message, but taken":      {Kind: "duplicate", Times: 1, Applied: true},
		"time-out":                          {Kind: "timeout", Times: 1},
		"time-out, but taken":               {Kind: "timeout", Times: 1, Applied: true},
		"503":                               {Kind: "503", Times: 2},
		"429":                               {Kind: "429", Times: 2},
		"cut":                               {Kind: "cut", Times: 1},
	}, "lost answer", "time-out, but taken") {
		f.Match = "/api/v3/message"
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, func(s *setup) {
				if f.Kind == "timeout" {
					s.chainTimeout = 2 * time.Second
				}
			})
			w.chain.AddFault(f)
			hash := w.deposit(1, "durov 50")
			w.becomes(hash, lifecycle.TransactionProcessed)
			if got := w.states(hash); got != "purchase paid" {
				t.Error(got)
			}

			w.wantSold(1)
			w.balances()
		})
	}
}

// TestForgottenMessage lets the network accept a payment and lose it, more often than it is broadcast again: it is
// proven dead, and only then is another one signed.
func TestForgottenMessage(t *testing.T) {
	t.Parallel()
	w := newRig(t, retries(time.Hour, 100*time.Millisecond))
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(1000)}))
	hash := w.deposit(1, "durov 50")
	w.signed(hash)
	w.expire()
	wait.Eventually(w, "the first one is dead", func() bool { return strings.HasPrefix(w.states(hash), "purchase dead") })
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(0)}))
	got := w.becomes(hash, lifecycle.TransactionProcessed)
	if states := w.states(hash); states != "purchase dead, purchase paid" || got.Attempt != 2 {
		t.Errorf("%s, attempt %d", states, got.Attempt)
	}

	w.wantSold(1)
	w.balances()
}

// TestNothingGoesThrough gives up when the delays add up to the setting, each payment proven dead. A retry signs anew.
func TestNothingGoesThrough(t *testing.T) {
	t.Parallel()
	w := newRig(t, retries(100*time.Millisecond, 100*time.Millisecond), func(s *setup) { s.settings.PaymentTTL = 30 * time.Second })
	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(100000)}))
	hash := w.deposit(1, "durov 50")
	w.signed(hash)
	w.expire()
	wait.Eventually(w, "another one is signed", func() bool { return w.states(hash) == "purchase dead, purchase signed" })
	w.expire()
	wait.Eventually(w, "it is given up", func() bool { return w.get(hash).GivenUpAt != nil })
	w.fails(hash, "Wallet service error: Could not send transaction", lifecycle.Retryable)
	if got := w.states(hash); got != "purchase dead, purchase dead" {
		t.Error(got)
	}

	w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(0)}))
	_, err := w.client.Retry(t.Context(), w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantSold(1)
	w.balances()
}

// TestNightSkippedAction removes the money between signature and payment: the wallet runs the order, exit code 0, and
// pays nothing.
func TestNightSkippedAction(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, retries(100*time.Millisecond, 100*time.Millisecond))
	w.must(w.chain.Hold())
	hash := w.deposit(1, "durov 50")
	w.signed(hash)
	w.must(w.client.Pause(t.Context(), w.admin, "until the money is back"))
	w.must(w.chain.SetBalance("", 100_000_000))
	w.must(w.chain.Release())
	wait.Eventually(
		w, "the chain ran it, and it paid nothing", func() bool { return strings.HasPrefix(w.states(hash), "purchase dead") },
	)
	if p := w.payments(hash)[0]; p.ChainHash == "" || p.PaidNano != 0 {
		t.Errorf("%+v", p)
	}

	w.must(w.chain.SetBalance("", 10_000_000_000))
	w.must(w.client.Resume(t.Context()))
	w.becomes(hash, lifecycle.TransactionProcessed)
	if got := w.states(hash); got != "purchase dead, purchase paid" {
		t.Error(got)
	}

	w.wantSold(1)
}

// TestNightEmptyWallet does not sign what the wallet cannot afford.
func TestNightEmptyWallet(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	w.must(w.client.Pause(t.Context(), w.admin, "a test"))
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is in line", func() bool { return w.inLine(hash) })
	w.must(w.chain.SetBalance("", 400_000_000))
	w.must(w.client.Resume(t.Context()))
	w.fails(hash, "Wallet service error: Could not send transaction", lifecycle.Retryable)
	w.wantAlert(notice.AlertWalletEmpty, true)
	if got := w.states(hash); got != "" {
		t.Error(got)
	}
}

// TestBounced pays to an address that returns the money: nothing was bought, and the returned money is not a deposit.
func TestBounced(t *testing.T) {
	t.Parallel()
	w := newRig(t, retries(100*time.Millisecond, 100*time.Millisecond))
	nobody := "0:" + strings.Repeat("ab", 32)
	address, _, err := ton.ParseAddress(nobody)
	w.must(err)
	w.paymentActivities.Allow = append(w.paymentActivities.Allow, address)
	settings := w.fragment.CurrentSettings()
	settings.To, settings.Bounceable = nobody, true
	w.must(w.fragment.Set(settings))
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is given up", func() bool { return w.get(hash).GivenUpAt != nil })
	w.fails(hash, "Wallet service error: Could not send transaction", lifecycle.Retryable)
	if got := w.states(hash); got != "purchase bounced, purchase bounced" {
		t.Error(got)
	}

	settings.To, settings.Bounceable = "", false
	w.must(w.fragment.Set(settings))
	_, err = w.client.Retry(t.Context(), w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	all, err := w.store.Transactions.List(t.Context(), transaction.Filter{Limit: 10})
	if err != nil || len(all) != 1 {
		t.Errorf("%+v, %v", all, err)
	}

	w.wantSold(1)
	w.balances()
}

// TestNightBouncedAfterAll lets an operator decide while the chain does not show what became of the money: its return
// is seen later.
func TestNightBouncedAfterAll(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.ConfirmPatience = time.Second })
	w.bounceTo(strings.Repeat("ab", 32))
	w.chain.AddFault(sim.Fault{Match: "ByMessage?direction=in", Kind: "503"})
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it needs review", func() bool { return w.get(hash).NeedsReview })
	_, err := w.client.Resolve(t.Context(), w.admin, hash, lifecycle.TransactionFailed, "", "Fragment has not got it", "")
	w.must(err)
	if got := w.states(hash); got != "purchase paid" {
		t.Error(got)
	}

	w.chain.ClearFaults()
	wait.Eventually(w, "the money is back", func() bool { return w.states(hash) == "purchase bounced" })
	w.wantSold(0)
	w.balances()
}

// TestForeignAddress holds all purchases, and pays nobody, while Fragment requests payment to a disallowed address.
func TestForeignAddress(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	settings := w.fragment.CurrentSettings()
	settings.To = "0:" + strings.Repeat("cd", 32)
	w.must(w.fragment.Set(settings))
	hash := w.deposit(1, "durov 50")
	w.wantHeld(hash)
	w.wantAlert(notice.AlertPaymentRefused, true)
	settings.To = ""
	w.must(w.fragment.Set(settings))
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantAlert(notice.AlertPaymentRefused, false)
	w.wantSold(1)
	w.balances()
}

// TestSessionExpired holds all purchases while the session is expired, uses up no attempt, and resumes automatically
// once it is renewed.
func TestSessionExpired(t *testing.T) {
	t.Parallel()
	for name, says := range night.Cases(t, map[string]string{"expired": "Session expired", "auth": "AUTH_SESSION_EXPIRED", "denied": "Access denied"}, "expired") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			settings := w.fragment.CurrentSettings()
			settings.SessionFailed = says
			w.must(w.fragment.Set(settings))
			first, second := w.deposit(1, "anna 50"), w.deposit(1, "boris 50")
			w.wantHeld(first)
			w.wantHeld(second)
			w.wantAlert(notice.AlertFragmentSession, true)
			settings.SessionFailed = ""
			w.must(w.fragment.Set(settings))

			for _, hash := range []string{first, second} {
				if got := w.becomes(hash, lifecycle.TransactionProcessed); got.Attempt != 1 {
					t.Errorf("attempt %d", got.Attempt)
				}
			}

			w.wantAlert(notice.AlertFragmentSession, false)
			w.wantSold(2)
			w.balances()
		})
	}
}

// TestVerification also holds purchases when Fragment asks for the buyer's identity.
func TestVerification(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	settings := w.fragment.CurrentSettings()
	settings.Verify = true
	w.must(w.fragment.Set(settings))
	hash := w.deposit(1, "anna 50")
	w.wantHeld(hash)
	w.wantAlert(notice.AlertFragmentSession, true)
	settings.Verify = false
	w.must(w.fragment.Set(settings))
	w.becomes(hash, lifecycle.TransactionProcessed)
}

// TestNightSessionOfTheCookies makes sure that the simulator requires them.
func TestNightSessionOfTheCookies(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Token = "another" })
	hash := w.deposit(1, "anna 50")
	w.wantHeld(hash)
	if fragment.Holds(nil) {
		t.Error("no error holds")
	}
}

// TestNightLateStars delays the Stars after the payment: the wallet stays held, and the next purchase is not confused
// with it.
func TestNightLateStars(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) {
		s.settings.TurnPatience = time.Hour
		s.fragment.Settings.DoneAfterMS, s.fragment.Settings.Confirm = time.Hour.Milliseconds(), true
	})
	first, second := w.deposit(1, "anna 50"), w.deposit(1, "boris 50")
	wait.Eventually(w, "one is paid", func() bool { return w.states(first)+w.states(second) == "purchase paid" })
	time.Sleep(500 * time.Millisecond)
	if got := w.states(first) + w.states(second); got != "purchase paid" {
		t.Errorf("before the Stars: %s", got)
	}

	w.sells(func(s *tonsim.FragmentSettings) { s.DoneAfterMS = 0 })
	w.becomes(first, lifecycle.TransactionProcessed)
	w.becomes(second, lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}

// TestNightLaggingChain reads a chain whose newest transactions are not final yet, and one that hides some: nothing is
// missed, and no payment that is merely not visible yet is considered dead.
func TestNightLaggingChain(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.chain.Finality = 1200 * time.Millisecond })
	hash := w.deposit(1, "durov 50")
	w.becomes(hash, lifecycle.TransactionProcessed)

	// The payment is on the chain and hidden while its time passes.
	before := w.broadcasts()
	w.must(w.chain.Hold())
	unseen := w.deposit(1, "anna 50")
	w.signed(unseen)
	wait.Eventually(w, "it is broadcast", func() bool { return w.broadcasts() > before })
	w.must(w.chain.Steer(tonsim.Steering{FinalityMS: ptr(int64(0)), Hide: ptr(1000)}))
	w.must(w.chain.Release())
	w.expire()
	time.Sleep(500 * time.Millisecond)
	if got := w.states(unseen); got != "purchase signed" {
		t.Errorf("a payment that is not to be seen yet: %s", got)
	}

	w.must(w.chain.Steer(tonsim.Steering{Reveal: true}))
	w.becomes(unseen, lifecycle.TransactionProcessed)
	if got := w.states(unseen); got != "purchase paid" {
		t.Error(got)
	}

	w.must(w.chain.Steer(tonsim.Steering{Hide: ptr(1000)}))
	hidden := w.deposit(1, "durov 50")
	time.Sleep(time.Second)
	if w.get(hidden).Hash != "" {
		t.Error("it was to be hidden")
	}

	w.must(w.chain.Steer(tonsim.Steering{Reveal: true}))
	w.becomes(hidden, lifecycle.TransactionProcessed)
	if got := w.states(hidden); got != "purchase paid" {
		t.Error(got)
	}

	w.wantSold(3)
	w.balances()
}

func ptr[T any](v T) *T { return &v }
