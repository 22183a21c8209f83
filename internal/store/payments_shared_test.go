package store_test

import (
	"slices"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/transaction"
)

// sharing is the order of a purchase that shares the wallet, with the next request's number.
func (b *bank) sharing(hash string) transaction.PaymentOrder {
	b.t.Helper()
	order := b.want(hash, transaction.Purchase)
	number, err := b.NextRequest(b.t.Context(), b.wallet)
	b.must(err)
	order.RequestID, order.RequestNumber, order.LinkUntil, order.Shared = "r", number, b.now.Add(10*time.Minute), true
	return order
}

// signTogether signs the purchases of these orders, of which the first has the turn, and returns their payments.
func (b *bank) signTogether(hashes ...string) (payments []transaction.Payment) {
	b.t.Helper()
	var orders []transaction.PaymentOrder
	for _, hash := range hashes {
		orders = append(orders, b.sharing(hash))
	}

	_, err := b.SignPayment(b.t.Context(), orders[0], orders[1:], transaction.Limits{}, b.pen(orders[0]))
	b.must(err)
	for _, hash := range hashes {
		payment, err := b.LivePayment(b.t.Context(), hash, transaction.Purchase)
		b.must(err)
		if payment != nil {
			payments = append(payments, *payment)
		}
	}
	return payments
}

// paidShared takes an order to a purchase that shares the wallet and is on the chain.
func (b *bank) paidShared(sender string) (hash string, payment transaction.Payment) {
	b.t.Helper()
	hash = b.inLine(sender)[0]
	payment = b.signTogether(hash)[0]
	b.accept(payment)
	b.scan()
	return hash, payment
}

// inLine makes orders of different senders that wait for their turn, and returns them in its order.
func (b *bank) inLine(senders ...string) (hashes []string) {
	b.t.Helper()
	for _, sender := range senders {
		hash := b.ordered(sender, 3*coin)
		b.enter(hash, transaction.Purchase)
		hashes = append(hashes, hash)
	}
	return hashes
}

// TestPaidPurchaseGivesTheWalletFree pays a purchase that shares the wallet: the next order has the turn before the
// purchase has ended. One that does not share it keeps the turn.
func TestPaidPurchaseGivesTheWalletFree(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hashes := b.inLine("ann", "bob", "carl")
	ann := b.signTogether(hashes[0])[0]
	b.accept(ann)
	if granted := b.scan().Granted; granted == nil || granted.TransactionHash != hashes[1] {
		t.Errorf("the turn goes to %+v", granted)
	}

	bob, err := b.sign(b.want(hashes[1], transaction.Purchase), transaction.Limits{})
	b.must(err)
	b.accept(bob)
	if granted := b.scan().Granted; granted != nil {
		t.Errorf("the turn goes to %+v", granted)
	}

	b.settle(bob.ID, transaction.Destination{Kept: true, At: b.now})
	b.ok(b.FinishTransaction(t.Context(), hashes[1], 1, true))
	if line, err := b.PaymentQueue(t.Context(), b.wallet, 10); err != nil || len(line) != 1 || line[0].GrantedAt == nil {
		t.Errorf("%+v %v", line, err)
	}
	b.balanced()
}

