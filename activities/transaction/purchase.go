package transaction

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fragment"
	"stagecoach/internal/money"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/ton"
)

// quote finds out what a transaction buys now and records it. A refused order is recorded too, as far as it was read,
// so that people can see what it asked for. Prices are at most age old.
func (a *PaymentActivities) quote(
	ctx context.Context, t transaction.Transaction, age time.Duration,
) (quote transaction.Quote, err error) {
	quote = transaction.Quote{Hash: t.Hash, Attempt: t.Attempt}
	order, err := stars.Parse(t.Comment, a.Settings.MaxStars)
	if err != nil {
		return quote, err
	}

	quote.Username, quote.Stars = order.Username, order.Stars
	err = a.price(ctx, t, &quote, age)
	if _, saveErr := a.Store.SaveQuote(ctx, quote); saveErr != nil {
		return quote, saveErr
	}
	return quote, err
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

// priceOf returns the price of so many Stars, at most age old. A price that is far from what was paid last is misread, or
// Fragment's mistake.
func (a *PaymentActivities) priceOf(ctx context.Context, number int64, age time.Duration) (money.Nano, error) {
	temporalio.Progressed(ctx)
	price, err := a.prices.get(number, age, func() (money.Nano, error) { return a.Fragment.Price(ctx, int(number)) })
	if err == nil && !a.paid.isNear(number, price) {
		err = stars.Nonsense
	}
	return price, err
}

// lastPaid is what was paid for Stars last.
type lastPaid struct {
	mu     sync.Mutex
	number int64
	nano   money.Nano
	at     time.Time
}

// The price of a Star follows an exchange. Within a day it does not double.
const (
	paidAge = 24 * time.Hour
	paidFar = 2
)

// isNear says whether a price is not far from what was paid last, if that is known.
func (p *lastPaid) isNear(number int64, price money.Nano) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.number == 0 || time.Since(p.at) > paidAge {
		return true
	}
	was, err := p.nano.MulDiv(number, p.number)
	return err == nil && price <= was*paidFar && price >= was/paidFar
}

func (p *lastPaid) set(number int64, nano money.Nano) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number, p.nano, p.at = number, nano, time.Now()
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

// fit finds the price of so many Stars, and then the receiver: who has paid too little costs Fragment no search. With fewer it
// lowers their number until the price fits.
func (a *PaymentActivities) fit(
	ctx context.Context, t transaction.Transaction, quote *transaction.Quote, age time.Duration, fewer bool,
) error {
	price, err := a.priceOf(ctx, quote.Stars, age)
	if err != nil {
		return err
	}

	for asked := 1; ; asked++ {
		switch {
		case price <= a.worth(t):
			recipient, err := a.search(ctx, quote.Username, quote.Stars)
			if err == nil {
				quote.PriceNano, quote.Recipient = int64(price), recipient.ID
			}
			return err
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

// buy requests a payment from Fragment and checks it. When the price has moved since the quote, the order is priced
// anew, once, at what Fragment says then.
func (a *PaymentActivities) buy(ctx context.Context, x *execution) (draft, error) {
	t, quote := x.row, quoteOf(x.row)
	for fresh := false; ; fresh = true {
		if fresh {
			var err error
			if quote, err = a.quote(ctx, t, 0); err != nil {
				return draft{}, err
			}
		}

		request, err := x.request(ctx, quote, a.worth(t))
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
func (x *execution) request(
	ctx context.Context, quote transaction.Quote, worth money.Nano,
) (made request, err error) {
	if made.number, err = x.Store.NextRequest(ctx, x.turn); err != nil {
		return made, err
	}

	temporalio.Progressed(ctx)

	receiver := fragment.Recipient{ID: quote.Recipient, Username: quote.Username}
	if made.Request, err = x.Fragment.Init(ctx, receiver, int(quote.Stars)); err != nil {
		return made, err
	}
	if made.Amount > worth || !stars.Acceptable(made.Amount, money.Nano(quote.PriceNano), x.Settings.Slippage) {
		return made, stars.PriceMoved
	}
	return made, nil
}

// link requests the payment of a purchase request and checks it.
func (a *PaymentActivities) link(ctx context.Context, made request, quote transaction.Quote) (draft, error) {
	temporalio.Progressed(ctx)
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
