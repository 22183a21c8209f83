package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stagecoach/dev/night"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

func init() { night.RapidChecks(30) } // each lives through a whole shop

// TestLedgerHoldsWhateverHappens lets customers, workflows, operators, the chain and its readers do anything at any
// time, once or twice, and every payment ever signed be broadcast at any time. After each step the books balance, and
// no order's Stars were bought twice, or bought and refunded.
func TestLedgerHoldsWhateverHappens(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	rapid.Check(t, func(rt *rapid.T) {
		m := &modelRun{rt: rt, bank: w.bank(), class: map[string]lifecycle.ErrorClass{}, begun: map[string]transaction.PaymentOrder{}}
		m.must(m.Transactions.Resume(t.Context()))
		m.deposits(rt)
		m.deposits(rt)
		m.readAll()
		rt.Repeat(map[string]func(*rapid.T){
			"":          m.check,
			"deposit":   m.deposits,
			"go on":     m.goesOn,
			"go on 2":   m.goesOn,
			"go on 3":   m.goesOn,
			"go on 4":   m.goesOn,
			"go on 5":   m.goesOn,
			"movement":  m.moves,
			"broadcast": m.broadcasts,
			"bounce":    m.bounces,
			"time": func(*rapid.T) {
				m.now = m.now.Add(time.Duration(rapid.IntRange(1, 90).Draw(rt, "seconds")) * time.Second)
			},
			"read":   m.reads,
			"begin":  m.begins,
			"minute": func(*rapid.T) { m.passMinute() },
			"sign":   m.signs,
			"settle": m.settles,
			"finish": func(*rapid.T) {
				m.twice(func(hash string) error {
					return second(m.Transactions.Finish(t.Context(), hash, m.attempt(hash), true))
				})
			},
			"fail":  m.fails,
			"retry": m.retries,
			"review": func(*rapid.T) {
				m.twice(func(hash string) error {
					return second(m.Transactions.Review(t.Context(), hash, m.attempt(hash), "r"))
				})
			},
			"review payment": func(*rapid.T) {
				m.twice(func(hash string) error {
					return second(m.Transactions.ReviewPayment(t.Context(), hash, transaction.Limits{ReviewFrom: 4 * coin, ReviewPerDay: 9 * coin}))
				})
			},
			"write off": func(*rapid.T) {
				m.twice(func(hash string) error {
					return second(m.Transactions.WriteOffRefund(t.Context(), transaction.Request{Hash: hash, Attempt: m.attempt(hash)}))
				})
			},
			"keep dust": func(*rapid.T) {
				m.twice(func(hash string) error { return second(m.Transactions.KeepDust(t.Context(), hash, 3*coin)) })
			},
			"fail pending": func(*rapid.T) {
				m.twice(func(hash string) error {
					return second(m.Transactions.FailPending(t.Context(), transaction.Failure{
						Claim: transaction.Claim{Hash: hash}, Message: "m", Class: lifecycle.NonRetryable, Refund: true,
					}))
				})
			},
			"end the hold": func(*rapid.T) { m.must(m.Transactions.EndHold(t.Context(), m.wallet, []string{"m"})) },
			"resolve":      m.resolves,
			"pause":        m.stops,
			"resume":       func(*rapid.T) { m.must(m.Transactions.Resume(t.Context())) },
		})

		for _, hash := range m.hashes {
			m.events(hash)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// modelRun is one random history of a bank.
type modelRun struct {
	*bank
	rt     *rapid.T
	hashes []string // of deposits that the record knows
	class  map[string]lifecycle.ErrorClass
	begun  map[string]transaction.PaymentOrder // by the last attempt that could begin, which may have ended
}

func (l *modelRun) choose(n int, what string) int { return rapid.IntRange(0, n-1).Draw(l.rt, what) }

func (l *modelRun) kind() transaction.PaymentKind {
	return rapid.SampledFrom([]transaction.PaymentKind{transaction.Purchase, transaction.Purchase, transaction.Refund}).Draw(l.rt, "kind")
}

// twice does something to some transaction, once or twice; it may be refused with a fault.
func (l *modelRun) twice(do func(hash string) error) {
	if len(l.hashes) == 0 {
		return
	}
	hash := l.hashes[l.choose(len(l.hashes), "transaction")]
	for range 1 + l.choose(2, "again") {
		if err := do(hash); err != nil && fault.As(err) == nil {
			l.rt.Fatal(err)
		}
	}
}

// claim is the current attempt's, or sometimes an ended one's.
func (l *modelRun) claim(hash string) transaction.Claim {
	if order, ok := l.begun[hash]; ok && l.choose(3, "zombie") == 0 {
		return order.Claim
	}
	claim := l.claimed(hash)
	claim.Attempt -= l.choose(4, "stale") / 3
	return claim
}

// attempt is the current one, or sometimes an ended one.
func (l *modelRun) attempt(hash string) int { return l.tx(hash).Attempt - l.choose(4, "stale")/3 }

// goesOn advances some transaction by a step, as its workflow would.
func (l *modelRun) goesOn(*rapid.T) {
	l.twice(func(hash string) error {
		ctx, t, snapshot := l.t.Context(), l.tx(hash), l.ok(l.Transactions.SnapshotOf(l.t.Context(), hash))
		kind, last := transaction.Purchase, snapshot.Purchase
		if t.State == lifecycle.TransactionFailed {
			kind, last = transaction.Refund, snapshot.Refund
		}

		switch {
		case last != nil && last.State == transaction.PaymentSigned:
			if l.choose(3, "lost") == 0 {
				l.now = l.now.Add(2 * time.Minute)
			}
			l.accept(l.payment(last.ID))
			l.readAll()
			return nil
		case last != nil && last.State == transaction.PaymentPaid && !last.Kept:
			return l.asked(l.payment(last.ID), l.choose(4, "kept") > 0)
		case t.State == lifecycle.TransactionProcessing && last != nil && last.Kept:
			return second(l.Transactions.Finish(ctx, hash, t.Attempt, true))
		case kind == transaction.Refund && t.RefundDueNano > 0:
			return second(l.sign(l.want(hash, kind), transaction.Limits{}))
		default:
			if l.choose(2, "a minute later") == 0 {
				l.passMinute()
			}
			order, err := l.beginsAt(hash, t.AmountNano-2*gas)
			if err != nil {
				return err
			}
			return second(l.sign(l.link(order), transaction.Limits{}))
		}
	})
}

// link sometimes gives an order a link that still accepts money.
func (l *modelRun) link(order transaction.PaymentOrder) transaction.PaymentOrder {
	if l.choose(2, "link") == 1 {
		order.RequestID, order.LinkUntil = "r", l.now.Add(10*time.Minute)
	}
	return order
}

// beginsAt begins to buy an order, at the time of its retry if one is planned.
func (l *modelRun) beginsAt(hash string, price int64) (transaction.PaymentOrder, error) {
	l.exec(`UPDATE transactions SET retry_at = clock_timestamp() WHERE hash = $1 AND retry_at IS NOT NULL`, hash)
	beginning := l.beginning(hash, price)
	beginning.Probe = l.choose(4, "probe") == 0
	order, err := l.begin(beginning)
	if err == nil {
		l.begun[hash] = order
	}
	return order, err
}

func (l *modelRun) deposits(*rapid.T) {
	if len(l.hashes) == 4 {
		return // few of them get further
	}
	sender := address(rapid.SampledFrom([]string{"ann", "bob", "cid"}).Draw(l.rt, "sender"))
	l.incoming(sender, rapid.Int64Range(1, 5).Draw(l.rt, "coins")*coin, true)
}

func (l *modelRun) moves(*rapid.T) {
	switch l.choose(3, "movement") {
	case 0:
		l.incoming(address("spam"), 1, false)
	case 1:
		l.incoming(address("owner"), coin, false)
	default: // by the owner, by hand
		if l.balance > 2*coin {
			l.seqno++
			l.happens(transaction.ChainTransaction{
				ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: digest("owner", serials.Add(1))},
				Out: []transaction.OutMessage{{Destination: address("owner"), Nano: coin}},
			})
		}
	}
}

func (l *modelRun) payments() (all []transaction.Payment) {
	for _, hash := range l.hashes {
		payments, err := l.Transactions.PaymentsOf(l.t.Context(), hash)
		l.must(err)
		all = append(all, payments...)
	}
	return all
}

func (l *modelRun) broadcasts(*rapid.T) {
	if all := l.payments(); len(all) > 0 {
		l.accept(all[l.choose(len(all), "payment")])
	}
}

// carriedOut lists the payments executed by the chain, read or not.
func (l *modelRun) carriedOut() (done []transaction.Payment) {
	for _, payment := range l.payments() {
		for _, t := range l.history {
			if t.In.HashNorm == payment.HashNorm && slices.ContainsFunc(t.Out, func(out transaction.OutMessage) bool {
				return out.Nano == payment.AmountNano && out.BodyHash == payment.BodyHash
			}) {
				done = append(done, payment)
			}
		}
	}
	return done
}

// bounces returns money, whether or not the destination was queried.
func (l *modelRun) bounces(*rapid.T) {
	for _, payment := range l.carriedOut() {
		if payment.State == transaction.PaymentBounced && !l.returned(payment) {
			l.bounce(payment.Destination, payment.ReturnedNano)
			l.history[len(l.history)-1].In.Hash = digest("back", payment.ID)
			return
		}
	}
}

func (l *modelRun) returned(p transaction.Payment) bool {
	for _, t := range l.history {
		if t.In.Hash == digest("back", p.ID) {
			return true
		}
	}
	return false
}

// reads ingests some of what has happened, from before the cursor on, up to the head if it took everything.
func (l *modelRun) reads(*rapid.T) {
	page, head := l.after(l.choose(3, "overlap")), time.Time{}
	if n := rapid.IntRange(0, len(page)).Draw(l.rt, "page"); n == len(page) && l.choose(3, "to the head") > 0 {
		head = l.now
	} else {
		page = page[:n]
	}
	l.read(page, head, 1+l.choose(2, "again"))
}

func (l *modelRun) readAll() { l.read(l.after(0), l.now, 1) }

func (l *modelRun) read(page []transaction.ChainTransaction, head time.Time, times int) {
	for range times {
		brought, err := l.Transactions.IngestChain(l.t.Context(), l.wallet, page, head)
		if err != nil {
			l.rt.Fatal(err)
		}
		l.hashes = append(l.hashes, brought.NewDeposits...)
	}
}

func (l *modelRun) begins(*rapid.T) {
	l.twice(func(hash string) error {
		price := l.tx(hash).AmountNano - 2*gas - rapid.Int64Range(0, coin/2).Draw(l.rt, "margin")
		return second(l.beginsAt(hash, price))
	})
}

func (l *modelRun) signs(*rapid.T) {
	l.twice(func(hash string) error {
		order, begun := l.begun[hash]
		if l.kind() == transaction.Refund {
			order, begun = l.want(hash, transaction.Refund), true
		}
		if !begun {
			return nil
		}
		order.ChainSeqno, order.ChainLT = uint32(l.seqno), l.history[len(l.history)-1].LT
		order.ChainSeqno -= uint32(min(int(order.ChainSeqno), l.choose(2, "lag")))
		limits := rapid.SampledFrom([]transaction.Limits{
			{PerDay: 20 * coin}, {ReviewFrom: 4 * coin, ReviewPerDay: 9 * coin}, {PerDay: 6 * coin, RefundPerDay: 6 * coin},
		}).Draw(l.rt, "limits")

		_, err := l.sign(l.link(order), limits)
		if full, ok := errors.AsType[*transaction.DayIsFull](err); ok && l.choose(4, "defer") > 0 {
			return second(l.Transactions.Defer(l.t.Context(), hash, full.Until))
		}
		return err
	})
}

// stops pauses or holds payments now and then.
func (l *modelRun) stops(*rapid.T) {
	switch l.choose(8, "stop") {
	case 0:
		l.must(l.Transactions.Pause(l.t.Context(), nil, "p"))
	case 1:
		l.must(l.Transactions.Hold(l.t.Context(), "h", l.hashes[l.choose(len(l.hashes), "transaction")]))
	}
}

// settles reports what the destination did with executed payments.
func (l *modelRun) settles(*rapid.T) {
	done := l.carriedOut()
	if len(done) == 0 {
		return
	}
	if err := l.asked(done[l.choose(len(done), "payment")], l.choose(2, "kept") == 0); err != nil && fault.As(err) == nil {
		l.rt.Fatal(err)
	}
}

func (l *modelRun) asked(p transaction.Payment, kept bool) error {
	if l.choose(4, "confirmed") > 0 {
		l.must(l.Transactions.MarkPurchaseConfirmed(l.t.Context(), p.ID))
	}
	d := transaction.Destination{Kept: kept, At: l.now, ReturnedNano: p.PaidNano - min(p.PaidNano, fee)}
	return second(l.Transactions.SettleDestination(l.t.Context(), p, d))
}

func (l *modelRun) fails(*rapid.T) {
	class := rapid.SampledFrom([]lifecycle.ErrorClass{
		lifecycle.Retryable, lifecycle.NonRetryable, lifecycle.UnknownError,
	}).Draw(l.rt, "class")
	refund, retry := l.choose(2, "refund") == 0, transaction.RetryPolicy{For: time.Hour, Pause: time.Minute, Ask: true}
	l.twice(func(hash string) error {
		return second(l.Transactions.Fail(
			l.t.Context(), transaction.Failure{Claim: l.claim(hash), Message: "m", Class: class, Refund: refund, Retry: retry},
		))
	})
}

func (l *modelRun) retries(*rapid.T) {
	l.twice(func(hash string) error {
		before := l.tx(hash)
		snapshot, err := l.Transactions.Retry(l.t.Context(), transaction.Request{Hash: hash, Attempt: before.Attempt})
		if err == nil && (before.State != lifecycle.TransactionFailed || before.ErrorClass == lifecycle.NonRetryable || snapshot.Attempt != before.Attempt+1) {
			l.rt.Fatalf("retried %+v", before)
		}
		return err
	})
}

func (l *modelRun) resolves(*rapid.T) {
	outcome := rapid.SampledFrom(lifecycle.TransactionOutcomes).Draw(l.rt, "outcome")
	l.twice(func(hash string) error {
		return second(l.Transactions.Resolve(
			l.t.Context(), transaction.Request{Hash: hash, Attempt: l.attempt(hash)}, outcome, "m",
		))
	})
}

// check compares the record with the chain and with itself.
func (l *modelRun) check(*rapid.T) {
	books, err := l.balances()
	if err != nil {
		l.rt.Fatal(err)
	}

	wallet, err := l.Transactions.WalletByAddress(l.t.Context(), l.wallet)
	l.must(err)
	var onChain int64
	for _, t := range l.history {
		if t.LT <= wallet.CursorLT {
			onChain += t.In.Nano - t.FeeNano
			for _, out := range t.Out {
				onChain -= out.Nano
			}
		}
	}

	want := map[transaction.Account]int64{transaction.AccountWallet: onChain}
	bought, gaveBack, cameBack := map[string]int{}, map[string]int{}, map[string]bool{}
	inFlight := map[string]bool{} // messages
	for _, payment := range l.payments() {
		switch payment.State {
		case transaction.PaymentSigned:
			inFlight[payment.HashNorm] = true
			want[transaction.AccountReserved] -= payment.ReservedNano
		case transaction.PaymentPaid:
			account := transaction.AccountPaid
			if payment.Kind == transaction.Refund {
				account = transaction.AccountRefunded
			}
			want[account] += payment.PaidNano
		case transaction.PaymentDead, transaction.PaymentBounced:
		}

		if payment.Late {
			l.rt.Fatalf("the proof of death was wrong: %+v", payment)
		}
	}

	for _, payment := range l.carriedOut() {
		if payment.State == transaction.PaymentDead {
			l.rt.Fatalf("dead, and carried out: %+v", payment)
		}

		switch {
		case payment.State == transaction.PaymentBounced:
			cameBack[payment.ChainHash] = true
		case payment.Kind == transaction.Purchase:
			bought[payment.TransactionHash]++
		default:
			gaveBack[payment.TransactionHash]++
		}
	}

	for _, hash := range l.hashes {
		t := l.tx(hash)
		want[transaction.AccountRefundDue] -= t.RefundDueNano
		if bought[hash]+gaveBack[hash] > 1 {
			l.rt.Fatalf("bought %d times, gave back %d times: %+v", bought[hash], gaveBack[hash], t)
		}
		unpaid := cameBack[t.FragmentTransactionHash] // for which a review is required
		if t.State == lifecycle.TransactionProcessed && bought[hash] != 1 && !unpaid {
			l.rt.Fatalf("processed, and not bought: %+v", t)
		}
		l.irrevocable(t)
	}

	if len(inFlight) > 1 {
		l.rt.Fatalf("messages in flight: %v", inFlight)
	}

	for _, account := range []transaction.Account{transaction.AccountWallet, transaction.AccountReserved, transaction.AccountRefundDue, transaction.AccountPaid, transaction.AccountRefunded} {
		if books[account] != want[account] {
			l.rt.Fatalf("%s is %d, want %d", account, books[account], want[account])
		}
	}

	if books[transaction.AccountWallet] < 0 || books[transaction.AccountGas] < 0 {
		l.rt.Fatalf("%v", books)
	}
}

// irrevocable checks that ended transactions stay as they ended.
func (l *modelRun) irrevocable(t transaction.Transaction) {
	if class := l.class[t.Hash]; class == lifecycle.NonRetryable && t.ErrorClass != class {
		l.rt.Fatalf("it had failed for good: %+v", t)
	}
	l.class[t.Hash] = t.ErrorClass
}
