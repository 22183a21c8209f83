package transaction

import (
	"cmp"
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

// QuoteOrder reads a transaction's order and finds out the receiver, the number of Stars and the price. It moves no
// money. Errors have the failure's message, and its class as their type. When Fragment can answer no order now, the
// order goes on without a quote and gets one when its turn comes.
func (a *PaymentActivities) QuoteOrder(ctx context.Context, o Order) (Snapshot, error) {
	defer sendHeartbeats(ctx)()

	var record *transaction.Snapshot // as written by the quote; nil: nothing was quoted
	err := core.RetryWhileUnavailable(ctx, func() error {
		t, err := a.Store.TransactionByHash(ctx, o.Hash)
		if err == nil && t.Attempt == o.Attempt && t.State == lifecycle.TransactionProcessing {
			_, record, err = a.quote(ctx, t)
		}
		return err
	})

	waits, waitErr := a.waitsForFragment(ctx, o, err)
	switch {
	case err == nil:
	case ctx.Err() != nil, isRefusal(err, fault.StoreUnavailable):
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	case waitErr != nil:
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, waitErr)
	case fragment.Holds(err), waits:
		if err := a.hold(ctx, fault.CodeOf(err)); err != nil {
			return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
		}
	default:
		a.Log.Info("order not quoted", "transaction", o.Hash, "error", err)
		return Snapshot{}, failed(failureOf(err), err)
	}

	if record != nil {
		return a.Settings.answer(ctx, *record, nil)
	}
	return a.loadSnapshot(ctx, o.Hash)
}

// quote finds out what a transaction buys now and records it. A refused order is recorded too, as far as it was read,
// so that people can see what it asked for. saved is the record then; nil: nothing was written.
func (a *PaymentActivities) quote(
	ctx context.Context, t transaction.Transaction,
) (quote transaction.Quote, saved *transaction.Snapshot, err error) {
	quote = transaction.Quote{Hash: t.Hash, Attempt: t.Attempt}
	order, err := stars.Parse(t.Comment, a.Settings.MaxStars)
	if err != nil {
		return quote, nil, err
	}

	quote.Username, quote.Stars = order.Username, order.Stars
	err = a.price(ctx, t, &quote)
	record, saveErr := a.Store.SaveQuote(ctx, quote)
	if saveErr != nil {
		return quote, nil, saveErr
	}
	return quote, &record, err
}

// price completes a quote.
func (a *PaymentActivities) price(ctx context.Context, t transaction.Transaction, quote *transaction.Quote) error {
	if quote.Stars > 0 {
		return a.fit(ctx, t, quote, false)
	}

	unit, err := a.Fragment.Price(ctx, stars.Least)
	if err != nil {
		return err
	}

	quote.Stars = stars.Bought(a.worth(t), unit)
	if err := stars.CheckNumber(quote.Stars, a.Settings.MaxStars); err != nil {
		quote.Stars = 0
		return err
	}

	return a.fit(ctx, t, quote, true)
}

// worth is what a transfer may spend on Stars.
func (a *PaymentActivities) worth(t transaction.Transaction) money.Nano {
	return money.Nano(t.AmountNano - a.Settings.Reserve)
}

// fit finds the receiver, and the price of so many Stars, at once. With fewer it lowers their number until the price
// fits.
func (a *PaymentActivities) fit(
	ctx context.Context, t transaction.Transaction, quote *transaction.Quote, fewer bool,
) error {
	recipient, price, err := together(
		func() (fragment.Recipient, error) { return a.Fragment.Search(ctx, quote.Username, int(quote.Stars)) },
		func() (money.Nano, error) { return a.Fragment.Price(ctx, int(quote.Stars)) },
	)
	if err != nil {
		return err
	}

	for asked := 1; ; asked++ {
		switch {
		case price <= a.worth(t):
			quote.PriceNano, quote.Recipient = int64(price), recipient.ID
			return nil
		case !fewer:
			return stars.InsufficientAmount
		case asked == mostPrices:
			return stars.PriceMoved
		}

		quote.Stars = stars.Fewer(quote.Stars, price, a.worth(t))
		if err := stars.CheckNumber(quote.Stars, a.Settings.MaxStars); err != nil {
			quote.Stars = 0
			return err
		}
		if price, err = a.Fragment.Price(ctx, int(quote.Stars)); err != nil {
			return err
		}
	}
}

// mostPrices is how often a number of Stars is made to fit: one or two prices are enough, unless the price moves
// meanwhile.
const mostPrices = 5

// PayOrder signs and broadcasts the payment that buys a transaction's Stars, unless there is one already.
func (a *PaymentActivities) PayOrder(ctx context.Context, o Order) (Payment, error) {
	defer sendHeartbeats(ctx)()
	return a.pay(ctx, o, transaction.Purchase, a.buy)
}

