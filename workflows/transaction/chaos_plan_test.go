package transaction_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/internal/lifecycle"
)

// plan is a history's external events.
type plan struct {
	refunds bool // the setting
	retries time.Duration
	block   time.Duration // of the chain
	crowd   bool          // several orders that want the wallet at a time
	limited bool          // the 24-hour limits have room for only some of the orders
	moves   []move
}

// move is one event; n and m are interpreted by its kind.
type move struct {
	after time.Duration
	what  string
	n, m  int
}

func (m move) String() string { return fmt.Sprintf("after %s: %s %d %d", m.after, m.what, m.n, m.m) }

func (p plan) String() string {
	lines := []string{
		fmt.Sprintf("refunds: %t, tried again for %s, a block each %s, limited: %t", p.refunds, p.retries, p.block, p.limited),
	}
	for _, m := range p.moves {
		lines = append(lines, m.String())
	}
	return strings.Join(lines, "\n")
}

func (p plan) without(i int) plan {
	p.moves = slices.Delete(slices.Clone(p.moves), i, i+1)
	return p
}

// newPlan draws a plan: one deposit at first, then faults, interventions and up to two more deposits.
func newPlan(seed, number uint64) plan {
	r := rand.New(rand.NewPCG(seed, number))
	p := plan{
		refunds: r.IntN(2) == 0, retries: []time.Duration{500 * time.Millisecond, 0, 50 * time.Millisecond}[number%3],
		block: pick([]time.Duration{2 * time.Second, 400 * time.Millisecond, time.Second, 5 * time.Second}, r.IntN(4)),
		crowd: number%2 == 0, limited: r.IntN(6) == 0,
	}
	draw := func(what string) {
		m := move{what: what, n: r.IntN(1000), m: r.IntN(1000)}
		if r.IntN(2) == 0 { // otherwise at once
			m.after = time.Duration(r.IntN(8000)) * time.Millisecond
		}
		p.moves = append(p.moves, m)
	}

	kinds := slices.Sorted(maps.Keys(moves))
	trouble := func() {
		for range r.IntN(4) {
			draw(pick(kinds, r.IntN(1000)))
		}
	}

	trouble()
	for range 1 + r.IntN(3)*r.IntN(2) {
		draw("deposit")
		trouble()
	}

	if p.crowd {
		more := 1 + r.IntN(4)
		if number%rush == 0 {
			more = 100
		}
		for range more {
			draw("deposit")
		}
		trouble()
	}
	return p
}

// rush: one in this many histories has a hundred orders.
const rush = 500

var (
	// orders are what deposits request; most are valid.
	orders       = []string{"durov 50", "durov", "anna 60", "durov 50", "no order at all", "nobody 50", "durov 1000", poisonous + " 50"}
	chainKinds   = []string{"503", "429", "cut", "lost_answer", "timeout", "not_ok", "empty", "null"}
	sendingKinds = []string{"lost_answer", "exit_133", "exit_136", "duplicate", "timeout", "503", "429", "cut", "not_ok", "empty", "null"}
	shopKinds    = []string{
		"503", "429", "cut", "lost_answer", "timeout", "something", "session_expired", "not_giftable", "unknown_user", "nonsense",
	}
	shopCalls = []string{
		"updateStarsPrices", "searchStarsRecipient", "initBuyStarsRequest", "getBuyStarsLink", "confirmReq",
		"updateStarsBuyState",
	}
	chainCalls = []string{"/transactions?", "/walletInformation", "/masterchainInfo", "/transactionsByMessage"}
)

// poisonous is a recipient to whom the shop responds with nonsense, until the trouble is over.
const poisonous = "poisonous"

func pick[T any](from []T, n int) T { return from[n%len(from)] }

// dropAfter is when a connection without an answer ends.
const dropAfter = 5 * time.Millisecond

