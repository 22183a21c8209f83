package transaction

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.temporal.io/sdk/activity"

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
	defer temporalio.SendHeartbeats(ctx)()

	var record *transaction.Snapshot // as written by the quote; nil: nothing was quoted
	err := core.RetryWhileUnavailable(ctx, func() error {
		t, err := a.Store.ByHash(ctx, o.Hash)
		if err == nil && t.Attempt == o.Attempt && t.State == lifecycle.TransactionProcessing {
			_, record, err = a.quote(ctx, t, priceAge)
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
// so that people can see what it asked for. saved is the record then; nil: nothing was written. Prices are at most age
// old.
func (a *PaymentActivities) quote(
	ctx context.Context, t transaction.Transaction, age time.Duration,
) (quote transaction.Quote, saved *transaction.Snapshot, err error) {
	quote = transaction.Quote{Hash: t.Hash, Attempt: t.Attempt}
	order, err := stars.Parse(t.Comment, a.Settings.MaxStars)
	if err != nil {
		return quote, nil, err
	}

	quote.Username, quote.Stars = order.Username, order.Stars
	err = a.price(ctx, t, &quote, age)
	record, saveErr := a.Store.SaveQuote(ctx, quote)
	if saveErr != nil {
		return quote, nil, saveErr
	}
	return quote, &record, err
}

// price completes a quote.
func (a *PaymentActivities) price(
	ctx context.Context, t transaction.Transaction, quote *transaction.Quote, age time.Duration,
) error {
	if quote.Stars > 0 {
		return a.fit(ctx, t, quote, age, false)
	}

	unit, err := a.priceOf(ctx, stars.Least, age)
	if err != nil {
		return err
	}

	quote.Stars = stars.Bought(a.worth(t), unit)
	if err := stars.CheckNumber(quote.Stars, a.Settings.MaxStars); err != nil {
		quote.Stars = 0
		return err
	}

	return a.fit(ctx, t, quote, age, true)
}

// priceOf returns the price of so many Stars, at most age old.
func (a *PaymentActivities) priceOf(ctx context.Context, number int64, age time.Duration) (money.Nano, error) {
	return a.prices.get(number, age, func() (money.Nano, error) { return a.Fragment.Price(ctx, int(number)) })
}

// search finds the receiver.
func (a *PaymentActivities) search(ctx context.Context, username string, number int64) (fragment.Recipient, error) {
	return a.recipients.get(username, recipientAge, func() (fragment.Recipient, error) {
		return a.Fragment.Search(ctx, username, int(number))
	})
}

// worth is what a transfer may spend on Stars.
func (a *PaymentActivities) worth(t transaction.Transaction) money.Nano {
	return money.Nano(t.AmountNano - a.Settings.Reserve)
}

// fit finds the receiver, and the price of so many Stars, at once. With fewer it lowers their number until the price
// fits.
func (a *PaymentActivities) fit(
	ctx context.Context, t transaction.Transaction, quote *transaction.Quote, age time.Duration, fewer bool,
) error {
	recipient, price, err := together(
		func() (fragment.Recipient, error) { return a.search(ctx, quote.Username, quote.Stars) },
		func() (money.Nano, error) { return a.priceOf(ctx, quote.Stars, age) },
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
		if price, err = a.priceOf(ctx, quote.Stars, age); err != nil {
			return err
		}
	}
}

// mostPrices is how often a number of Stars is made to fit: one or two prices are enough, unless the price moves
// meanwhile.
const mostPrices = 5

// PayOrder signs and broadcasts the payment that buys a transaction's Stars, unless there is one already.
func (a *PaymentActivities) PayOrder(ctx context.Context, o Order) (Payment, error) {
	defer temporalio.SendHeartbeats(ctx)()
	return a.pay(ctx, o, transaction.Purchase, a.buy)
}

// buy requests a payment from Fragment and checks it. When the price has moved since the quote, the order is priced
// anew, once, at what Fragment says then.
func (a *PaymentActivities) buy(ctx context.Context, t transaction.Transaction) (draft, error) {
	quote := quoteOf(t)
	for fresh := quote.PriceNano == 0; ; fresh = true {
		if fresh {
			var err error
			if quote, _, err = a.quote(ctx, t, 0); err != nil {
				return draft{}, err
			}
		}

		request, err := a.request(ctx, quote, a.worth(t))
		switch {
		case err == nil:
			return a.link(ctx, request, quote)
		case fresh || !errors.Is(err, stars.PriceMoved):
			return draft{}, err
		}
	}
}

func quoteOf(t transaction.Transaction) transaction.Quote {
	return transaction.Quote{Username: t.Username, Stars: t.Stars, PriceNano: t.QuoteNano, Recipient: t.Recipient}
}

// request is a purchase request with its number among those of the session.
type request struct {
	fragment.Request
	number int64
}

// request makes a purchase request. Its error is stars.PriceMoved when it does not cost what was quoted, or costs more
// than the transfer is worth.
func (a *PaymentActivities) request(
	ctx context.Context, quote transaction.Quote, worth money.Nano,
) (made request, err error) {
	if made.number, err = a.Store.NextRequest(ctx, a.Wallet.Address().Raw()); err != nil {
		return made, err
	}

	receiver := fragment.Recipient{ID: quote.Recipient, Username: quote.Username}
	if made.Request, err = a.Fragment.Init(ctx, receiver, int(quote.Stars)); err != nil {
		return made, err
	}
	if made.Amount > worth || !stars.Acceptable(made.Amount, money.Nano(quote.PriceNano), a.Settings.Slippage) {
		return made, stars.PriceMoved
	}
	return made, nil
}

// link requests the payment of a purchase request and checks it.
func (a *PaymentActivities) link(ctx context.Context, made request, quote transaction.Quote) (draft, error) {
	link, err := a.Fragment.Link(ctx, made.Request)
	switch {
	case err != nil:
		return draft{}, err
	case !slices.Contains(a.Allow, link.To):
		return draft{}, fault.New(fault.PaymentNotAllowed, "the payment goes to an address that is not allowed")
	case link.Amount != made.Amount, int64(link.Stars) != quote.Stars:
		return draft{}, stars.Suspicious
	}

	return draft{
		payment:   ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce},
		requestID: link.ConfirmID, requestNumber: made.number, until: link.ValidUntil,
	}, nil
}

// ConfirmPurchase notifies Fragment of a paid purchase and waits until the receiver has kept the money and the Stars
// are sent; then the transaction is processed. Each try queries once. The try after the end of the patience, which begins
// with the first query, is the last one.
func (a *PaymentActivities) ConfirmPurchase(ctx context.Context, o Order) (Snapshot, error) {
	asked := firstAsked(ctx)
	activity.RecordHeartbeat(ctx, asked)
	defer temporalio.SendHeartbeats(ctx, asked)()

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
	if err != nil && ctx.Err() == nil && !isRefusal(err, fault.StoreUnavailable) && time.Since(asked) > a.Settings.ConfirmPatience {
		a.Log.Warn("purchase not confirmed in time", "transaction", o.Hash, "error", err)
		return Snapshot{}, temporalio.ToTemporal(fault.New(fault.PaymentUndecided, "the Stars have not come in time"))
	}
	return a.Settings.answer(ctx, record, err)
}

// firstAsked is when the first attempt of an activity began, as its heartbeats have it. Until then it may have waited in
// its queue for any time.
func firstAsked(ctx context.Context) time.Time {
	var first time.Time
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &first) == nil && !first.IsZero() {
		return first
	}
	return time.Now()
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
		func() (done bool, _ error) {
			done, asked = a.done(ctx, payment)
			return done, nil
		},
	)
	if err != nil {
		return transaction.Snapshot{}, err
	}
	if ref.State != transaction.PaymentPaid {
		return a.Store.SnapshotOf(ctx, o.Hash)
	}

	if asked == nil && (!ref.Kept || payment.Last && !done) {
		asked = notYet
	}
	if asked != nil {
		return transaction.Snapshot{}, asked
	}

	record, err := a.Store.Finish(ctx, o.Hash, o.Attempt, done)
	countEnd(a.Metrics, record, err)
	return record, err
}