// buy requests a payment from Fragment and checks it. When the price has moved since the quote, the order is priced
// anew, once.
func (a *PaymentActivities) buy(ctx context.Context, t transaction.Transaction) (draft, error) {
	quote := transaction.Quote{Username: t.Username, Stars: t.Stars, PriceNano: t.QuoteNano, Recipient: t.Recipient}
	for fresh := quote.PriceNano == 0; ; fresh = true {
		if fresh {
			var err error
			if quote, _, err = a.quote(ctx, t); err != nil {
				return draft{}, err
			}
		}

		request, err := a.Fragment.Init(ctx, fragment.Recipient{ID: quote.Recipient}, int(quote.Stars))
		if err != nil {
			return draft{}, err
		}
		if stars.Acceptable(request.Amount, money.Nano(quote.PriceNano), a.Settings.Slippage) {
			return a.link(ctx, request, quote)
		}
		if fresh {
			return draft{}, stars.PriceMoved
		}
	}
}

// link requests the payment of a purchase request and checks it.
func (a *PaymentActivities) link(ctx context.Context, request fragment.Request, quote transaction.Quote) (draft, error) {
	link, err := a.Fragment.Link(ctx, request.ID)
	switch {
	case err != nil:
		return draft{}, err
	case !slices.Contains(a.Allow, link.To):
		return draft{}, fault.New(fault.PaymentNotAllowed, "the payment goes to an address that is not allowed")
	case link.Amount != request.Amount, int64(link.Stars) != quote.Stars:
		return draft{}, stars.Suspicious
	}

	return draft{
		payment:   ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce},
		requestID: link.ConfirmID, until: link.ValidUntil,
	}, nil
}

// ConfirmPurchase notifies Fragment of a paid purchase and waits until the receiver has kept the money and the Stars
// are sent; then the transaction is processed. Each try queries once.
func (a *PaymentActivities) ConfirmPurchase(ctx context.Context, o Order) (Snapshot, error) {
	defer sendHeartbeats(ctx)()

	payment, err := a.Store.LivePayment(ctx, o.Hash, transaction.Purchase)
	if err != nil {
		return Snapshot{}, temporalio.RetryUntilSeen(ctx, err)
	}
	if payment == nil || payment.State != transaction.PaymentPaid { // it bounced, or was never paid
		return a.loadSnapshot(ctx, o.Hash)
	}

	record, err := a.finish(ctx, o, *payment)
	if fragment.Holds(err) {
		// The money is paid: the only way on is to query again.
		err = cmp.Or(a.hold(ctx, fault.CodeOf(err)), error(notYet))
	}
	return a.Settings.answer(ctx, record, err)
}

// finish processes the transaction of a paid purchase once the receiver has kept the money and the Stars are sent. A
// purchase whose money came back is left to the workflow.
func (a *PaymentActivities) finish(
	ctx context.Context, o Order, payment transaction.Payment,
) (transaction.Snapshot, error) {
	var asked error // of Fragment, whose answer does not matter when the money came back
	ref, done, err := together(
		func() (transaction.PaymentRef, error) {
			return settleDestination(ctx, a.Chain, a.Store, payment, a.Settings.Refund)
		},
		func() (done bool, _ error) { done, asked = a.done(ctx, payment); return done, nil },
	)
	if err != nil {
		return transaction.Snapshot{}, err
	}
	if ref.State != transaction.PaymentPaid {
		return a.Store.SnapshotOfTransaction(ctx, o.Hash)
	}

	if asked == nil && (!done || !ref.Kept) {
		asked = notYet
	}
	if asked != nil {
		return transaction.Snapshot{}, asked
	}

	record, err := a.Store.FinishTransaction(ctx, o.Hash, o.Attempt)
	countEnd(a.Metrics, record, err)
	return record, err
}

// done queries whether the Stars are sent. The order has the wallet's turn until then, so the session's last purchase
// is this one.
func (a *PaymentActivities) done(ctx context.Context, payment transaction.Payment) (bool, error) {
	if payment.RequestID != "" {
		if err := a.Fragment.Confirm(ctx, payment.RequestID, payment.BoC); err != nil {
			a.Log.Warn("purchase not confirmed", "payment", payment.ID, "error", err) // Fragment sees the payment by itself, too
		}
	}
	state, err := a.Fragment.State(ctx, fragmentProcessing)
	if err == nil && state.NeedUpdate {
		state, err = a.Fragment.State(ctx, state.Mode)
	}
	return state.Done(), err
}

// fragmentProcessing is what a page shows while a purchase is in progress.
const fragmentProcessing = "processing"
