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

// plan is what happens in a history from outside.
type plan struct {
	refunds bool // the setting
	retries time.Duration
	block   time.Duration // of the chain
	crowd   bool          // several orders that want the wallet at a time
	limited bool          // the limits for 24 hours have room for some of the orders only
	moves   []move
}

// move is one thing that happens; n and m are what the kind of move makes of them.
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

// newPlan draws a plan: one deposit at first, then faults, deeds and up to two more deposits.
func newPlan(seed, number uint64) plan {
	r := rand.New(rand.NewPCG(seed, number))
	p := plan{
		refunds: r.IntN(2) == 0, retries: []time.Duration{time.Minute, 0, 300 * time.Millisecond}[number%3],
		block: pick([]time.Duration{2 * time.Second, 400 * time.Millisecond, time.Second, 5 * time.Second}, r.IntN(4)),
		crowd: number%2 == 0, limited: r.IntN(6) == 0,
	}
	draw := func(what string) {
		m := move{what: what, n: r.IntN(1000), m: r.IntN(1000)}
		if r.IntN(2) == 0 { // else at once
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

// rush is how many histories have one with a hundred orders among them.
const rush = 500

var (
	// orders are what deposits ask for; most are good.
	orders       = []string{"durov 50", "durov", "anna 60", "durov 50", "no order at all", "nobody 50", "durov 1000"}
	chainKinds   = []string{"503", "429", "cut", "lost_answer", "timeout"}
	sendingKinds = []string{"lost_answer", "exit_133", "exit_136", "duplicate", "timeout", "503", "429", "cut"}
	shopKinds    = []string{
		"503", "429", "cut", "lost_answer", "timeout", "something", "session_expired", "not_giftable", "unknown_user",
	}
	shopCalls = []string{
		"updateStarsPrices", "searchStarsRecipient", "initBuyStarsRequest", "getBuyStarsLink", "confirmReq",
		"updateStarsBuyState",
	}
	chainCalls = []string{"/transactions?", "/walletInformation", "/masterchainInfo", "/transactionsByMessage"}
)

func pick[T any](from []T, n int) T { return from[n%len(from)] }

// dropAfter is when a connection ends on which no answer comes.
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
	"messages get lost": func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Drop: ptr(m.n % 12)}) },
	"messages are slow": func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{DelayMS: ptr(int64(m.n * 90))}) },
	"blocks take long":  func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{FinalityMS: ptr(int64(m.n * 10))}) },
	"chain hides some":  func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Hide: ptr(1 + m.n%3)}) },
	"chain hides none":  func(c *chaos, m move) error { return c.chain.Steer(tonsim.Steering{Reveal: true}) },
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
	"wallet is robbed while it pays": func(c *chaos, m move) error { // what is signed is carried out, and pays nothing
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
	"operator pauses": func(c *chaos, _ move) error {
		return c.lab.store.Transactions.Pause(context.Background(), &c.lab.admin.ID, "chaos")
	},
	"operator resumes": func(c *chaos, _ move) error { return c.lab.store.Transactions.Resume(context.Background()) },
}

// deposit is the one move without which nothing happens.
func (c *chaos) deposit(m move) error {
	hash, err := c.chain.Deposit(tonsim.Deposit{
		From: fmt.Sprint("sender", m.n%3), AmountNano: 1e9, Comment: pick(orders, m.m),
	})
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hashes = append(c.hashes, hash)
	return err
}

// ask sends an errand to one of the transactions. The API refuses what is not in the record yet.
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

// lose takes money out of the wallet as no chain does: what a payment that is signed already cannot count on any more.
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

// relieve ends all trouble.
func (c *chaos) relieve() error {
	c.mu.Lock()
	c.deathIn, c.frozenIn, c.stopIn, c.pauseIn, c.robbery = 0, 0, 0, 0, 0
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
	if err := c.chain.Steer(tonsim.Steering{Drop: ptr(0), DelayMS: ptr(int64(0)), FinalityMS: ptr(int64(0)), Reveal: true}); err != nil {
		return err
	}
	if err := c.giveBack(); err != nil {
		return err
	}

	if err := c.set(func(s *tonsim.FragmentSettings) {
		*s = tonsim.FragmentSettings{NanoPerStar: 9_218_000, InitPercent: 100, LinkPercent: 100, LinkSeconds: 600}
	}); err != nil {
		return err
	}

	return c.lab.store.Transactions.Resume(context.Background())
}
