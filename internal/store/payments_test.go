package store_test

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// TestSigningIsRefused requests payments that must not be made; each leaves everything as it was.
func TestSigningIsRefused(t *testing.T) {
	t.Parallel()
	world := newRig(t)
	errPen := errors.New("no ink")
	for name, c := range map[string]struct {
		before func(b *bank, hash string)
		order  func(o *transaction.PaymentOrder, free int64)
		limits transaction.Limits
		until  time.Duration
		pen    error
		want   fault.Code
	}{
		"an attempt after it": {before: func(b *bank, hash string) { b.want(hash, transaction.Purchase) }, want: fault.NoTurn},
		"a later request":     {before: func(b *bank, _ string) { b.ordered("bob", 2*coin) }, want: fault.NoTurn},
		"no request":          {order: func(o *transaction.PaymentOrder, _ int64) { o.RequestNumber-- }, want: fault.NoTurn},
		"nobody's attempt":    {order: func(o *transaction.PaymentOrder, _ int64) { o.TakenBy = "" }, want: fault.NoTurn},
		"another kind": {order: func(o *transaction.PaymentOrder, _ int64) {
			o.Kind, o.Destination = transaction.Refund, address("ann")
		}, want: fault.InvalidTransition},
		"above the limit for one": {limits: transaction.Limits{PerPurchase: 2*coin - 1}, want: fault.PaymentLimit},
		"above the limit per day": {limits: transaction.Limits{PerDay: 4*coin - 1}, want: fault.DailyLimit},
		"more than there is":      {order: func(o *transaction.PaymentOrder, free int64) { o.AmountNano = free - gas + 1 }, want: fault.InsufficientFunds},
		"no room for gas":         {order: func(o *transaction.PaymentOrder, free int64) { o.AmountNano = free }, want: fault.InsufficientFunds},
		"nothing":                 {order: func(o *transaction.PaymentOrder, _ int64) { o.AmountNano = 0 }, want: fault.Validation},
		"an attempt that is over": {order: func(o *transaction.PaymentOrder, _ int64) { o.Attempt = 0 }, want: fault.NoTurn},
		"a person looks at it":    {before: func(b *bank, hash string) { b.ok(b.Transactions.Review(t.Context(), hash, 1, "r")) }, want: fault.InvalidTransition},
		"it has failed":           {before: func(b *bank, hash string) { b.fail(hash, "m", lifecycle.UnknownError, false) }, want: fault.InvalidTransition},
		"a time that has passed":  {until: -time.Minute, want: fault.Validation},
		"the pen fails":           {pen: errPen},
	} {
		t.Run(name, func(t *testing.T) {
			own := *world
			own.t = t
			b := own.bank()
			// One customer's purchase of two coins succeeded, and another customer is owed a coin.
			b.bought(b.ordered("early", 3*coin))
			b.incoming(address("owner"), 3*coin, false)
			owed := b.ordered("owed", coin)
			b.fail(owed, "Username not found", lifecycle.NonRetryable, true)
			hash := b.ordered("ann", 3*coin)

			free := b.balance - coin
			order := b.want(hash, transaction.Purchase)
			if c.order != nil {
				c.order(&order, free)
			}

			if c.before != nil {
				c.before(b, hash)
			}

			before, version := b.balanced(), b.tx(hash).RowVersion
			_, err := b.Transactions.SignPayment(t.Context(), order, c.limits, func(seqno uint32) (transaction.Signed, error) {
				signed, _ := b.pen(order)(seqno)
				if c.until != 0 {
					signed.ValidUntil = b.now.Add(c.until)
				}
				return signed, c.pen
			})
			if c.pen != nil && !errors.Is(err, c.pen) || fault.CodeOf(err) != c.want {
				t.Errorf("got %v", err)
			}
			if payments, err := b.Transactions.PaymentsOf(t.Context(), hash); err != nil || len(payments) != 0 {
				t.Errorf("%+v, %v", payments, err)
			}
			if after := b.balanced(); after[transaction.AccountReserved] != before[transaction.AccountReserved] || b.tx(hash).RowVersion != version {
				t.Errorf("before %v, after %v", before, after)
			}

			if c.before == nil { // nothing is wrong with the order itself, up to the last nano
				order = b.want(hash, transaction.Purchase)
				order.AmountNano = free - gas
				if _, err := b.sign(order, transaction.Limits{PerPurchase: order.AmountNano, PerDay: order.AmountNano + 2*coin}); err != nil {
					t.Errorf("just enough: %v", err)
				}
				b.balanced()
			}
		})
	}
}

