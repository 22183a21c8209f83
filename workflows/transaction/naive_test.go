package transaction_test

import (
	"cmp"
	"encoding/hex"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/tonsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/ton"
	"stagecoach/internal/toncenter"
)

// naive buys like the previous system: a broadcast's answer is believed, a failure is processed again from the start,
// an advanced seqno counts as a payment. It keeps no record.
type naive struct {
	*rig
	status string // processed or failed
	hash   string // of "the payment"
	sent   func() // after a broadcast; may be nil
}

// process buys Stars once.
func (n *naive) process(username string, stars int) {
	n.Helper()
	ctx := n.Context()
	n.status = "failed"
	recipient, err := n.paymentActivities.Fragment.Search(ctx, username, stars)
	n.must(err)
	request, err := n.paymentActivities.Fragment.Init(ctx, recipient, stars)
	n.must(err)
	link, err := n.paymentActivities.Fragment.Link(ctx, request)
	n.must(err)
	wallet, err := n.toncenter.Wallet(ctx, n.wallet.Address())
	n.must(err)
	signed, err := n.wallet.Sign(wallet.Seqno, time.Now().Add(time.Minute).Truncate(time.Second),
		ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce})
	n.must(err)
	n.hash = hex.EncodeToString(signed.BoC)[:64]
	if receipt, err := n.toncenter.Broadcast(ctx, signed.BoC); err != nil || receipt.Outcome != toncenter.Accepted {
		return
	}
	if n.sent != nil {
		n.sent()
	}

	for range 20 {
		now, err := n.toncenter.Wallet(ctx, n.wallet.Address())
		n.must(err)
		if now.Seqno > wallet.Seqno {
			n.status = "processed"
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// TestNightNaive has a case for each fault of the previous system: what it did in a situation, and what this one does.
// Each case fails if the naive way would have been good enough.
func TestNightNaive(t *testing.T) {
	night.Only(t)
	t.Parallel()
	broadcast := func(kind string, applied bool) func(*rig) {
		return func(w *rig) {
			w.chain.AddFault(sim.Fault{Match: "/api/v3/message", Kind: kind, Times: 1, Applied: applied})
		}
	}

	again := func(n *naive) { // a failed or hanging one is processed again
		n.process("durov", 50)
		if n.status == "failed" {
			n.process("durov", 50)
		}
	}
	hold := func(w *rig) { w.must(w.chain.Hold()) }

	once := func(n *naive) { n.process("durov", 50) }
	for name, c := range map[string]struct {
		trouble func(*rig)
		relief  func(w *rig, hash string) // while ours is working
		naive   func(*naive)
		status  string        // what the naive way believed
		sold    int           // what it bought
		timeout time.Duration // of a request to the chain; 0: as usual
	}{
		"a time-out after the send was a failure, and paid again": {
			trouble: broadcast("timeout", true), naive: again, status: "processed", sold: 2, timeout: 5 * time.Second,
		},
		"a lost answer was a failure, and paid again": {trouble: broadcast("lost_answer", true), naive: again, status: "processed", sold: 2},
		"exit code 133 was a failure, and paid again": {trouble: broadcast("exit_133", true), naive: again, status: "processed", sold: 2},
		"a duplicate was a failure, and paid again":   {trouble: broadcast("duplicate", true), naive: again, status: "processed", sold: 2},
		"a slow payment was stuck, and reset": {
			trouble: hold,
			naive: func(n *naive) {
				n.process("durov", 50)
				n.must(n.chain.Release())
				n.must(n.chain.Hold())
				n.process("durov", 50)
				n.must(n.chain.Release())
			},
			relief: func(w *rig, _ string) {
				wait.Eventually(w, "it is broadcast again", func() bool { return w.broadcasts() > 1 })
				w.must(w.chain.Release())
			},
			status: "failed", sold: 2,
		},
		"a forgotten message was a failure for ever": {
			trouble: func(w *rig) { w.must(w.chain.Steer(tonsim.Steering{Drop: ptr(1)})) },
			naive:   once, status: "failed", sold: 0,
		},
		"an advanced seqno was a payment": {
			trouble: hold,
			naive: func(n *naive) {
				n.sent = func() {
					n.must(n.chain.SetBalance("", 100_000_000))
					n.must(n.chain.Release())
				}
				n.process("durov", 50)
			},
			relief: func(w *rig, hash string) {
				w.signed(hash)
				w.must(w.client.Pause(w.Context(), w.admin, "until the money is back"))
				w.must(w.chain.SetBalance("", 100_000_000))
				w.must(w.chain.Release())
				wait.Eventually(
					w, "the chain ran an order that paid nothing",
					func() bool { return strings.HasPrefix(w.states(hash), "purchase dead") },
				)
				w.must(w.chain.SetBalance("", 10_000_000_000))
				w.must(w.client.Resume(w.Context()))
			},
			status: "processed", sold: 0,
		},
		"money on its way back was a payment": {
			trouble: func(w *rig) { w.bounceTo(strings.Repeat("ab", 32)) },
			relief: func(w *rig, hash string) {
				wait.Eventually(w, "it bounced", func() bool { return strings.HasPrefix(w.states(hash), "purchase bounced") })
				settings := w.fragment.CurrentSettings()
				settings.To, settings.Bounceable = "", false
				w.must(w.fragment.Set(settings))
			},
			naive: once, status: "processed", sold: 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := func(s *setup) { s.chainTimeout = cmp.Or(c.timeout, s.chainTimeout) }
			t.Run("naive", func(t *testing.T) {
				t.Parallel()
				w := newRig(t, timeout, func(s *setup) { s.asleep = true })
				n := &naive{rig: w}
				c.trouble(w)
				c.naive(n)
				bought, strays := w.sold()
				if n.status != c.status || len(bought)+len(strays) != c.sold {
					t.Errorf("the naive way: %s, bought %d, astray %d", n.status, len(bought), len(strays))
				}

				for _, p := range bought {
					if p.Hash == n.hash {
						t.Error("the first characters of the message were the hash after all")
					}
				}
			})

			t.Run("ours", func(t *testing.T) {
				t.Parallel()
				w := newRig(t, retries(time.Hour, 100*time.Millisecond), timeout)
				c.trouble(w)
				hash := w.deposit(1, "durov 50")
				if c.relief != nil {
					c.relief(w, hash)
				}

				got := w.becomes(hash, lifecycle.TransactionProcessed)
				if bought := w.wantSold(1); bought[0].Hash != got.FragmentTransactionHash {
					t.Errorf("%s is not the payment's hash %s", got.FragmentTransactionHash, bought[0].Hash)
				}
			})
		})
	}
}

// bounceTo makes Fragment request payment to an address without a contract, which returns everything.
func (w *rig) bounceTo(account string) {
	w.Helper()
	address, _, err := ton.ParseAddress("0:" + account)
	w.must(err)
	w.paymentActivities.Allow = append(w.paymentActivities.Allow, address)
	settings := w.fragment.CurrentSettings()
	settings.To, settings.Bounceable = "0:"+account, true
	w.must(w.fragment.Set(settings))
}