// TestMessageOfSeveral signs three purchases in one message. They have the turn together, each is paid by its own part,
// and the part that the wallet cannot afford is dead without the others.
func TestMessageOfSeveral(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	b := newBank(t)
	hashes := b.inLine("ann", "bob", "carl", "dora")
	payments := b.signTogether(hashes[:3]...)
	for i, p := range payments {
		if p.Part != i || p.Parts != 3 || p.HashNorm != payments[0].HashNorm || p.Seqno != payments[0].Seqno {
			t.Errorf("%+v", p)
		}
	}

	line, err := b.PaymentQueue(ctx, b.wallet, 10)
	b.must(err)
	for i, entry := range line {
		if (entry.GrantedAt != nil) != (i < 3) {
			t.Errorf("%d: %+v", i, entry)
		}
	}

	pending, err := b.PendingSignalsOf(ctx, b.wallet, 10)
	b.must(err)
	if len(pending.Turns) != 2 {
		t.Errorf("the workflows of %+v have to know", pending.Turns)
	}

	b.balanced()
	b.balance = payments[0].AmountNano + payments[1].AmountNano + fee // as if somebody had taken the rest
	b.accept(payments...)
	brought := b.scan()
	if len(brought.Settled) != 3 || brought.Granted == nil || brought.Granted.TransactionHash != hashes[3] {
		t.Errorf("%+v", brought)
	}

	for i, state := range []transaction.PaymentState{transaction.PaymentPaid, transaction.PaymentPaid, transaction.PaymentDead} {
		if p := b.payment(payments[i].ID); p.State != state || p.ChainHash == "" || b.tx(hashes[i]).NeedsReview {
			t.Errorf("%d: %+v", i, p)
		}
	}
	if a, b := b.payment(payments[0].ID), b.payment(payments[1].ID); a.OutHash == b.OutHash || a.GasNano+b.GasNano > fee {
		t.Errorf("%+v %+v", a, b)
	}
}

// TestMessageThatNobodyCarriesOut is dead with all its parts.
func TestMessageThatNobodyCarriesOut(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hashes := b.inLine("ann", "bob")
	b.signTogether(hashes...)
	if brought := b.expire(); len(brought.Settled) != 2 {
		t.Errorf("%+v", brought)
	}
	for _, hash := range hashes {
		if snapshot, err := b.SnapshotOfTransaction(t.Context(), hash); err != nil || snapshot.Purchase.State != transaction.PaymentDead || snapshot.Turn != nil {
			t.Errorf("%+v %v", snapshot, err)
		}
	}
	b.balanced()
}

// TestStrangeMessageOfSeveral finds something else on the chain than the parts that were signed: a person reviews every
// part that is paid.
func TestStrangeMessageOfSeveral(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	for name, change := range map[string]func(*transaction.ChainTransaction){
		"another amount": func(t *transaction.ChainTransaction) { t.Out[1].Nano-- },
		"a third message": func(t *transaction.ChainTransaction) {
			t.Out = append(t.Out, transaction.OutMessage{Destination: shop, Nano: 1})
		},
		"one was skipped": func(t *transaction.ChainTransaction) { t.SkippedActions = 1 },
		"not carried out": func(t *transaction.ChainTransaction) { t.ActionOK = false },
	} {
		hashes := b.inLine("ann", "bob")
		payments := b.signTogether(hashes...)
		found := transaction.ChainTransaction{
			ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: payments[0].HashNorm},
		}
		for _, p := range payments {
			found.Out = append(found.Out, transaction.OutMessage{Destination: shop, Nano: p.AmountNano, BodyHash: p.BodyHash})
		}

		change(&found)
		b.happens(found)
		b.seqno++
		b.scan()
		for _, hash := range hashes {
			if got := b.tx(hash); got.ReviewReason != transaction.ReviewMismatch {
				t.Errorf("%s: %+v", name, got)
			}
		}
		b.balanced()
	}
}

