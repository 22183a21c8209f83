package transaction_test

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
)

// TestBought processes one transfer: the Stars are bought once, the books agree, and the history has few events.
func TestBought(t *testing.T) {
	t.Parallel()
	const most = 30
	w := newRig(t)
	least := 1000 // a workflow task that a busy machine does twice makes events of its own, so that the shortest counts
	for n := 1; n <= 5 && least > most; n++ {
		hash := w.deposit(1, "@durov")
		got := w.becomes(hash, lifecycle.TransactionProcessed)
		w.must(w.over(hash))
		bought := w.wantSold(n)
		if last := bought[n-1]; last.Hash != got.FragmentTransactionHash || last.Username != "durov" || last.Stars != got.Stars || got.Stars != 106 {
			t.Errorf("%+v, bought %+v", got, bought)
		}

		w.balances()
		history := w.history(hash)
		least = min(least, len(history))
		t.Logf("%d events: %s", len(history), w.events(hash))
		for _, event := range history {
			scheduled := event.GetActivityTaskScheduledEventAttributes()
			if scheduled.GetTaskQueue().GetName() == lifecycle.PaymentQueue && scheduled.GetPriority().GetFairnessKey() == "" {
				t.Error("senders do not take turns")
			}
		}
	}
	if least > most {
		t.Errorf("%d events", least)
	}
}

// TestNightManyOrders buys differently worded orders from several senders at once: each once, the wallet's payments one
// after the other.
func TestNightManyOrders(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	want := map[string]int64{}
	var wait sync.WaitGroup

	for i, comment := range []string{"anna 50", "@boris 100", "clara", "dora 10000", "  @emil   51 ", "fritz", "anna 50"} {
		wait.Go(func() {
			amount := int64(2e9)
			if i == 3 {
				amount = 95e9 // the comment for this many Stars needs two cells
			}
			hash := w.depositAs(tonsim.Deposit{From: fmt.Sprint("sender", i%3), AmountNano: amount, Comment: comment})
			w.mu.Lock()
			defer w.mu.Unlock()
			want[hash] = []int64{50, 100, 214, 10000, 51, 214, 50}[i]
		})
	}

	wait.Wait()
	for hash, stars := range want {
		if got := w.becomes(hash, lifecycle.TransactionProcessed); got.Stars != stars {
			t.Errorf("%q bought %d, want %d", got.Comment, got.Stars, stars)
		}
		if got := w.states(hash); got != "purchase paid" {
			t.Error(got)
		}
	}

	w.wantSold(len(want))
	w.balances()
}

// TestRefused has a case for each order that can never be executed: nothing is signed, the error is spelled as agreed,
// the workflow has ended and a retry is refused.
func TestRefused(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.must(w.fragment.SetUser("nobody", "unknown"))
	w.must(w.fragment.SetUser("a_channel", "channel"))
	w.must(w.fragment.SetUser("a_bot", "bot"))
	hashes := map[string]string{}

	for _, c := range []struct {
		tons          float64
		comment, want string
	}{
		{1, "", "Invalid comment format"},
		{1, "give me my Stars", "Invalid comment format"},
		{1, "durov fifty", "Invalid comment format"},
		{1, "abc", "Invalid username format"},
		{1, "@1durov 50", "Invalid username format"},
		{1, "nobody", "Username not found"},
		{1, "a_channel 50", "Invalid username"},
		{1, "@a_bot", "Invalid username"},
		{0.3, "durov", "Stars amount should be at least 50"},
		{1, "durov 49", "Stars amount should be at least 50"},
		{1, "durov 1000001", "Stars amount exceeds maximum limit"},
		{0.47, "durov 50", "Insufficient amount"}, // covers the price, but not the gas
		{1, "durov 1000", "Insufficient amount"},
	} {
		hashes[w.deposit(c.tons, c.comment)] = c.want
	}

	binary := w.depositAs(tonsim.Deposit{From: "x", AmountNano: 1e9, Kind: "binary"})
	hashes[binary] = "Invalid comment format"
	for hash, message := range hashes {
		w.fails(hash, message, lifecycle.NonRetryable)
		err := w.over(hash)
		if err == nil {
			t.Errorf("%s: the workflow has not failed", message)
		}
		_, err = w.client.Retry(t.Context(), w.admin, hash, "once more", "")
		w.wantCode(err, "INVALID_TRANSITION")
		if got := w.states(hash); got != "" {
			t.Errorf("%s: %s", message, got)
		}
	}

	w.wantSold(0)
	w.balances()
}