// TestSigningRace signs one order concurrently: one signature is made, and all callers get it.
func TestSigningRace(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	order := b.want(hash, transaction.Purchase)
	var made atomic.Int64
	var all sync.WaitGroup
	ids := make([]int64, 8)

	for i := range ids {
		all.Go(func() {
			payment, err := b.Transactions.SignPayment(t.Context(), order, transaction.Limits{}, func(seqno uint32) (transaction.Signed, error) {
				made.Add(1)
				return b.pen(order)(seqno)
			})
			if err != nil {
				t.Error(err)
			}
			ids[i] = payment.ID
		})
	}

	all.Wait()
	if made.Load() != 1 || len(slices.Compact(ids)) != 1 {
		t.Errorf("%d signatures, payments %v", made.Load(), ids)
	}

	b.balanced()
}

// TestOneInFlight lets many orders begin and sign at once: one holds the wallet, and none signs while a payment is in
// flight.
func TestOneInFlight(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	var hashes []string
	for _, sender := range []string{"a", "b", "c", "d", "e", "f"} {
		hashes = append(hashes, b.deposit(sender, 3*coin))
	}

	var all sync.WaitGroup
	var signed, refused atomic.Int64
	for _, hash := range hashes {
		beginning := b.beginning(hash, 2*coin)
		all.Go(func() {
			order, err := b.begin(beginning)
			if err == nil {
				_, err = b.sign(order, transaction.Limits{})
			}

			switch {
			case err == nil:
				signed.Add(1)
			case fault.CodeOf(err) == fault.NoTurn:
				refused.Add(1)
			default:
				t.Error(err)
			}
		})
	}

	all.Wait()
	if signed.Load() != 1 || refused.Load() != 5 {
		t.Errorf("%d signed, %d refused", signed.Load(), refused.Load())
	}

	b.balanced()
}

// TestDeadPayment proves payments dead, by time and by the chain, and buys again.
func TestDeadPayment(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	hash := b.ordered("ann", 3*coin)

	first := b.signed(hash, transaction.Purchase)
	b.now = first.ValidUntil
	if brought := b.scan(); len(brought.Settled) != 0 || b.payment(first.ID).State != transaction.PaymentSigned {
		t.Errorf("dead in its last second: %+v", brought)
	}

	b.now = b.now.Add(time.Second)
	b.incoming(address("bob"), coin, false)
	if _, err := b.Transactions.IngestChain(ctx, b.wallet, b.after(0), time.Time{}); err != nil || b.payment(first.ID).State != transaction.PaymentSigned {
		t.Errorf("dead without a look at the end of the chain: %v", err)
	}
	if brought := b.scan(); len(brought.Settled) != 1 || b.payment(first.ID).State != transaction.PaymentDead {
		t.Errorf("%+v", brought)
	}
	if money := b.balanced(); money[transaction.AccountReserved] != 0 {
		t.Errorf("%v", money)
	}

	snapshot := b.ok(b.Transactions.SnapshotOf(ctx, hash))
	if snapshot.Attempt != 1 || snapshot.Purchase.State != transaction.PaymentDead {
		t.Errorf("%+v", snapshot)
	}
	if b.accept(first) {
		t.Fatal("the contract takes an order that is too old")
	}

	second := b.signed(hash, transaction.Purchase)
	if second.Attempt != 1 || second.Seqno != first.Seqno {
		t.Errorf("%+v", second)
	}

	balance := b.balance
	b.balance = fee // the trap: the contract accepts the order, uses it up and pays nothing
	b.accept(second)
	b.balance = balance - fee
	b.scan()
	if got := b.payment(second.ID); got.State != transaction.PaymentDead || got.ChainHash == "" || got.PaidNano != 0 || got.GasNano != fee {
		t.Errorf("%+v", got)
	}

	b.balanced()

	b.seqno-- // the answer of a lagging server
	want := b.want(hash, transaction.Purchase)
	b.seqno++
	third, err := b.sign(want, transaction.Limits{})
	b.must(err)
	if third.Seqno != second.Seqno+1 {
		t.Errorf("%+v", third)
	}

	b.accept(third)
	b.scan()
	b.settle(third, transaction.Destination{Kept: true})
	b.ok(b.Transactions.Finish(ctx, hash, 1, true))
	want4 := []string{
		"detected", "locked", "payment_signed", "payment_dead", "payment_signed", "payment_dead", "payment_signed",
		"payment_paid", "payment_kept", "processed",
	}
	if events := b.events(hash); !slices.Equal(events, want4) {
		t.Errorf("%v", events)
	}

	b.balanced()
}

