package transactions

import (
	"cmp"
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/service/transactions"
)

// showStars is /stars: how to pay.
func (h *handlers) showStars(ctx context.Context, r *chat.Request, _ chat.Args) error {
	terms, err := h.transactions.Terms(ctx, "", 0)
	if err != nil {
		return err
	}
	username := cmp.Or(r.From.Username, exampleUsername)
	h.Post(ctx, r.Chat, chat.View{Text: starsText(r.User.Language, terms, username)})
	return nil
}

const exampleUsername = "durov"

func starsText(language string, terms transactions.Terms, username string) string {
	price := words.PriceUnknown.In(language)
	if terms.PriceNano > 0 {
		price = textPrice.In(language, words.Number(terms.Least), words.Gram(language, terms.PriceNano), words.Gram(language, terms.LeastNano))
	}

	return strings.Join([]string{
		textStars.In(language),
		textStarsAddress.In(language, terms.Address),
		textStarsComment.In(language, username, username, 2*terms.Least),
		price + "\n" + words.StarsBounds.In(language, words.Number(terms.Least), words.Number(terms.Most), words.Gram(language, terms.ReserveNano)),
	}, "\n\n")
}