// TestNoOrders sends transfers that resemble deposits but are none.
func TestNoOrders(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.asleep = true })
	old := w.deposit(1, "who_paid_before_the_start")
	owner := "0:" + strings.Repeat("12", 32)
	address, _, err := ton.ParseAddress(owner)
	w.must(err)
	w.monitor.TopUpFrom = append(w.monitor.TopUpFrom, address)
	w.start()

	for _, d := range []tonsim.Deposit{
		{From: owner, AmountNano: 5e9, Comment: "durov"},
		{From: "a", AmountNano: 49_999_999, Comment: "durov"}, // spam
		{From: "b", AmountNano: 1e9, Kind: "jetton", Comment: "durov"},
		{From: "c", AmountNano: 1e9, Kind: "bounced", Comment: "durov"},
		{From: "d", AmountNano: 1e9, Kind: "opcode"},
	} {
		w.depositAs(d)
	}

	last := w.deposit(1, "durov")
	w.becomes(last, lifecycle.TransactionProcessed)
	all, err := w.store.Transactions.List(t.Context(), transaction.Filter{Limit: 100})
	w.must(err)
	if len(all) != 1 || w.get(old).Hash != "" {
		t.Errorf("%+v", all)
	}

	w.balances()
}

// TestTooManyStars respects the setting if no number was requested.
func TestTooManyStars(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.MaxStars = 100 })
	w.fails(w.deposit(1, "durov"), "Stars amount exceeds maximum limit", lifecycle.NonRetryable)
	w.becomes(w.deposit(1, "durov 100"), lifecycle.TransactionProcessed)
}

// TestTroubleBeforePaying has a case for each failure that may pass: it is retried, then it waits for an operator, and
// after a retry the Stars are bought.
func TestTroubleBeforePaying(t *testing.T) {
	t.Parallel()
	for name, c := range night.Cases(t, map[string]struct {
		match, kind, message string
		class                lifecycle.ErrorClass
		held                 bool
	}{
		"503 at the price":       {"updateStarsPrices", "503", "", "", true},
		"503 at the request":     {"initBuyStarsRequest", "503", "Service unavailable: Fragment API returned 503", lifecycle.Retryable, false},
		"429 at the link":        {"getBuyStarsLink", "429", "Service unavailable: Fragment API returned 429", lifecycle.Retryable, false},
		"cut at the search":      {"searchStarsRecipient", "cut", "Failed to fetch: Network error", lifecycle.Retryable, false},
		"lost answer at request": {"initBuyStarsRequest", "lost_answer", "Failed to fetch: Network error", lifecycle.Retryable, false},
		"cannot be gifted":       {"initBuyStarsRequest", "not_giftable", "Fragment API error: the account cannot be gifted Stars at this moment", lifecycle.Retryable, false},
		"something else":         {"initBuyStarsRequest", "something", "Fragment API error: an unknown reason", lifecycle.UnknownError, false},
	}, "lost answer at request", "something else") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.becomes(w.deposit(1, "durov"), lifecycle.TransactionProcessed)
			w.fragment.AddFault(sim.Fault{Match: c.match, Kind: c.kind})
			hash := w.deposit(0.9, "boris") // never queried, neither name nor price
			if c.held {
				w.wantHeld(hash)
				w.fragment.ClearFaults()
				w.becomes(hash, lifecycle.TransactionProcessed)
				w.wantSold(2)
				return
			}
			w.fails(hash, c.message, c.class)
			if got := w.states(hash); got != "" {
				t.Error(got)
			}

			w.fragment.ClearFaults()
			again, err := w.client.Retry(t.Context(), w.admin, hash, "they are back", "")
			w.must(err)
			if again.State == lifecycle.TransactionFailed || again.Attempt != 2 {
				t.Errorf("%+v", again)
			}

			w.becomes(hash, lifecycle.TransactionProcessed)
			w.wantSold(2)
			w.balances()
		})
	}
}