// done confirms the payment to Fragment, until that is taken, and queries whether the Stars are sent. Fragment reports
// only the session's last purchase: when a later one was requested, nothing is queried.
func (a *PaymentActivities) done(ctx context.Context, payment transaction.Payment) (bool, error) {
	err := a.confirm(ctx, payment)
	if err != nil {
		a.Log.Warn("purchase not confirmed", "payment", payment.ID, "error", err) // Fragment sees the payment by itself, too
	}
	if !payment.Last && fragment.Holds(err) {
		return false, err
	}
	if !payment.Last {
		return false, nil
	}

	state, err := a.Fragment.State(ctx, fragmentProcessing)
	if err == nil && state.NeedUpdate {
		state, err = a.Fragment.State(ctx, state.Mode)
	}
	return state.Done(), err
}

func (a *PaymentActivities) confirm(ctx context.Context, payment transaction.Payment) error {
	if payment.RequestID == "" || payment.ConfirmedAt != nil {
		return nil
	}
	if err := a.Fragment.Confirm(ctx, payment.RequestID, payment.BoC); err != nil {
		return err
	}
	return a.Store.MarkPurchaseConfirmed(ctx, payment.ID)
}

// fragmentProcessing is what a page shows while a purchase is in progress.
const fragmentProcessing = "processing"
