package transactions

import (
	"cmp"
	"context"
	"strings"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/money"
	"stagecoach/internal/service"
)

// priceWait is how long a person waits for the current price; after that the answer goes without it.
const priceWait = 5 * time.Second

// showStars is /stars: how to pay.
func (h *handlers) showStars(ctx context.Context, r *chat.Request, _ chat.Args) error {
	limited, cancel := context.WithTimeout(ctx, priceWait)
	defer cancel()

	terms, err := h.transactions.Terms(limited)
	if err != nil && terms.Address == "" {
		return err
	}
	if err != nil {
		h.Log.Info("bot: the price of Stars is not known", "user", chat.Pseudonym(r.From.ID), "error", err)
	}

	username := cmp.Or(r.From.Username, exampleUsername)
	h.Post(ctx, r.Chat, chat.View{Text: starsText(r.User.Language, terms, username)})
	return nil
}

const exampleUsername = "durov"

func starsText(language string, terms service.TransactionTerms, username string) string {
	price := textPriceUnknown.In(language)
	if terms.PriceNano > 0 {
		cost, transfer := gram(language, terms.PriceNano), gram(language, leastTransfer(terms))
		price = textPrice.In(language, terms.Least, cost, transfer)
	}

	return strings.Join([]string{
		textStars.In(language),
		textStarsAddress.In(language, terms.Address),
		textStarsComment.In(language, username, username, 2*terms.Least),
		price + "\n" + textStarsBounds.In(language, terms.Least, terms.Most, gram(language, terms.ReserveNano)),
	}, "\n\n")
}

// leastTransfer is the transfer that buys the smallest number of Stars now, rounded up to hundredths of a GRAM.
func leastTransfer(terms service.TransactionTerms) int64 {
	const step = int64(money.TON) / 100
	return (terms.PriceNano + terms.ReserveNano + step - 1) / step * step
}