// TestNightPriceMoves raises the price while orders wait: one without a number gets fewer Stars, one with a number is
// refused if its money no longer suffices, and otherwise pays the new price.
func TestNightPriceMoves(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	w.must(w.client.Pause(t.Context(), w.admin, "a test"))
	open, exact, rich := w.deposit(1, "anna"), w.deposit(0.5, "boris 50"), w.deposit(5, "clara 50")
	for _, hash := range []string{open, exact, rich} {
		wait.Eventually(w, "it is in line", func() bool { return w.inLine(hash) })
	}

	settings := w.fragment.CurrentSettings()
	settings.NanoPerStar *= 2
	w.must(w.fragment.Set(settings))
	w.must(w.client.Resume(t.Context()))
	if got := w.becomes(open, lifecycle.TransactionProcessed); got.Stars != 53 {
		t.Errorf("%d Stars", got.Stars)
	}

	w.fails(exact, "Insufficient amount", lifecycle.NonRetryable)
	if got := w.becomes(rich, lifecycle.TransactionProcessed); got.Stars != 50 {
		t.Errorf("%d Stars", got.Stars)
	}

	w.wantSold(2)
	w.balances()
}

// TestNightDearerThanShown does not pay a request that costs more than its displayed price.
func TestNightDearerThanShown(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Settings.InitPercent = 102; s.settings.Slippage = 150 })
	hash := w.deposit(1, "durov 50")
	w.fails(hash, "Fragment API error: the price has moved", lifecycle.Retryable)
	settings := w.fragment.CurrentSettings()
	settings.InitPercent = 101 // within the slippage
	w.must(w.fragment.Set(settings))
	_, err := w.client.Retry(t.Context(), w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantSold(1)
	w.balances()
}

// TestCheaperThanShown does not pay a request that costs less than the price from which the Stars were computed: the
// customer would get too few.
func TestCheaperThanShown(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Settings.InitPercent = 50 })
	hash := w.deposit(1, "durov")
	w.fails(hash, "Fragment API error: the price has moved", lifecycle.Retryable)
	w.wantSold(0)
}

// TestNightSlippageOfATightOrder pays no more for an order than its transfer is worth.
func TestNightSlippageOfATightOrder(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Settings.InitPercent = 101; s.settings.Slippage = 150 })
	price := 50 * w.fragment.CurrentSettings().NanoPerStar
	tight := w.depositAs(tonsim.Deposit{From: "somebody", AmountNano: price + w.settings.Reserve, Comment: "durov 50"})
	rich := w.depositAs(tonsim.Deposit{From: "somebody", AmountNano: price*102/100 + w.settings.Reserve, Comment: "anna 50"})
	w.fails(tight, "Fragment API error: the price has moved", lifecycle.Retryable)
	w.becomes(rich, lifecycle.TransactionProcessed)
	w.wantSold(1)
	w.balances()
}

// TestNonsensePrice buys nothing at a price far from what was last paid: it would yield too few Stars, or
// refuse a customer who has paid enough.
func TestNonsensePrice(t *testing.T) {
	t.Parallel()
	for name, misread := range map[string]func(int64) int64{
		"too high": func(nano int64) int64 { return 3 * nano }, "too low": func(nano int64) int64 { return nano / 3 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newRig(t)
			w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)
			w.sells(func(s *tonsim.FragmentSettings) { s.NanoPerStar = misread(s.NanoPerStar) })
			w.fails(w.deposit(1, "anna 60"), "Fragment API error: the answer makes no sense", lifecycle.UnknownError)
			w.wantSold(1)
		})
	}
}

// TestSuspiciousLinks does not pay what differs from the request.
func TestSuspiciousLinks(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Settings.LinkPercent = 101 })
	hash := w.deposit(1, "durov 50")
	w.fails(hash, "Fragment API error: the payment link failed a check", lifecycle.UnknownError)
	w.wantAlert(notice.AlertPaymentRefused, true)
	settings := w.fragment.CurrentSettings()
	settings.LinkPercent = 100
	w.must(w.fragment.Set(settings))
	_, err := w.client.Retry(t.Context(), w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantAlert(notice.AlertPaymentRefused, false)
	w.wantSold(1)
}

// TestNightExpiredLink requests a new link if one has no time left, and gives up for now after some.
func TestNightExpiredLink(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.fragment.Settings.LinkSeconds = 1 })
	hash := w.deposit(1, "durov 50")
	w.fails(hash, "Fragment API error: the payment link has expired", lifecycle.Retryable)
	settings := w.fragment.CurrentSettings()
	settings.LinkSeconds = 600
	w.must(w.fragment.Set(settings))
	_, err := w.client.Retry(t.Context(), w.admin, hash, "", "")
	w.must(err)
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.wantSold(1)
}

