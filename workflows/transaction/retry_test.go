package transaction_test

import (
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
)

// retries sets how long the system retries a failed order, and the first delay.
func retries(most, pause time.Duration) func(*setup) {
	return func(s *setup) { s.retryFor, s.retryPause = most, pause }
}

// TestFailureMendsItself lets orders fail for each reason that may pass, and the reason pass: they are bought once
// without a person's help.
func TestFailureMendsItself(t *testing.T) {
	t.Parallel()
	for name, trouble := range night.Cases(t, map[string]struct {
		begin, end func(*rig)
		message    string
	}{
		"the account cannot be gifted": {
			func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"}) },
			func(w *rig) { w.fragment.ClearFaults() },
			"Fragment API error: the account cannot be gifted Stars at this moment",
		},
		"the wallet cannot be asked": {
			func(w *rig) { w.chain.AddFault(sim.Fault{Match: "/walletInformation", Kind: "503"}) },
			func(w *rig) { w.chain.ClearFaults() },
			"Wallet service error: Could not send transaction",
		},
		"the price moves": {
			func(w *rig) { w.sells(func(s *tonsim.FragmentSettings) { s.InitPercent = 130 }) },
			func(w *rig) { w.sells(func(s *tonsim.FragmentSettings) { s.InitPercent = 100 }) },
			"Fragment API error: the price has moved",
		},
		"the link ends too soon": {
			func(w *rig) { w.sells(func(s *tonsim.FragmentSettings) { s.LinkSeconds = 3 }) },
			func(w *rig) { w.sells(func(s *tonsim.FragmentSettings) { s.LinkSeconds = 600 }) },
			"Fragment API error: the payment link has expired",
		},
		"an unknown reason": {
			func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "something"}) },
			func(w *rig) { w.fragment.ClearFaults() },
			"Fragment API error: an unknown reason",
		},
	}, "the account cannot be gifted") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, retries(time.Hour, 2*time.Second))
			trouble.begin(w)
			hash := w.deposit(1, "durov 50")
			wait.Eventually(w, "it fails: "+trouble.message, func() bool { return w.get(hash).ErrorMessage == trouble.message })
			trouble.end(w)

			w.becomes(hash, lifecycle.TransactionProcessed)
			if events := w.events(hash); !strings.Contains(events, "failed retried") {
				t.Errorf("events: %s", events)
			}

			w.wantSold(1)
			w.balances()
		})
	}
}

// sells changes how Fragment sells.
func (w *rig) sells(change func(*tonsim.FragmentSettings)) {
	w.Helper()
	settings := w.fragment.CurrentSettings()
	change(&settings)
	w.must(w.fragment.Set(settings))
}

// TestGivenUp lets failures persist: passing ones are retried until the time is over, unexplained ones three times, and
// ones that a retry would only repeat not at all. Then an operator is notified, once.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	for name, c := range night.Cases(t, map[string]struct {
		most    time.Duration
		trouble func(*rig)
		least   int // minimum retries, and maximum
		greater int
	}{
		"the time is over": {
			10 * time.Second,
			func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"}) }, 1, 100,
		},
		"nobody can explain it": {
			time.Hour, func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "something"}) }, 2, 2,
		},
		"no time is set": {
			0, func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"}) }, 0, 0,
		},
		"fragment fails for this order alone": {
			3 * time.Second, func(w *rig) { w.fragment.AddFault(sim.Fault{Match: "initBuyStarsRequest", Kind: "503"}) }, 1, 100,
		},
	}, "nobody can explain it") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t, retries(c.most, 100*time.Millisecond))
			c.trouble(w)
			hash := w.deposit(1, "durov 50")
			wait.Eventually(w, "it is given up", func() bool { return w.get(hash).GivenUpAt != nil })
			w.wantAlert(notice.AlertTransactionGivenUp, true)
			events := w.events(hash)
			if n := strings.Count(events, "retried"); n < c.least || n > c.greater || strings.Count(events, "given_up") != 1 {
				t.Errorf("events: %s", events)
			}

			w.fragment.ClearFaults()
			_, err := w.client.Retry(t.Context(), w.admin, hash, "it works again", "")
			w.must(err)
			w.becomes(hash, lifecycle.TransactionProcessed)
			w.wantSold(1)
			w.balances()
		})
	}
}

// TestNightCancelledIsNotRetried cancels the workflow of an order due for retry: it is not retried, and no operator is
// notified.
func TestNightCancelledIsNotRetried(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, retries(24*time.Hour, time.Hour))
	w.fragment.AddFault(sim.Fault{Match: "searchStarsRecipient", Kind: "not_giftable"})
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is to be tried again", func() bool { return w.get(hash).RetryAt != nil })
	w.must(w.server.Client.CancelWorkflow(t.Context(), lifecycle.TransactionID(hash), ""))
	_ = w.over(hash)
	if got := w.get(hash); got.State != lifecycle.TransactionFailed || got.RetryAt != nil || got.GivenUpAt != nil {
		t.Errorf("%+v", got)
	}

	w.wantAlert(notice.AlertTransactionGivenUp, false)
	w.wantSold(0)
}