// TestRetryAfterDeath fails with a dead payment and is retried.
func TestRetryAfterDeath(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.signed(hash, transaction.Purchase)
	b.expire()
	b.fail(hash, "Wallet service error: Could not send transaction", lifecycle.Retryable, false)
	snapshot := b.ok(b.Transactions.Retry(t.Context(), transaction.Request{Hash: hash, Attempt: 1}))
	if snapshot.Attempt != 2 || snapshot.State != lifecycle.TransactionProcessing {
		t.Errorf("%+v", snapshot)
	}
	if payment := b.paid(hash); payment.Attempt != 2 || payment.State != transaction.PaymentPaid {
		t.Errorf("%+v", payment)
	}

	b.balanced()
}

// TestStrangePayments finds payments on the chain that we did not sign, or that counted as dead: a review is required,
// and nothing is bought again.
func TestStrangePayments(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	for name, change := range map[string]func(*transaction.ChainTransaction){
		"another amount":      func(t *transaction.ChainTransaction) { t.Out[0].Nano-- },
		"another destination": func(t *transaction.ChainTransaction) { t.Out[0].Destination = address("thief") },
		"another body":        func(t *transaction.ChainTransaction) { t.Out[0].BodyHash = digest("other") },
		"a second message": func(t *transaction.ChainTransaction) {
			t.Out = append(t.Out, transaction.OutMessage{Destination: shop, Nano: 1})
		},
	} {
		hash := b.ordered("ann", 3*coin)
		payment := b.signed(hash, transaction.Purchase)
		found := transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: payment.HashNorm},
			Out: []transaction.OutMessage{{Destination: shop, Nano: payment.AmountNano, BodyHash: payment.BodyHash}},
		}

		change(&found)
		b.happens(found)
		b.seqno++
		b.scan()
		if got := b.tx(hash); !got.NeedsReview || got.ReviewReason != transaction.ReviewMismatch || b.payment(payment.ID).State != transaction.PaymentPaid {
			t.Errorf("%s: %+v", name, got)
		}

		b.balanced()
	}

	hash := b.ordered("bob", 3*coin)
	late := b.signed(hash, transaction.Purchase)
	b.expire()
	again := b.paid(hash)
	b.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: late.HashNorm},
		Out: []transaction.OutMessage{{Destination: shop, Nano: late.AmountNano, BodyHash: late.BodyHash}},
	})
	b.scan()
	if got := b.tx(hash); got.ReviewReason != transaction.ReviewLate {
		t.Errorf("%+v", got)
	}
	if got := b.payment(late.ID); got.State != transaction.PaymentPaid || !got.Late {
		t.Errorf("%+v", got)
	}
	if live, err := b.Transactions.LivePayment(ctx, hash, transaction.Purchase); err != nil || live.ID != again.ID {
		t.Errorf("%+v, %v", live, err)
	}

	differences, err := b.Transactions.LedgerCheck(ctx, b.wallet)
	if err != nil || len(differences) != 1 || differences[0].What != "paid twice" || differences[0].Subject != hash {
		t.Errorf("%+v, %v", differences, err)
	}
}