// TestNightShortLink pays only while the money can still reach the shop before the link ends, not just leave the
// wallet.
func TestNightShortLink(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const life, way = 40 * time.Second, 10 * time.Second
	w := newRig(t, func(s *setup) {
		s.settings.PaymentTTL = time.Minute
		s.fragment.Settings.LinkSeconds = int64(life.Seconds())
	})

	hash := w.deposit(1, "durov 50")
	w.becomes(hash, lifecycle.TransactionProcessed)
	if latest, until := time.Now().Add(life-way), w.payments(hash)[0].ValidUntil; until.After(latest) {
		t.Errorf("it could have left the wallet until %s, want %s at the latest", until, latest)
	}

	settings := w.fragment.CurrentSettings()
	settings.LinkSeconds = 20
	w.must(w.fragment.Set(settings))
	w.fails(w.deposit(1, "durov 50"), "Fragment API error: the payment link has expired", lifecycle.Retryable)
	w.wantSold(1)
}

// TestLimits fails a purchase above the limit for one. One that exceeds the rest of the daily limit waits, smaller ones
// pass it, and it is executed once there is room.
func TestLimits(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) {
		s.settings.Limits = transaction.Limits{PerPurchase: 1_000_000_000, PerDay: 1_500_000_000}
	})

	w.fails(w.deposit(3, "durov 200"), "Purchase exceeds the limit of one payment", lifecycle.UnknownError)
	w.becomes(w.deposit(2, "durov 100"), lifecycle.TransactionProcessed)

	waits := w.depositAs(tonsim.Deposit{From: "big", AmountNano: 2_000_000_000, Comment: "durov 100"})
	w.wantAlert(notice.AlertDailyLimit, true)
	w.becomes(
		w.depositAs(tonsim.Deposit{From: "small", AmountNano: 1_000_000_000, Comment: "durov 50"}),
		lifecycle.TransactionProcessed,
	)
	if got := w.get(waits); got.State != lifecycle.TransactionPending || got.Attempt != 0 || !w.inLine(waits) || w.states(waits) != "" {
		t.Errorf("%+v, %s", got, w.states(waits))
	}

	w.wantAlert(notice.AlertDailyLimit, true)

	w.paymentActivities.Settings.Limits.PerDay = 0 // the operator raises it
	w.must(w.client.RetryDeferred(t.Context()))
	w.becomes(waits, lifecycle.TransactionProcessed)
	w.wantAlert(notice.AlertDailyLimit, false)
	if got := w.get(waits); got.Attempt != 1 {
		t.Errorf("attempt %d", got.Attempt)
	}

	w.wantSold(3)
	w.balances()
}

// TestRefundAboveLimit waits for an operator, and is paid once one approves it.
func TestRefundAboveLimit(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) {
		s.settings.Refund, s.settings.Limits = true, transaction.Limits{PerRefund: 1_000_000_000}
	})

	hash := w.deposit(2, "no comment that we know")
	wait.Eventually(w, "it waits for a person", func() bool {
		got := w.get(hash)
		return got.NeedsReview && got.ReviewReason == transaction.ReviewRefundLimit && got.RefundDueNano == 2_000_000_000
	})
	w.wantAlert(notice.AlertTransactionReview, true)
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed) // others do not wait for that
	if got := w.states(hash); got != "" {
		t.Errorf("signed without a person: %s", got)
	}

	_, err := w.client.Resolve(t.Context(), w.admin, hash, lifecycle.TransactionFailed, "", "allowed", "")
	w.must(err)
	wait.Eventually(w, "the money goes back", func() bool { return w.states(hash) == "refund paid" })
	w.balances()
}

// TestDustIsKept books a debt not worth its gas, once and for good, instead of retrying forever.
func TestDustIsKept(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) {
		s.settings.Refund, s.settings.MinDeposit, s.settings.RefundLeast = true, 1, 5_000_000
	})

	for _, nano := range []int64{10_000_000, 24_999_999} { // the reserve is 20,000,000
		hash := w.depositAs(tonsim.Deposit{From: "somebody", AmountNano: nano, Comment: "no comment that we know"})
		wait.Eventually(w, "it is booked", func() bool { return w.get(hash).DustNano == nano })
		_ = w.over(hash)
		if got := w.get(hash); got.RefundDueNano != 0 || w.states(hash) != "" || !strings.HasSuffix(w.events(hash), lifecycle.TransactionDust) {
			t.Errorf("%+v, %s, %s", got, w.states(hash), w.events(hash))
		}
	}

	hash := w.depositAs(tonsim.Deposit{From: "somebody", AmountNano: 25_000_000, Comment: "no comment that we know"})
	wait.Eventually(w, "the money goes back", func() bool { return w.states(hash) == "refund paid" })
	w.balances()
}

