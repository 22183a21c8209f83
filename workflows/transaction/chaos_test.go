package transaction_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/night"
	"stagecoach/dev/race"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/testdb"
	"stagecoach/internal/fragment"
	"stagecoach/internal/metrics"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// chaosSequences is how many random histories a test run executes. STAGECOACH_CHAOS sets another number.
const chaosSequences = 50

// manySequences have something of everything in them.
const manySequences = 1000

// chaosSeed draws the same histories every time, so that a failure is caused by the change under test.
// STAGECOACH_CHAOS_SEED selects others; make chaos draws new ones.
const chaosSeed = 1

// chaosLabs is how many histories run at a time for each processor, up to mostChaosLabs. They mostly wait for
// PostgreSQL and each other's answers, but each has its own clock, which does not wait.
const (
	chaosLabs     = 6
	mostChaosLabs = 24
)

// TestChaos executes random histories of deposits, faults of the chain and Fragment, worker deaths and operators'
// interventions. The workflow, the activities, the record and the wallet's contract are real, time is skipped. At the
// end of each, everything has been bought once or not at all, and all books agree.
func TestChaos(t *testing.T) { // not beside other tests: it uses the whole machine
	if testing.Short() {
		t.Skip("needs PostgreSQL")
	}

	count, seed := number(t, "STAGECOACH_CHAOS", chaosSequences), number(t, "STAGECOACH_CHAOS_SEED", chaosSeed)
	var next, lived atomic.Int64
	var labs sync.WaitGroup
	tally, mu := map[string]int{}, &sync.Mutex{}

	for range min(chaosLabs*runtime.GOMAXPROCS(0), mostChaosLabs, count) {
		l := newChaosRig(t)
		l.tally, l.mu = tally, mu
		labs.Go(func() {
			for i := int(next.Add(1)); i <= count && !t.Failed(); i = int(next.Add(1)) {
				p := newPlan(uint64(seed), uint64(i))
				problems := l.live(p)
				lived.Add(1)
				if len(problems) > 0 {
					p, problems = l.shrink(p, problems)
					t.Errorf("sequence %d, STAGECOACH_CHAOS_SEED=%d:\n%s\n%s", i, seed, p, strings.Join(problems, "\n"))
				}
			}
		})
	}

	labs.Wait()
	t.Logf("%d sequences of seed %d: %v", lived.Load(), seed, tally)
	for _, what := range []string{
		"processed", "failed", "purchase paid", "purchase dead", "purchase bounced", "refund paid", "refund dead",
		"stopped workers", "paused activities", "deferred", "dead workers", "lost workflows", "reviews", "retries", "retries by the system", "deposits reviewed", "decided without a turn", "reviews asked", "holds",
	} {
		if tally[what] == 0 && count >= manySequences {
			t.Errorf("so many sequences, and none had: %s", what)
		}
	}
}

// found are the histories that revealed a fault.
var found = map[string]plan{
	// The next order made a request before the payment was seen.
	"an operator pauses the execution that has paid, while Fragment serves the session's last request only": {
		retries: 300 * time.Millisecond, block: time.Second, crowd: true,
		moves: []move{
			{848 * time.Millisecond, "activity is paused at a request", 88, 124},
			{0, "deposit", 639, 919},
			{1287 * time.Millisecond, "shop serves the last request only", 398, 782},
			{3122 * time.Millisecond, "links are short", 787, 49},
			{0, "deposit", 551, 747},
			{0, "deposit", 960, 742},
			{4765 * time.Millisecond, "deposit", 932, 524},
			{410 * time.Millisecond, "deposit", 398, 753},
			{3911 * time.Millisecond, "blocks take long", 358, 427},
		},
	},
}

// TestNightFoundHistories executes them several times, because their threads are not deterministic.
func TestNightFoundHistories(t *testing.T) {
	night.Only(t)
	if race.Enabled {
		t.Skip("takes long with the race detector: make chaos runs it")
	}

	const times = 8
	for name, p := range found {
		var labs sync.WaitGroup
		for range times {
			l := newChaosRig(t)
			l.tally, l.mu = map[string]int{}, &sync.Mutex{}
			labs.Go(func() {
				if problems := l.live(p); len(problems) > 0 {
					t.Errorf("%s:\n%s\n%s", name, p, strings.Join(problems, "\n"))
				}
			})
		}
		labs.Wait()
	}
}