// TestLatePaymentOfAFailure finds that a failed transaction was bought after all: no refund is signed, no retry is
// made.
func TestLatePaymentOfAFailure(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	found := func(p transaction.Payment) {
		b.happens(transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: p.HashNorm},
			Out: []transaction.OutMessage{{Destination: shop, Nano: p.AmountNano, BodyHash: p.BodyHash}},
		})
		b.scan()
	}

	rich := b.deposit("rich", 100*coin)
	owed := b.ordered("ann", 3*coin)
	first := b.signed(owed, transaction.Purchase)
	b.expire()
	b.fail(owed, "Username not found", lifecycle.NonRetryable, true)

	order := b.want(owed, transaction.Refund)
	found(first)
	_, err := b.sign(order, transaction.Limits{})
	b.refused(err, fault.InvalidTransition)
	if queue, err := b.Transactions.PaymentQueue(ctx, b.wallet, 10); err != nil || len(queue) != 1 || queue[0].TransactionHash != rich {
		t.Errorf("%+v, %v", queue, err)
	}

	b.ok(b.Transactions.Resolve(ctx, transaction.Request{Hash: owed, Attempt: 1}, lifecycle.TransactionFailed, "m"))
	_, err = b.sign(order, transaction.Limits{})
	b.refused(err, fault.PaymentUndecided)

	failed := b.ordered("bob", 3*coin)
	second := b.signed(failed, transaction.Purchase)
	b.expire()
	b.fail(failed, "m", lifecycle.UnknownError, false)
	found(second)
	_, err = b.Transactions.Retry(ctx, transaction.Request{Hash: failed, Attempt: 1})
	b.refused(err, fault.PaymentUndecided)
	_, err = b.Transactions.Resolve(
		ctx, transaction.Request{Hash: failed, Attempt: 1}, lifecycle.TransactionProcessed, "",
	)

	b.refused(err, fault.InvalidTransition)
	b.balanced()
}

// TestAbandonedPurchases lists purchases that nothing else follows: paid, not known to be kept, and without a waiting
// workflow.
func TestAbandonedPurchases(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	want := func(when string, n int) {
		t.Helper()
		if loose, err := b.Transactions.Loose(ctx, b.wallet, 10, 10); err != nil || len(loose.Abandoned) != n {
			t.Errorf("%s: %+v, %v", when, loose, err)
		}
	}

	hash := b.ordered("ann", 3*coin)
	payment := b.paid(hash)
	want("its workflow asks", 0)
	b.ok(b.Transactions.Review(ctx, hash, 1, "not_confirmed"))
	want("in review", 1)
	b.ok(b.Transactions.Resolve(ctx, transaction.Request{Hash: hash, Attempt: 1}, lifecycle.TransactionFailed, "m"))
	want("ended without it", 1)
	b.settle(payment, transaction.Destination{ReturnedNano: payment.PaidNano - 1})
	want("it is back", 0)
	b.balanced()
}

// TestBounce gets a purchase's money back, and learns of it from both sides in either order.
func TestBounce(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	for _, chainFirst := range []bool{true, false} {
		hash := b.ordered("ann", 3*coin)
		payment := b.paid(hash)
		before := b.balanced()
		back := payment.PaidNano - fee

		if chainFirst {
			b.bounce(shop, back)
			b.scan()
			if money := b.balanced(); money[transaction.AccountReturning] != -back {
				t.Errorf("%v", money)
			}
		}

		_, err := b.Transactions.SettleDestination(ctx, payment, transaction.Destination{ReturnedNano: payment.PaidNano + 1})
		b.refused(err, fault.Validation)
		for range 2 {
			if ref := b.settle(payment, transaction.Destination{ReturnedNano: back}); ref.State != transaction.PaymentBounced {
				t.Errorf("%+v", ref)
			}
		}

		_, err = b.Transactions.SettleDestination(ctx, payment, transaction.Destination{Kept: true})
		b.refused(err, fault.InvalidTransition)
		if !chainFirst {
			if money := b.balanced(); money[transaction.AccountReturning] != back {
				t.Errorf("%v", money)
			}
			b.bounce(shop, back)
			if brought := b.scan(); len(brought.NewDeposits) != 0 {
				t.Errorf("our own money passes for a deposit: %+v", brought)
			}
		}

		after := b.balanced()
		if after[transaction.AccountReturning] != 0 || after[transaction.AccountPaid] != before[transaction.AccountPaid]-payment.PaidNano ||
			after[transaction.AccountGas] != before[transaction.AccountGas]+2*fee || after[transaction.AccountWallet] != b.balance {
			t.Errorf("before %v, after %v", before, after)
		}
		if again := b.bought(hash); again.ID == payment.ID {
			t.Errorf("%+v", again)
		}
	}
}