// moves are the kinds of moves.
var moves = map[string]func(*chaos, move) error{
	"broadcast goes wrong": func(c *chaos, m move) error {
		c.chain.AddFault(sim.Fault{
			Match: "/api/v3/message", Kind: pick(sendingKinds, m.n), Times: 1 + m.m%3, Applied: m.m%2 == 0, Delay: dropAfter,
		})
		return nil
	},
	"chain goes wrong": func(c *chaos, m move) error {
		c.chain.AddFault(sim.Fault{
			Match: pick(chainCalls, m.n), Kind: pick(chainKinds, m.m), Times: 1 + m.n%4, Delay: dropAfter,
		})
		return nil
	},
	"shop goes wrong": func(c *chaos, m move) error {
		c.fragment.AddFault(sim.Fault{
			Match: pick(shopCalls, m.n), Kind: pick(shopKinds, m.m), Times: 1 + m.n%5, Applied: m.n%2 == 0, Delay: dropAfter,
		})
		return nil
	},
	"shop takes long": func(c *chaos, m move) error {
		c.fragment.AddFault(sim.Fault{Match: pick(shopCalls, m.n), Kind: "slow", Times: 1 + m.m%3, Delay: 12 * time.Second / speed})
		return nil
	},
	"shop is away for long": func(c *chaos, m move) error {
		c.fragment.AddFault(sim.Fault{Kind: pick([]string{"503", "nonsense", "cut"}, m.n), Times: 100 + m.m})
		return nil
	},
	"shop is back": func(c *chaos, _ move) error {
		c.fragment.ClearFaults()
		return nil
	},
	"monitor falls behind": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.blind = m.n % 40
		return nil
	},
	"a refund comes back": func(c *chaos, m move) error {
		return c.send(m, smallDeposit/2, "Refund: the order could not be carried out")
	},
	"operator asks for a review": func(c *chaos, m move) error {
		return c.ask(m.n, errand{update: lifecycle.TransactionActionReview, input: lifecycle.TransactionInput{Actor: c.lab.admin.ID}})
	},
	"messages get lost": func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Drop: ptr(m.n % 12)}) },
	"messages are slow": func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{DelayMS: ptr(int64(m.n * 90))}) },
	"blocks take long":  func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{FinalityMS: ptr(int64(m.n * 10))}) },
	"chain hides some":  func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Hide: ptr(1 + m.n%3)}) },
	"chain repeats rows": func(c *chaos, m move) error {
		return c.chain.Steer(tonsim.Steering{Twice: ptr(m.n%3 > 0)})
	},
	"chain hides none": func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Reveal: true}) },
	"session is over": func(c *chaos, m move) error {
		return c.set(func(s *tonsim.FragmentSettings) {
			s.SessionFailed = pick([]string{"Session expired", "AUTH_SESSION_EXPIRED", "unauthorized", ""}, m.n)
		})
	},
	"links are short": func(c *chaos, m move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.LinkSeconds = pick([]int64{3, 25, 28, 35, 600}, m.n) })
	},
	"price moves": func(c *chaos, m move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.NanoPerStar = int64(5_000_000 + m.n*10_000) })
	},
	"request is dearer": func(c *chaos, m move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.InitPercent, s.LinkPercent = 100+int64(m.n%3), 100+int64(m.m%2) })
	},
	"payments bounce": func(c *chaos, _ move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.To, s.Bounceable = nobodys, true })
	},
	"thief shows an address": func(c *chaos, _ move) error { return c.set(func(s *tonsim.FragmentSettings) { s.To = thieves }) },
	"shop is honest": func(c *chaos, _ move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.To, s.Bounceable, s.SessionFailed = "", false, "" })
	},
	"shop serves the last request only": func(c *chaos, _ move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.OnlyLast = true })
	},
	"Stars come late": func(c *chaos, m move) error {
		return c.set(func(s *tonsim.FragmentSettings) { s.DoneAfterMS, s.Confirm = int64(m.n*m.n*m.n), m.m%2 == 0 })
	},
	"wallet loses money": func(c *chaos, m move) error { return c.lose(int64(100_000_000 + m.n*500_000)) },
	"wallet is robbed while it pays": func(c *chaos, m move) error { // what is signed is executed, but pays nothing
		c.mu.Lock()
		defer c.mu.Unlock()
		c.robbery = int64(100_000_000 + m.n*300_000)
		return nil
	},
	"wallet gets it back": func(c *chaos, _ move) error { return c.giveBack() },
	"worker dies at a request": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.deathIn, c.deathAfter = 1+m.n%15, m.m%2 == 0
		return nil
	},
	"worker freezes at a request": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.frozenIn = 1 + m.n%15
		return nil
	},
	"worker stops at a request": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.stopIn = 1 + m.n%15
		return nil
	},
	"activity is paused at a request": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pauseIn = 1 + m.n%15
		return nil
	},
	"workflow is lost": func(c *chaos, m move) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(c.hashes) > 0 {
			c.lossIn[pick(c.hashes, m.n)] = 1 + m.m%3
		}
		return nil
	},
	"operator cancels": func(c *chaos, m move) error { return c.ask(m.n, errand{cancel: true}) },
	"operator retries": func(c *chaos, m move) error {
		return c.ask(
			m.n, errand{update: lifecycle.TransactionActionRetry, input: lifecycle.TransactionInput{Actor: c.lab.admin.ID}},
		)
	},
	"operator signals a retry": func(c *chaos, m move) error { return c.ask(m.n, errand{signal: lifecycle.TransactionRetrySignal}) },
	"hints come for nothing": func(c *chaos, m move) error {
		return c.ask(
			m.n, errand{signal: lifecycle.TransactionRefreshSignal},
		)
	},
	"an unreadable order in a pause": func(c *chaos, m move) error { return c.inPause(m, smallDeposit, "no order at all") },
	"a large deposit in a pause":     func(c *chaos, m move) error { return c.inPause(m, largeDeposit, "durov 50") },
	"operator pauses": func(c *chaos, _ move) error {
		return c.lab.store.Transactions.Pause(context.Background(), &c.lab.admin.ID, "chaos")
	},
	"operator resumes": func(c *chaos, _ move) error { return c.lab.store.Transactions.Resume(context.Background()) },
}

