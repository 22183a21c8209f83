package bot

import (
	"cmp"
	"context"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/money"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// priceWait is how long a person waits for the price of the moment; without it the rest is told.
const priceWait = 5 * time.Second

func (b *Bot) starsCommands() []command {
	return []command{
		{name: "stars", about: aboutStars, run: b.showStars},
		{name: "tx", about: aboutTx, admin: true, run: b.showTransaction},
		{name: "retry", about: aboutRetry, admin: true, run: b.askRetry},
	}
}

// showStars is /stars: how to pay.
func (b *Bot) showStars(ctx context.Context, r *request) error {
	limited, cancel := context.WithTimeout(ctx, priceWait)
	defer cancel()

	terms, err := b.transactions.Terms(limited)
	if err != nil && terms.Address == "" {
		return err
	}

	if err != nil {
		b.log.Info("bot: the price of Stars is not known", "user", who(r.from.ID), "error", err)
	}

	b.post(ctx, r.chat, view{text: starsText(r.user.Language, terms, cmp.Or(r.from.Username, exampleUsername))})
	return nil
}

const exampleUsername = "durov"

func starsText(language string, terms service.TransactionTerms, username string) string {
	price := textPriceUnknown.in(language)
	if terms.PriceNano > 0 {
		price = textPrice.in(language, terms.Least, tonIn(language, terms.PriceNano), tonIn(language, leastTransfer(terms)))
	}
	return strings.Join([]string{
		textStars.in(language),
		textStarsAddress.in(language, terms.Address),
		textStarsComment.in(language, username, username, 2*terms.Least),
		price + "\n" + textStarsBounds.in(language, terms.Least, terms.Most, tonIn(language, terms.ReserveNano)),
	}, "\n\n")
}

// leastTransfer is what buys the smallest number of Stars now, rounded up to hundredths of a GRAM.
func leastTransfer(terms service.TransactionTerms) int64 {
	const step = int64(money.TON) / 100
	return (terms.PriceNano + terms.ReserveNano + step - 1) / step * step
}

// tonIn writes an amount for people.
func tonIn(language string, nano int64) string {
	number := money.Nano(nano).String()
	if language == russian {
		number = strings.Replace(number, ".", ",", 1)
	}
	return number + " GRAM"
}

// transactionNews tells the one for whom Stars were paid what became of that.
func (b *Bot) transactionNews(ctx context.Context, viewer store.User, n store.Notice) (drawNews, error) {
	t, err := b.transactions.Find(ctx, n.EntityID)
	if err == nil && (t.UserID == nil || *t.UserID != viewer.ID) {
		err = errNotTheirs
	}
	return func(_ context.Context, _ store.Notice, events []store.StreamedEvent) view {
		// what came before is of no matter any more
		return view{text: transactionNewsText(viewer.Language, t, events[len(events)-1])}
	}, err
}

// smallTransferNews tells of a transfer below the minimum, which is no order.
func (b *Bot) smallTransferNews(_ context.Context, viewer store.User, _ store.Notice) (drawNews, error) {
	return func(context.Context, store.Notice, []store.StreamedEvent) view {
		return view{text: textTransferTooSmall.in(viewer.Language)}
	}, nil
}

func transactionNewsText(language string, t store.Transaction, event store.StreamedEvent) string {
	if lifecycle.TransactionState(event.To) == lifecycle.TransactionProcessed {
		return textStarsBought.in(language, t.Stars, t.Username)
	}

	message := cmp.Or(t.ErrorMessage, event.Comment)
	next := textMoneyWaits
	switch {
	case event.Type == lifecycle.TransactionGivenUp:
		next = textGivenUp
	case event.Type == lifecycle.TransactionFailure && (t.NextRetry() != nil || t.State == lifecycle.TransactionProcessing):
		next = textTriedAgain
	case t.RefundDueNano > 0:
		next = textMoneyBack
	case event.Type == lifecycle.TransactionResolved || t.ErrorClass == lifecycle.NonRetryable:
		next = textMoneyAsk
	}

	return textStarsNotBought.in(
		language, tonIn(language, t.AmountNano), t.Username,
	) + "\n" + failureIn(language, message) + "\n" + next.in(language)
}

// failureIn says in plain words why Stars were not bought.
func failureIn(language, message string) string {
	if known, ok := failureTexts[message]; ok {
		return known.in(language)
	}
	return textStarsTrouble.in(language)
}