// TestWhatDoesNotGoAlong asks for a message with a purchase that may not share it: that order stays in line.
func TestWhatDoesNotGoAlong(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits transaction.Limits
		spoil  func(b *bank, first, other *transaction.PaymentOrder)
	}{
		"it keeps the wallet":    {spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.Shared = false }},
		"the first keeps it":     {spoil: func(_ *bank, first, _ *transaction.PaymentOrder) { first.Shared = false }},
		"it has no confirmation": {spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.RequestID = "" }},
		"its link has no end":    {spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.LinkUntil = time.Time{} }},
		"it is equal": {spoil: func(_ *bank, first, other *transaction.PaymentOrder) {
			other.AmountNano, other.BodyHash = first.AmountNano, first.BodyHash
		}},
		"another attempt": {spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.Attempt++ }},
		"it has left": {spoil: func(b *bank, _, other *transaction.PaymentOrder) {
			b.must(b.LeaveQueue(b.t.Context(), other.Hash, transaction.Purchase))
		}},
		"the day's limit":  {limits: transaction.Limits{PerDay: 3 * coin}},
		"too much for one": {limits: transaction.Limits{PerPurchase: 2*coin + 1}, spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.AmountNano += 2 }},
		"not covered":      {spoil: func(_ *bank, _, other *transaction.PaymentOrder) { other.AmountNano += 2 * coin }},
		"an old process": {spoil: func(b *bank, _, _ *transaction.PaymentOrder) {
			b.must(b.SaveHeartbeat(b.t.Context(), operations.Process{Identity: "old", Service: "worker", StartedAt: time.Now()}, nil))
			b.exec(`UPDATE processes SET capabilities = '{}' WHERE identity = 'old'`)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			hashes := b.inLine("ann", "bob")
			first, other := b.sharing(hashes[0]), b.sharing(hashes[1])
			if c.spoil != nil {
				c.spoil(b, &first, &other)
			}

			payment, err := b.SignPayment(t.Context(), first, []transaction.PaymentOrder{other}, c.limits, b.pen(first))
			if err != nil || payment.Parts != 1 {
				t.Errorf("%+v %v", payment, err)
			}
			if snapshot, err := b.SnapshotOfTransaction(t.Context(), hashes[1]); err != nil || snapshot.Purchase != nil || snapshot.Turn != nil && snapshot.Turn.Granted {
				t.Errorf("%+v %v", snapshot, err)
			}
			b.balanced()
		})
	}

	b := newBank(t)
	b.must(b.SaveHeartbeat(t.Context(), operations.Process{Identity: "new", Service: "worker", StartedAt: time.Now()}, nil))
	if payments := b.signTogether(b.inLine("ann", "bob")...); len(payments) != 2 {
		t.Errorf("with nothing against it: %+v", payments)
	}
}

// TestProbeGoesAlone signs the purchase that tests whether the cause of a hold is gone.
func TestProbeGoesAlone(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	b.must(b.Hold(t.Context(), b.wallet, "r", time.Now().Add(-time.Second)))
	if payments := b.signTogether(b.inLine("ann", "bob")...); len(payments) != 1 {
		t.Errorf("%+v", payments)
	}
	b.must(b.Resume(t.Context(), ""))
}

// TestOrdersBeside takes turns of the senders, and leaves out who may not be bought now.
func TestOrdersBeside(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	line := b.inLine("ann", "ann", "ann", "bob", "carl", "bob")
	unquoted := b.deposit("dora", 3*coin)
	b.ok(b.LockTransaction(t.Context(), unquoted))
	b.enter(unquoted, transaction.Purchase)

	beside, err := b.OrdersBeside(t.Context(), b.wallet, line[0], 10)
	if want := []string{line[3], line[4], line[1], line[5], line[2]}; err != nil || !slices.Equal(beside, want) {
		t.Errorf("%v, want %v (%v)", beside, want, err)
	}
	if beside, err := b.OrdersBeside(t.Context(), b.wallet, line[0], 2); err != nil || !slices.Equal(beside, []string{line[3], line[4]}) {
		t.Errorf("%v %v", beside, err)
	}
}

