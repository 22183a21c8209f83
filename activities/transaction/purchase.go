package transaction

import (
	"context"
	"slices"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
)

// QuoteOrder reads a transaction's order and finds out whom the Stars are for, how many, and at what price. It moves no
// money. Errors have the failure's message, and its class as their type. When Fragment can answer nobody now, the order
// is let through without a quote: it will have one when its turn comes.
func (c *PaymentActivities) QuoteOrder(ctx context.Context, o Order) (Snapshot, error) {
	if c.Wallet == nil {
		return Snapshot{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()

	err := core.RetryWhileUnavailable(ctx, func() error {
		transaction, err := c.Store.TransactionByHash(ctx, o.Hash)
		if err == nil && transaction.Attempt == o.Attempt && transaction.State == lifecycle.TransactionProcessing {
			_, err = c.quote(ctx, transaction)
		}
		return err
	})

	waits, waitErr := c.waitsForFragment(ctx, o, err)
	switch {
	case err == nil:
	case ctx.Err() != nil, isRefusal(err, fault.StoreUnavailable):
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	case waitErr != nil:
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, waitErr)
	case fragment.ClassOf(err) == fragment.Hold, waits:
		if err := c.hold(ctx, fault.CodeOf(err)); err != nil {
			return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
	default:
		c.Log.Info("order not quoted", "transaction", o.Hash, "error", err)
		return Snapshot{}, failed(failureOf(err), err)
	}

	return c.look(ctx, o.Hash)
}

// quote finds out what a transaction buys now and writes it down: as much as there is even when the order is refused,
// for those who want to know what it asked for.
func (c *PaymentActivities) quote(ctx context.Context, t transaction.Transaction) (transaction.Quote, error) {
	quote := transaction.Quote{Hash: t.Hash, Attempt: t.Attempt}
	order, err := stars.Parse(t.Comment, c.Settings.MaxStars)
	if err != nil {
		return quote, err
	}

	quote.Username, quote.Stars = order.Username, order.Stars
	err = c.price(ctx, t, &quote)
	if _, saveErr := c.Store.SaveQuote(ctx, quote); saveErr != nil {
		return quote, saveErr
	}

	return quote, err
}

// price completes a quote.
func (c *PaymentActivities) price(ctx context.Context, t transaction.Transaction, quote *transaction.Quote) error {
	if quote.Stars == 0 {
		unit, err := c.Fragment.Price(ctx, stars.Least)
		if err != nil {
			return err
		}
		quote.Stars = stars.Bought(c.worth(t), unit)
		if err := stars.CheckNumber(quote.Stars, c.Settings.MaxStars); err != nil {
			quote.Stars = 0
			return err
		}
		return c.fit(ctx, t, quote, true)
	}

	return c.fit(ctx, t, quote, false)
}

// worth is what a transfer may spend on Stars.
func (c *PaymentActivities) worth(t transaction.Transaction) money.Nano {
	return money.Nano(t.AmountNano - c.Settings.Reserve)
}

// fit finds the receiver, and the price of so many Stars. With fewer their number may go down until the price fits.
func (c *PaymentActivities) fit(ctx context.Context, t transaction.Transaction, quote *transaction.Quote, fewer bool) error {
	recipient, err := c.Fragment.Search(ctx, quote.Username, int(quote.Stars))
	if err != nil {
		return err
	}

	for range mostPrices {
		price, err := c.Fragment.Price(ctx, int(quote.Stars))
		switch {
		case err != nil:
			return err
		case price <= c.worth(t):
			quote.PriceNano, quote.Recipient = int64(price), recipient.ID
			return nil
		case !fewer:
			return stars.InsufficientAmount
		}

		quote.Stars = stars.Fewer(quote.Stars, price, c.worth(t))
		if err := stars.CheckNumber(quote.Stars, c.Settings.MaxStars); err != nil {
			quote.Stars = 0
			return err
		}
	}

	return stars.PriceMoved
}

// mostPrices is how often a number of Stars is made to fit: it takes one or two, unless the price moves meanwhile.
const mostPrices = 5

// PayOrder signs and broadcasts the payment that buys a transaction's Stars, unless there is one already.
func (c *PaymentActivities) PayOrder(ctx context.Context, o Order) (Payment, error) {
	if c.Wallet == nil {
		return Payment{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()
	return c.pay(ctx, o, transaction.Purchase, c.buy)
}

// buy asks Fragment for a payment and looks at it with suspicion. The price may have moved since the quote: then the
// order is priced anew, once.
func (c *PaymentActivities) buy(ctx context.Context, t transaction.Transaction) (signature, error) {
	quote := transaction.Quote{Username: t.Username, Stars: t.Stars, PriceNano: t.QuoteNano, Recipient: t.Recipient}
	fresh := false
	for {
		if quote.PriceNano == 0 || fresh {
			var err error
			if quote, err = c.quote(ctx, t); err != nil {
				return signature{}, err
			}
			fresh = true
		}

		request, err := c.Fragment.Init(ctx, fragment.Recipient{ID: quote.Recipient}, int(quote.Stars))
		if err != nil {
			return signature{}, err
		}
		if stars.Acceptable(request.Amount, money.Nano(quote.PriceNano), c.Settings.Slippage) {
			return c.link(ctx, request, quote)
		}
		if fresh {
			return signature{}, stars.PriceMoved
		}

		fresh = true
	}
}

// link asks for the payment of a request and checks it.
func (c *PaymentActivities) link(ctx context.Context, request fragment.Request, quote transaction.Quote) (signature, error) {
	link, err := c.Fragment.Link(ctx, request.ID)
	switch {
	case err != nil:
		return signature{}, err
	case !slices.Contains(c.Allow, link.To):
		return signature{}, fault.New(fault.PaymentNotAllowed, "the payment goes to an address that is not allowed")
	case link.Amount != request.Amount, int64(link.Stars) != quote.Stars:
		return signature{}, stars.Suspicious
	}

	return signature{
		payment:   ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce},
		requestID: link.ConfirmID, until: link.ValidUntil,
	}, nil
}

// ConfirmPurchase tells Fragment of a paid purchase and waits until the receiver has kept the money and the Stars are
// sent; then the transaction is processed. Each try asks once.
func (c *PaymentActivities) ConfirmPurchase(ctx context.Context, o Order) (Snapshot, error) {
	if c.Wallet == nil {
		return Snapshot{}, refuseHere(ctx)
	}
	defer sendHeartbeats(ctx)()

	payment, err := c.Store.LivePayment(ctx, o.Hash, transaction.Purchase)
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	if payment == nil || payment.State != transaction.PaymentPaid { // it bounced, or was never paid
		return c.look(ctx, o.Hash)
	}

	ref, err := settleDestination(ctx, c.Chain, c.Store, *payment, c.Settings.Refund)
	if err == nil && ref.State == transaction.PaymentPaid {
		var done bool
		if done, err = c.done(ctx, *payment); err == nil && !(done && ref.Kept) {
			err = notYet
		}
		if err == nil {
			var standing transaction.Snapshot
			standing, err = c.Store.FinishTransaction(ctx, o.Hash, o.Attempt)
			countEnd(c.Metrics, standing, err)
		}
	}

	if err != nil && fragment.ClassOf(err) == fragment.Hold {
		if err := c.hold(ctx, fault.CodeOf(err)); err != nil {
			return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
		err = notYet // the money is paid: there is nothing else to do but to ask again
	}

	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	return c.look(ctx, o.Hash)
}

// done asks whether the Stars are sent. The wallet's turn is the order's until then, so the session's last purchase is
// this one.
func (c *PaymentActivities) done(ctx context.Context, payment transaction.Payment) (bool, error) {
	if payment.RequestID != "" {
		if err := c.Fragment.Confirm(ctx, payment.RequestID, payment.BoC); err != nil {
			c.Log.Warn("purchase not confirmed", "payment", payment.ID, "error", err) // Fragment sees the payment by itself, too
		}
	}
	state, err := c.Fragment.State(ctx, fragmentProcessing)
	if err == nil && state.NeedUpdate {
		state, err = c.Fragment.State(ctx, state.Mode)
	}
	return state.Done(), err
}

// fragmentProcessing is what a page shows while a purchase is under way.
const fragmentProcessing = "processing"
