package transaction

import (
	"context"
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

// quote determines what the order buys now, at a price at most a few seconds old.
func (x *attempt) quote(ctx context.Context) (quote transaction.Quote, _ error) {
	order, err := stars.Parse(x.row.Comment, x.Settings.MaxStars)
	if err != nil {
		return quote, err
	}

	age := priceAge
	if x.fresh {
		age = 0
	}
	quote.Username, quote.Stars = order.Username, order.Stars
	if quote.Stars > 0 {
		return quote, x.fit(ctx, &quote, age, false)
	}

	unit, err := x.priceOf(ctx, stars.Least, age)
	if err != nil {
		return quote, err
	}
	quote.Stars = stars.Bought(x.worth(), unit)
	if err := stars.CheckNumber(quote.Stars, x.Settings.MaxStars); err != nil {
		return quote, err
	}
	return quote, x.fit(ctx, &quote, age, true)
}

// priceOf returns the price of a number of Stars, at most age old. A price far from what was last paid was misread, or is
// Fragment's mistake.
func (a *PaymentActivities) priceOf(ctx context.Context, number int64, age time.Duration) (money.Nano, error) {
	temporalio.Progressed(ctx)
	price, err := a.prices.get(number, age, func() (money.Nano, error) { return a.Fragment.Price(ctx, int(number)) })
	if err == nil && !a.lastPaid.isNear(number, price) {
		err = stars.Nonsense
	}
	return price, err
}

// lastPaid is what was last paid for Stars.
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

// isNear reports whether a price is close to what was last paid, if known.
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

// worth is what the transfer may spend on Stars.
func (x *attempt) worth() money.Nano { return money.Nano(x.row.AmountNano - x.Settings.Reserve) }

// fit finds the price of the Stars, and then the receiver, so that an underpaid order costs Fragment no search. With
// fewer it lowers their number until the price fits.
func (x *attempt) fit(ctx context.Context, quote *transaction.Quote, age time.Duration, fewer bool) error {
	price, err := x.priceOf(ctx, quote.Stars, age)
	if err != nil {
		return err
	}

	for asked := 1; ; asked++ {
		switch {
		case price <= x.worth():
			temporalio.Progressed(ctx)
			recipient, err := x.recipients.get(quote.Username, recipientAge, func() (fragment.Recipient, error) {
				return x.Fragment.Search(ctx, quote.Username, int(quote.Stars))
			})
			if err == nil {
				quote.PriceNano, quote.Recipient = int64(price), recipient.ID
			}
			return err
		case !fewer:
			return stars.InsufficientAmount
		case asked == mostPrices:
			return stars.PriceMoved
		}

		quote.Stars = stars.Fewer(quote.Stars, price, x.worth())
		if err := stars.CheckNumber(quote.Stars, x.Settings.MaxStars); err != nil {
			return err
		}
		if price, err = x.priceOf(ctx, quote.Stars, age); err != nil {
			return err
		}
	}
}

// mostPrices is how often a number of Stars is made to fit: one or two prices are enough, unless the price moves
// meanwhile.
const mostPrices = 5

// request makes a purchase request, and requests its payment. Its error is stars.PriceMoved if the price differs from
// the quote, or exceeds what the transfer is worth.
func (x *attempt) request(ctx context.Context, quote transaction.Quote, number int64) (draft, error) {
	temporalio.Progressed(ctx)
	receiver := fragment.Recipient{ID: quote.Recipient, Username: quote.Username}
	made, err := x.Fragment.Init(ctx, receiver, int(quote.Stars))
	if err != nil {
		return draft{}, err
	}
	if made.Amount > x.worth() || !stars.Acceptable(made.Amount, money.Nano(quote.PriceNano), x.Settings.Slippage) {
		return draft{}, stars.PriceMoved
	}

	temporalio.Progressed(ctx)
	link, err := x.Fragment.Link(ctx, made)
	switch {
	case err != nil:
		return draft{}, err
	case !slices.Contains(x.Allow, link.To):
		return draft{}, fault.New(fault.PaymentNotAllowed, "the payment goes to an address that is not allowed")
	case link.Amount != made.Amount, int64(link.Stars) != quote.Stars:
		return draft{}, stars.Suspicious
	}

	return draft{
		payment:   ton.Payment{To: link.To, Amount: link.Amount, Body: link.Body, Bounce: link.Bounce},
		requestID: link.ConfirmID, requestNumber: number, until: link.ValidUntil,
	}, nil
}