// TestProofOfAPurchase ends a paid purchase with every proof, and without one.
func TestProofOfAPurchase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later, unconfirmed, unknown bool          // a later request was made; the confirmation was not taken; the link's end is not known
		arrived                     time.Duration // after the link's end
		done, proven                bool
	}{
		"the last one, and done":        {done: true, unconfirmed: true, proven: true},
		"the last one, and not done":    {},
		"not the last":                  {later: true, proven: true},
		"done is about another":         {later: true, done: true, unconfirmed: true},
		"not confirmed":                 {later: true, unconfirmed: true},
		"at the last moment":            {later: true, arrived: 0, proven: true},
		"too late":                      {later: true, arrived: time.Second},
		"too late, and another is done": {later: true, arrived: time.Second, done: true},
		"it is not known when it ends":  {later: true, unknown: true, done: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBank(t)
			hash, payment := b.paidShared("ann")
			b.settle(payment.ID, transaction.Destination{Kept: true, At: payment.LinkUntil.Add(c.arrived)})
			if !c.unconfirmed {
				b.must(b.MarkPurchaseConfirmed(t.Context(), payment.ID))
			}
			if c.unknown {
				b.exec(`UPDATE payments SET link_until = NULL WHERE id = $1`, payment.ID)
			}
			if c.later {
				_, err := b.NextRequest(t.Context(), b.wallet)
				b.must(err)
			}

			snapshot, err := b.FinishTransaction(t.Context(), hash, 1, c.done)
			switch {
			case c.proven && (err != nil || snapshot.State != lifecycle.TransactionProcessed):
				t.Errorf("%+v %v", snapshot, err)
			case !c.proven:
				b.refused(err, fault.PaymentUndecided)
				if got := b.tx(hash); got.State != lifecycle.TransactionProcessing {
					t.Errorf("%+v", got)
				}
			}
			b.balanced()
		})
	}
}

// TestPurchaseThatCameBackIsNoProof asks for the end of a purchase that no one has kept.
func TestPurchaseThatCameBackIsNoProof(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash, payment := b.paidShared("ann")
	b.must(b.MarkPurchaseConfirmed(t.Context(), payment.ID))
	_, err := b.NextRequest(t.Context(), b.wallet)
	b.must(err)
	_, err = b.FinishTransaction(t.Context(), hash, 1, true)
	b.refused(err, fault.PaymentUndecided)
}

// TestLostMessageOfSeveral reads a message of several payments that the record has lost. A person says which part was
// whose.
func TestLostMessageOfSeveral(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hashes := b.inLine("ann", "bob", "carl")
	b.seqno++
	lost := b.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: digest("lost", b.wallet)},
		Out: []transaction.OutMessage{
			{Destination: shop, Nano: coin, BodyHash: digest("first")}, {Destination: shop, Nano: 2 * coin, BodyHash: digest("second")},
		},
	})
	b.scan()

	resolve := func(hash, payment string) error {
		_, err := b.ResolveTransaction(t.Context(), transaction.Request{Hash: hash, Attempt: 1, Payment: payment}, lifecycle.TransactionProcessed, "")
		return err
	}
	b.refused(resolve(hashes[0], lost.Hash), fault.Validation) // of which part?
	b.must(resolve(hashes[0], lost.Out[0].Hash))
	b.refused(resolve(hashes[1], lost.Out[0].Hash), fault.Validation) // it was the other one's
	b.must(resolve(hashes[1], lost.Out[1].Hash))
	if first, second := b.tx(hashes[0]), b.tx(hashes[1]); first.FragmentTransactionHash != lost.Hash || second.FragmentTransactionHash != lost.Hash {
		t.Errorf("%+v %+v", first, second)
	}
	b.balanced()
}

// TestNoPurchaseIsTheLastAfterARestore sets the record back while purchases are paid: Fragment's last one may be another.
func TestNoPurchaseIsTheLastAfterARestore(t *testing.T) {
	t.Parallel()
	for name, sign := range map[string]func(b *bank, hash string) transaction.Payment{
		"with a number":    func(b *bank, hash string) transaction.Payment { return b.signTogether(hash)[0] },
		"without a number": func(b *bank, hash string) transaction.Payment { return b.signed(hash, transaction.Purchase) },
	} {
		b := newBank(t)
		hash := b.inLine("ann")[0]
		payment := sign(b, hash)
		b.accept(payment)
		b.scan()
		if p, err := b.LivePayment(t.Context(), hash, transaction.Purchase); err != nil || !p.Last {
			t.Errorf("%s: %+v %v", name, p, err)
		}

		b.must(b.AfterRestore(t.Context()))
		b.settle(payment.ID, transaction.Destination{Kept: true, At: b.now})
		_, err := b.FinishTransaction(t.Context(), hash, 1, true)
		b.refused(err, fault.PaymentUndecided)
	}
}