func number(t *testing.T, variable string, otherwise int) int {
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s must be a number above 0", variable)
	}
	return n
}

// chaosRig runs one history after the other, each with its own wallet and chain.
type chaosRig struct {
	*testing.T
	store   *store.Store
	wallets *store.Store // with the rights of the payments process
	admin   account.User
	chain   *toncenter.Client // of the worker
	viewURL string            // for Fragment and the test, which see the same chain
	view    *toncenter.Client
	now     atomic.Pointer[chaos]

	mu    *sync.Mutex
	tally map[string]int // what has happened, in all labs
}

func newChaosRig(t *testing.T) *chaosRig {
	database := testdb.URL(t)
	l := &chaosRig{T: t, store: open(t, database), wallets: open(t, testdb.AsWallet(t, database))}
	var err error
	l.admin, err = l.store.Accounts.CreateUser(
		t.Context(), account.User{Name: "operator", Role: account.RoleAdmin, Status: account.UserActive}, account.NewToken(),
	)
	if err != nil {
		t.Fatal(err)
	}

	serve := func(handler func(*chaos, http.ResponseWriter, *http.Request)) string {
		url, stop, err := sim.Start(
			"127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler(l.now.Load(), w, r) }),
		)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		return url
	}

	now := func() time.Time { return l.now.Load().Now() } // the history's, which runs ahead of the real time
	l.chain = toncenter.New(toncenter.Options{
		URL:               serve(func(c *chaos, w http.ResponseWriter, r *http.Request) { c.mortal(c.chain, w, r) }),
		RequestsPerSecond: 100_000, CallTimeout: 20 * time.Second, Now: now,
	})

	l.viewURL = serve(func(c *chaos, w http.ResponseWriter, r *http.Request) { c.chain.ServeHTTP(w, r) })
	l.view = toncenter.New(toncenter.Options{URL: l.viewURL, RequestsPerSecond: 100_000, Now: now})
	return l
}

// live executes a plan and returns what was wrong with it.
func (l *chaosRig) live(p plan) []string {
	c, err := newChaos(l, p)
	if err != nil {
		return []string{err.Error()}
	}
	defer c.close()

	l.now.Store(c)
	c.run()
	l.mu.Lock()
	defer l.mu.Unlock()

	for what, n := range c.tally {
		l.tally[what] += n
	}
	return c.problems
}

// shrink leaves out moves while the failure persists, for some minutes.
func (l *chaosRig) shrink(p plan, problems []string) (plan, []string) {
	end := time.Now().Add(3 * time.Minute)
	for i := len(p.moves) - 1; i > 0 && time.Now().Before(end); i-- {
		if fewer := p.without(i); len(fewer.moves) > 0 {
			if found := l.live(fewer); len(found) > 0 {
				p, problems = fewer, found
			}
		}
	}
	return p, problems
}

const (
	mostStars = 1_000_000 // in one purchase

	begin   = 20_000_000_000                                                       // nanoTON in the wallet at first
	nobodys = "0:abababababababababababababababababababababababababababababababab" // may be paid, and returns everything
	thieves = "0:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd" // must not be paid
)

