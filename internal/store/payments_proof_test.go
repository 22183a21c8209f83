package store_test

import (
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
)

// requested is the order of a purchase whose link accepts money for ten minutes.
func (b *bank) requested(hash string) transaction.PaymentOrder {
	b.t.Helper()
	order := b.want(hash, transaction.Purchase)
	order.RequestID, order.LinkUntil = "r", b.now.Add(10*time.Minute)
	return order
}

// signedForLink takes a new order to the signature of its purchase, whose link accepts money for ten minutes.
func (b *bank) signedForLink(sender string) (hash string, payment transaction.Payment) {
	b.t.Helper()
	hash = b.ordered(sender, 3*coin)
	payment, err := b.sign(b.requested(hash), transaction.Limits{})
	b.must(err)
	return hash, payment
}

// paidForLink takes a new order to a purchase on the chain, within its link's time.
func (b *bank) paidForLink(sender string) (hash string, payment transaction.Payment) {
	b.t.Helper()
	hash, payment = b.signedForLink(sender)
	b.accept(payment)
	b.scan()
	return hash, payment
}

// laterRequest begins to buy another order, after the time in which a paid purchase must be confirmed.
func (b *bank) laterRequest(p transaction.Payment) {
	b.t.Helper()
	b.exec(`UPDATE payments SET settled_at = settled_at - $2::interval WHERE id = $1`, p.ID, transaction.ConfirmTime)
	b.ordered("later", 2*coin)
}

// TestProofOfAPurchase ends a paid purchase with every proof, and without one.
func TestProofOfAPurchase(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later, unconfirmed, unknown bool          // later request made; confirmation not accepted; link's end unknown
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
			hash, payment := b.paidForLink("ann")
			b.settle(payment, transaction.Destination{Kept: true, At: payment.LinkUntil.Add(c.arrived)})
			if !c.unconfirmed {
				b.must(b.Transactions.MarkPurchaseConfirmed(t.Context(), payment.ID))
			}
			if c.unknown {
				b.exec(`UPDATE payments SET link_until = NULL WHERE id = $1`, payment.ID)
			}
			if c.later {
				b.laterRequest(payment)
			}

			snapshot, err := b.Transactions.Finish(t.Context(), hash, 1, c.done)
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

// TestPurchaseThatCameBackIsNoProof tries to end a purchase whose money nobody kept.
func TestPurchaseThatCameBackIsNoProof(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash, payment := b.paidForLink("ann")
	b.must(b.Transactions.MarkPurchaseConfirmed(t.Context(), payment.ID))
	b.laterRequest(payment)
	_, err := b.Transactions.Finish(t.Context(), hash, 1, true)
	b.refused(err, fault.PaymentUndecided)
}

// TestMessageOfSeveralIsNoLostPayment reads a message with several payments, unlike any of ours: it belongs to no
// order.
func TestMessageOfSeveralIsNoLostPayment(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.seqno++
	lost := b.happens(transaction.ChainTransaction{
		ComputeOK: true, ActionOK: true, FeeNano: fee, In: transaction.InMessage{HashNorm: digest("lost", b.wallet)},
		Out: []transaction.OutMessage{
			{Destination: shop, Nano: coin / 2, BodyHash: digest("first")}, {Destination: shop, Nano: coin, BodyHash: digest("second")},
		},
	})
	b.scan()

	for _, payment := range []string{lost.Hash, lost.Out[0].Hash} {
		_, err := b.Transactions.Resolve(t.Context(), transaction.Request{Hash: hash, Attempt: 1, Payment: payment}, lifecycle.TransactionProcessed, "")
		b.refused(err, fault.Validation)
	}
	b.balanced()
}

// TestNoPurchaseIsTheLastAfterARestore sets the record back while a purchase is paid: Fragment's last one may be
// another.
func TestNoPurchaseIsTheLastAfterARestore(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash, payment := b.paidForLink("ann")
	if p, err := b.Transactions.LivePayment(t.Context(), hash, transaction.Purchase); err != nil || !p.Last {
		t.Errorf("%+v %v", p, err)
	}

	b.must(b.Operations.AfterRestore(t.Context()))
	b.settle(payment, transaction.Destination{Kept: true, At: b.now})
	_, err := b.Transactions.Finish(t.Context(), hash, 1, true)
	b.refused(err, fault.PaymentUndecided)
}