// TestNightBurst detects every one of many transfers that arrive at once: more than fit on a page, and far more than
// the last 20 that the previous system polled once a minute.
func TestNightBurst(t *testing.T) {
	t.Parallel()
	night.Only(t)
	w := newRig(t, func(s *setup) { s.asleep = true; s.settings.WholeHistory = true })
	const burst = 250
	for i := range burst {
		w.depositAs(tonsim.Deposit{From: fmt.Sprint("sender", i), AmountNano: 1e9, Comment: "abc"})
	}

	w.start()
	wait.Eventually(w, "all have failed", func() bool {
		testdb.Recount(t, w.store)
		stats, err := w.store.Transactions.Stats(t.Context(), 1)
		w.must(err)
		return len(stats.Statuses) == 1 && stats.Statuses[0].Status == lifecycle.TransactionFailed && stats.Statuses[0].Count == burst
	})

	rules, err := w.store.Transactions.LedgerCheck(t.Context(), w.wallet.Address().Raw())
	if err != nil || len(rules) > 0 {
		t.Errorf("%+v, %v", rules, err)
	}
}

// TestPaymentsHaveAQueue schedules everything that needs the wallet's key or the shop's session where only their holder
// takes it, and what only follows a payment separately.
func TestPaymentsHaveAQueue(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) {
		s.settings.TurnPatience, s.settings.ConfirmPatience = 100*time.Millisecond, time.Hour
		s.fragment.Settings.DoneAfterMS = time.Hour.Milliseconds()
	})
	hash := w.deposit(1, "durov 50")
	wait.Eventually(w, "it is paid", func() bool { return w.states(hash) == "purchase paid" })
	queues := map[string]string{}
	wait.Eventually(w, "the Stars are waited for beside the turn", func() bool {
		for _, event := range w.history(hash) {
			if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
				queues[scheduled.GetActivityType().GetName()] = scheduled.GetTaskQueue().GetName()
			}
		}
		return queues["Confirm"] != ""
	})
	w.sells(func(s *tonsim.FragmentSettings) { s.DoneAfterMS = 0 })
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.must(w.over(hash))

	for activity, want := range map[string]string{
		"Pay": lifecycle.PaymentQueue, "Confirm": lifecycle.WalletQueue,
	} {
		if queues[activity] != want {
			t.Errorf("%s waits on %q, want %q", activity, queues[activity], want)
		}
	}
}

// TestNightNewWallet buys from a wallet without a contract: deposits stay nevertheless, and the first payment deploys
// it.
func TestNightNewWallet(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.chain.Undeployed, s.chain.Balance = true, -1 })
	w.becomes(w.deposit(1, "durov"), lifecycle.TransactionProcessed)
	w.becomes(w.deposit(1, "durov 50"), lifecycle.TransactionProcessed)
	w.wantSold(2)
	w.balances()
}

// TestGap stops following a chain that does not continue where the record ends, and reports it.
func TestGap(t *testing.T) {
	t.Parallel()
	w := newRig(t, func(s *setup) { s.asleep = true })
	w.deposit(1, "durov")
	state, err := w.toncenter.Wallet(t.Context(), w.wallet.Address())
	w.must(err)
	_, err = w.store.Transactions.OpenWallet(
		t.Context(), w.wallet.Address().Raw(), transaction.WalletStart{LT: int64(state.LastLT), Hash: strings.Repeat("00", 32)},
	)

	w.must(err)
	w.start()
	hash := w.deposit(1, "durov")
	w.wantAlert(notice.AlertChain, true)
	if got := w.get(hash); got.Hash != "" {
		t.Errorf("%+v", got)
	}
}