// build makes the real components that a history needs.
func (c *chaos) build() error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}

	key, err := ton.ParseKey(hex.EncodeToString(private.Seed()))
	if err != nil {
		return err
	}
	if c.wallet, err = ton.NewWallet(key, ton.Mainnet); err != nil {
		return err
	}

	c.chain, err = tonsim.NewTonCenter(tonsim.TonCenterOptions{
		PublicKey: hex.EncodeToString(public), Balance: begin, BlockTime: c.plan.block, Clock: c.Now,
	})
	if err != nil {
		return err
	}
	if c.fragment, err = tonsim.NewFragment(tonsim.FragmentOptions{TonCenterURL: c.lab.viewURL}); err != nil {
		return err
	}

	if err := c.fragment.SetUser(poisonous, "puzzling"); err != nil {
		return err
	}

	for _, text := range []string{c.chain.Shop(), nobodys} {
		address, _, err := ton.ParseAddress(text)
		if err != nil {
			return err
		}
		c.allow = append(c.allow, address)
	}

	settings := activities.Settings{
		MaxStars: mostStars, Reserve: 20_000_000, Slippage: 100, Refund: c.plan.refunds,
		Limits:     transaction.Limits{ReviewFrom: reviewFrom},
		PaymentTTL: 40 * time.Second, FinalityMargin: 5 * time.Second, HoldRetry: 20 * time.Millisecond,
		PollInterval: time.Minute, MinDeposit: 50_000_000,

		// By the clock of the machine.
		ConfirmPatience: 400 * time.Millisecond, LookEvery: 20 * time.Millisecond,
		RebroadcastEvery: 100 * time.Millisecond, TurnPatience: 200 * time.Millisecond, StuckAfter: time.Hour,
	}

	log, counted := slog.New(slog.NewTextHandler(&c.logs, nil)), metrics.New().Transaction()
	shop, stop, err := sim.Start(
		"127.0.0.1:0", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.mortal(c.fragment, w, r) }),
	)
	if err != nil {
		return err
	}

	c.stopShop, c.toncenter = stop, c.lab.chain
	c.client = operated{&transactions.Service{
		Store: c.lab.store, Log: log, Failures: failures(settings, c.plan.retries, 10*time.Millisecond),
		Balance: func(ctx context.Context, _ string) (int64, int64, error) {
			state, err := c.toncenter.Wallet(ctx, c.wallet.Address())
			return int64(state.LastLT), int64(state.Balance), err
		},
	}}

	c.process = func(limited bool) *activities.PaymentActivities {
		settings := settings
		if limited {
			settings.Limits.PerDay, settings.Limits.RefundPerDay = dayLimits.PerDay, dayLimits.RefundPerDay
		}
		return &activities.PaymentActivities{
			Store: c.lab.wallets.Transactions, Alerts: c.lab.wallets.Notices, Wallet: c.wallet, Chain: c.toncenter, Allow: c.allow,
			Settings: settings, Orders: c.client.Service, Temporal: c, Metrics: counted, Log: log,
			Fragment: fragment.New(fragment.Options{
				URL: shop, RequestsPerSecond: 100_000, CallTimeout: 20 * time.Second,
				Cookies: fragment.Cookies{"stel_ssid": "a", "stel_dt": "b", "stel_token": "c", "stel_ton_token": "d"},
				Wallet: fragment.Account{
					Address: c.wallet.Address(), PublicKey: c.wallet.PublicKey(), StateInit: c.wallet.StateInit(), Network: ton.Mainnet,
				},
			}),
		}
	}
	c.restart(c.plan.limited)
	c.slots, c.refunding = make(chan int, len(c.payers)), make(chan int, len(c.payers))
	for i := range c.payers {
		c.slots <- i
		c.refunding <- i
	}

	c.monitor = &activities.Monitor{
		Decided: func() {
			for _, payer := range c.processes() {
				payer.Decided.Ring()
			}
		},
		Store: unwoken{c.lab.wallets.Transactions}, Alerts: c.lab.wallets.Notices, Wallet: c.wallet.Address(), Chain: c.toncenter, Settings: settings,
		Metrics: counted, Log: log,
		Start: func(ctx context.Context, hash string) error {
			c.note(errand{hash: hash, start: true})
			return c.lab.store.Transactions.MarkStarted(ctx, hash)
		},
	}

	c.purchases = &activities.Activities{
		Store: c.lab.store.Transactions, Alerts: c.lab.store.Notices, Users: c.lab.store.Accounts, Answers: c.lab.store.Answers, Settings: settings, Orders: c.client.Service, Metrics: counted,
	}

	_, err = c.lab.store.Transactions.OpenWallet(context.Background(), c.wallet.Address().Raw(), transaction.WalletStart{BalanceNano: begin})
	return err
}

// unwoken is the record of a monitor that reads the chain at its own pace.
type unwoken struct{ *transaction.Store }

func (unwoken) PaymentWakes(context.Context, string) <-chan struct{} { return nil }

func (c *chaos) complain(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if problem := fmt.Sprintf(format, args...); !slices.Contains(c.problems, problem) {
		c.problems = append(c.problems, problem)
	}
}