// TestRefund refunds a deposit, less its cost: not to another sender, not more, not twice, and again after failures.
func TestRefund(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	b.deposit("rich", 100*coin)
	hash := b.ordered("ann", 3*coin)
	snapshot := b.fail(hash, "Username not found", lifecycle.NonRetryable, true)
	if snapshot.RefundDue != 3*coin || b.balanced()[transaction.AccountRefundDue] != -3*coin {
		t.Errorf("%+v", snapshot)
	}

	for name, change := range map[string]func(*transaction.PaymentOrder){
		"to another one": func(o *transaction.PaymentOrder) { o.Destination = shop },
		"more":           func(o *transaction.PaymentOrder) { o.AmountNano++ },
		"without gas":    func(o *transaction.PaymentOrder) { o.GasNano++ },
	} {
		order := b.want(hash, transaction.Refund)
		change(&order)
		if _, err := b.sign(order, transaction.Limits{}); err == nil {
			t.Errorf("a refund %s", name)
		}
	}

	dead := b.signed(hash, transaction.Refund)
	if money := b.balanced(); money[transaction.AccountRefundDue] != 0 || money[transaction.AccountReserved] != -3*coin || b.tx(hash).RefundDueNano != 0 {
		t.Errorf("%v", money)
	}

	b.expire()
	if b.payment(dead.ID).State != transaction.PaymentDead || b.tx(hash).RefundDueNano != 3*coin {
		t.Errorf("%+v", b.payment(dead.ID))
	}

	b.balanced()

	bounced := b.signed(hash, transaction.Refund)
	b.accept(bounced)
	b.scan()
	if money := b.balanced(); money[transaction.AccountRefunded] != 3*coin-gas || money[transaction.AccountRefundDue] != 0 {
		t.Errorf("%v", money)
	}

	back := 3*coin - gas - fee
	b.settle(bounced, transaction.Destination{ReturnedNano: back})
	if b.tx(hash).RefundDueNano != back {
		t.Errorf("%+v", b.tx(hash))
	}

	b.bounce(address("ann"), back)
	b.scan()
	b.balanced()

	kept := b.signed(hash, transaction.Refund)
	b.accept(kept)
	b.scan()
	b.settle(kept, transaction.Destination{Kept: true})
	money := b.balanced()
	if money[transaction.AccountRefunded] != back-gas || money[transaction.AccountRefundDue] != 0 || b.tx(hash).Attempt != 1 {
		t.Errorf("%v", money)
	}

	if got := b.ok(b.Transactions.SnapshotOf(ctx, hash)); got.Refund == nil || !got.Refund.Kept || got.Purchase != nil {
		t.Errorf("%+v", got)
	}
}

// TestWriteOff cancels a debt: it is no longer owed to anybody and never paid back; refused while it may be in transit.
func TestWriteOff(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	ctx := t.Context()
	b.deposit("rich", 100*coin)
	hash := b.ordered("ann", 3*coin)
	request := transaction.Request{Hash: hash, Attempt: 1, Comment: "paid back by hand"}
	_, err := b.Transactions.WriteOffRefund(ctx, request)
	b.refused(err, fault.InvalidTransition) // nothing is owed
	b.fail(hash, "Username not found", lifecycle.NonRetryable, true)
	b.signed(hash, transaction.Refund)
	_, err = b.Transactions.WriteOffRefund(ctx, request)
	b.refused(err, fault.InvalidTransition) // it is in transit
	b.expire()

	order := b.want(hash, transaction.Refund)
	request.RequestID = "once"
	for range 2 { // the second one changes nothing
		if got := b.ok(b.Transactions.WriteOffRefund(ctx, request)); got.RefundDue != 0 || got.State != lifecycle.TransactionFailed {
			t.Errorf("%+v", got)
		}
	}

	_, err = b.sign(order, transaction.Limits{})
	b.refused(err, fault.InvalidTransition)
	if money := b.balanced(); money[transaction.AccountRefundDue] != 0 || money[transaction.AccountReceived] != -103*coin {
		t.Errorf("%v", money)
	}
	if events := b.events(hash); events[len(events)-1] != "written_off" || slices.Contains(events[:len(events)-1], "written_off") {
		t.Errorf("%v", events)
	}
}

// TestWriteOffDecides ends the review of a refund above the limit: there is nothing left to approve.
func TestWriteOffDecides(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.fail(hash, "Username not found", lifecycle.NonRetryable, true)
	if got := b.ok(b.Transactions.ReviewPayment(t.Context(), hash, transaction.Limits{})); !got.NeedsReview {
		t.Fatalf("%+v", got)
	}

	got := b.ok(b.Transactions.WriteOffRefund(t.Context(), transaction.Request{Hash: hash, Attempt: 1}))
	if got.NeedsReview || got.RefundDue != 0 || got.State != lifecycle.TransactionFailed {
		t.Errorf("%+v", got)
	}

	b.balanced()
}