// TestNightChainClockAhead never stores a time that is far ahead: a live payment would count as dead.
func TestNightChainClockAhead(t *testing.T) {
	night.Only(t)
	t.Parallel()
	var off atomic.Int64
	w := newRig(
		t, func(s *setup) { s.chain.Clock = func() time.Time { return time.Now().Add(time.Duration(off.Load())) } },
	)

	w.becomes(w.deposit(1, "durov"), lifecycle.TransactionProcessed)

	off.Store(int64(time.Hour))
	w.wantAlert(notice.AlertChainClock, true)
	wallet, err := w.store.Transactions.WalletByAddress(t.Context(), w.wallet.Address().Raw())
	w.must(err)
	if wallet.ScannedTo == nil || wallet.ScannedTo.After(time.Now()) {
		t.Errorf("scanned to %v", wallet.ScannedTo)
	}

	off.Store(0)
	w.becomes(w.deposit(1, "durov"), lifecycle.TransactionProcessed)
	w.wantAlert(notice.AlertChainClock, false)
	w.wantSold(2)
	w.balances()
}

// TestNightChainClockBehind accepts orders, and holds purchases without counting attempts until the time is right
// again.
func TestNightChainClockBehind(t *testing.T) {
	night.Only(t)
	t.Parallel()
	var off atomic.Int64
	off.Store(int64(-time.Hour))
	w := newRig(
		t, func(s *setup) { s.chain.Clock = func() time.Time { return time.Now().Add(time.Duration(off.Load())) } },
	)

	hash := w.deposit(1, "durov")
	w.wantHeld(hash)
	w.wantAlert(notice.AlertChainClock, true)

	off.Store(0)
	if got := w.becomes(hash, lifecycle.TransactionProcessed); got.Attempt != 1 {
		t.Errorf("%+v", got)
	}

	w.wantAlert(notice.AlertChainClock, false)
	w.wantSold(1)
	w.balances()
}

// TestNightChainUnavailable continues where it was when toncenter comes back.
func TestNightChainUnavailable(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t)
	w.chain.AddFault(sim.Fault{Kind: "503"})
	hash := w.deposit(1, "durov")
	time.Sleep(time.Second)
	if got := w.get(hash); got.Hash != "" {
		t.Errorf("%+v", got)
	}

	w.chain.ClearFaults()
	w.becomes(hash, lifecycle.TransactionProcessed)
	w.balances()
}

// inLine reports whether a transaction waits for the wallet, or holds it.
func (w *rig) inLine(hash string) bool {
	w.Helper()
	queue, err := w.client.Queue(w.Context(), 100)
	w.must(err)
	for _, entry := range queue.Line {
		if entry.TransactionHash == hash {
			return true
		}
	}
	return false
}

func (w *rig) held() bool {
	w.Helper()
	switches, err := w.client.Switches(w.Context())
	w.must(err)
	return switches.Hold.On() && !switches.Pause.On()
}

// wantHeld requires that purchases are held and a transaction waits, without a failure.
func (w *rig) wantHeld(hash string) {
	w.Helper()
	wait.Eventually(w, "purchases are held", w.held)
	time.Sleep(500 * time.Millisecond)
	if got := w.get(hash); got.Snapshot().Ended() || got.Attempt > 1 || !w.inLine(hash) || w.states(hash) != "" {
		w.Errorf("%+v, %s", got, w.states(hash))
	}
}

// wantAlert requires an alert to be open, or not, now or soon.
func (w *rig) wantAlert(kind string, open bool) {
	w.Helper()
	wait.Eventually(w, fmt.Sprintf("alert %s is open: %t", kind, open), func() bool {
		alerts, err := w.store.Notices.Incidents(w.Context(), true, 0, 100)
		w.must(err)
		for _, alert := range alerts {
			if alert.Kind == kind {
				return open
			}
		}
		return !open
	})
}

// TestNightSlowMonitor follows the chain with a poll interval that is half of the monitor's hour: it reads at its start
// and then waits.
func TestNightSlowMonitor(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRig(t, func(s *setup) { s.settings.PollInterval, s.asleep = 30*time.Minute, true })
	w.startWorker()
	monitor := lifecycle.TonMonitorID(w.wallet.Address().Raw())
	w.must(w.client.StartMonitor(t.Context(), w.wallet.Address().Raw()))
	first := w.server.History(t, monitor, "")[0].GetWorkflowExecutionStartedEventAttributes().OriginalExecutionRunId

	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
		if run := w.server.History(t, monitor, "")[0].GetWorkflowExecutionStartedEventAttributes().OriginalExecutionRunId; run != first {
			t.Fatal("the monitor continued as new at once")
		}
	}

	wait.Eventually(w, "the wallet is watched", func() bool {
		_, err := w.store.Transactions.WalletByAddress(t.Context(), w.wallet.Address().Raw())
		return err == nil
	})
}