// Amounts of deposits, in nanoTON.
const (
	smallDeposit = 1_000_000_000
	reviewFrom   = 1_100_000_000 // a person reviews a larger one
	largeDeposit = 1_200_000_000
)

// deposit is the one move without which nothing happens.
func (c *chaos) deposit(m move) error { return c.send(m, smallDeposit, pick(orders, m.m)) }

// inPause makes a deposit that is decided without the wallet.
func (c *chaos) inPause(m move, nano int64, comment string) error {
	if err := c.lab.store.Transactions.Pause(context.Background(), &c.lab.admin.ID, "chaos"); err != nil {
		return err
	}
	return c.send(m, nano, comment)
}

func (c *chaos) send(m move, nano int64, comment string) error {
	hash, err := c.chain.Deposit(tonsim.Deposit{From: fmt.Sprint("sender", m.n%3), AmountNano: nano, Comment: comment})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hashes = append(c.hashes, hash)
	return err
}

// ask sends an errand to one of the transactions. The API refuses what is not yet recorded.
func (c *chaos) ask(n int, e errand) error {
	c.mu.Lock()
	if len(c.hashes) > 0 {
		e.hash = pick(c.hashes, n)
	}
	c.mu.Unlock()
	if _, err := c.lab.store.Transactions.ByHash(context.Background(), e.hash); err == nil {
		c.note(e)
	}
	return nil
}

// set changes Fragment, which first reads its payments.
func (c *chaos) set(change func(*tonsim.FragmentSettings)) error {
	s := c.fragment.CurrentSettings()
	change(&s)
	return c.fragment.Set(s)
}

// lose removes money from the wallet in a way no chain does: a payment already signed can no longer count on it.
func (c *chaos) lose(leave int64) error {
	c.purse.Lock()
	defer c.purse.Unlock()
	if c.safe || c.lost != 0 {
		return nil
	}
	return c.chain.ChangeBalance("", func(held int64) int64 {
		left := min(held, leave)
		c.lost = held - left
		return left
	})
}

func (c *chaos) giveBack() error {
	c.purse.Lock()
	defer c.purse.Unlock()
	back := c.lost
	c.lost = 0
	return c.chain.ChangeBalance("", func(held int64) int64 { return held + back })
}

// relieve ends all trouble except a pause, which settle ends.
func (c *chaos) relieve() error {
	c.mu.Lock()
	c.deathIn, c.frozenIn, c.stopIn, c.pauseIn, c.robbery, c.blind = 0, 0, 0, 0, 0, 0
	clear(c.lossIn)
	c.mu.Unlock()
	if err := c.liftLimits(); err != nil {
		return err
	}
	c.purse.Lock()
	c.safe = true
	c.purse.Unlock()
	c.chain.ClearFaults()
	c.fragment.ClearFaults()
	if err := c.fragment.SetUser(poisonous, "user"); err != nil {
		return err
	}
	if err := c.chain.Steer(tonsim.Steering{Drop: ptr(0), DelayMS: ptr(int64(0)), FinalityMS: ptr(int64(0)), Reveal: true, Twice: ptr(false)}); err != nil {
		return err
	}
	if err := c.giveBack(); err != nil {
		return err
	}

	return c.set(func(s *tonsim.FragmentSettings) {
		*s = tonsim.FragmentSettings{NanoPerStar: 9_218_000, InitPercent: 100, LinkPercent: 100, LinkSeconds: 600}
	})
}