// TestDailyLimit counts what was signed in the last day and is not dead.
func TestDailyLimit(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	limits := transaction.Limits{PerDay: 4 * coin}
	b.signed(b.ordered("a", 3*coin), transaction.Purchase)
	b.expire() // dead: it does not count
	b.bought(b.ordered("b", 3*coin))
	hash := b.ordered("c", 3*coin)
	first, err := b.sign(b.want(hash, transaction.Purchase), limits)
	b.must(err)
	b.accept(first)
	b.scan()
	b.settle(first, transaction.Destination{Kept: true})
	b.ok(b.Transactions.Finish(t.Context(), hash, 1, true))
	next := b.ordered("d", 3*coin)
	_, err = b.sign(b.want(next, transaction.Purchase), limits)
	b.refused(err, fault.DailyLimit)
	b.exec(`UPDATE payments SET created_at = created_at - interval '24 hours'`)
	if _, err = b.sign(b.want(next, transaction.Purchase), limits); err != nil {
		t.Errorf("a day later: %v", err)
	}

	b.expire()
	for _, limits := range []transaction.Limits{{PerDay: coin}, {PerDay: coin, PerPurchase: 9 * coin}} {
		_, err = b.sign(b.want(next, transaction.Purchase), limits)
		b.refused(err, fault.PaymentLimit) // it would never fit into a day, and block all others until then
	}
}

// TestMoneyThatComesBackAfterSuccess requires another review when a purchase resolved as processed turns out to be
// unpaid.
func TestMoneyThatComesBackAfterSuccess(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	admin := b.user(1)
	hash := b.ordered("ann", 3*coin)
	payment := b.paid(hash)
	b.ok(b.Transactions.Review(t.Context(), hash, 1, transaction.ReviewNotConfirmed))
	processed := transaction.Request{Hash: hash, Attempt: 1, ActorID: &admin.ID}
	b.ok(b.Transactions.Resolve(t.Context(), processed, lifecycle.TransactionProcessed, ""))

	b.settle(payment, transaction.Destination{ReturnedNano: payment.PaidNano - fee})
	if got := b.tx(hash); got.State != lifecycle.TransactionProcessed || !got.NeedsReview || got.ReviewReason != transaction.ReviewBounced {
		t.Errorf("%+v", got)
	}

	alerts, err := b.Notices.Incidents(t.Context(), true, 0, 100)
	if err != nil || !slices.ContainsFunc(alerts, func(a notice.Incident) bool { return a.Kind == notice.AlertTransactionReview }) {
		t.Errorf("%+v, %v", alerts, err)
	}

	b.ok(b.Transactions.Resolve(t.Context(), processed, lifecycle.TransactionProcessed, ""))
	if got := b.tx(hash); got.NeedsReview {
		t.Errorf("%+v", got)
	}

	b.bounce(shop, payment.PaidNano-fee)
	b.scan()
	b.balanced()
}

// TestMoneyThatComesBackAfterFailure owes the deposit when the purchase of an order resolved as failed comes back: a
// workflow must be started for it.
func TestMoneyThatComesBackAfterFailure(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	admin := b.user(1)
	hash := b.ordered("ann", 3*coin)
	payment := b.paid(hash)
	if err := b.Transactions.MarkStarted(t.Context(), hash); err != nil {
		t.Fatal(err)
	}
	b.ok(b.Transactions.Review(t.Context(), hash, 1, transaction.ReviewNotConfirmed))
	b.ok(b.Transactions.Resolve(t.Context(), transaction.Request{Hash: hash, Attempt: 1, ActorID: &admin.ID}, lifecycle.TransactionFailed, "m"))

	unstarted := func(want int) {
		t.Helper()
		rows, err := b.Transactions.Unstarted(t.Context(), -time.Minute, 0, 10)
		if err != nil || len(rows) != want {
			t.Errorf("%+v, %v", rows, err)
		}
	}
	unstarted(0)
	b.settle(payment, transaction.Destination{ReturnedNano: payment.PaidNano - fee, Refund: true})
	unstarted(1)
	if got := b.tx(hash); got.RefundDueNano == 0 {
		t.Errorf("nothing is owed: %+v", got)
	}
}
