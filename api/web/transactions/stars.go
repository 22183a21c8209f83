package transactions

import (
	"html/template"
	"time"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/money"
)

type starsView struct {
	shape.StarsTerms
	Own       string // the reader's username, if it is known
	Purchases shape.Page[shape.Receipt]
}

// showStars shows what Stars cost now, the form for buying some, and the reader's purchases.
func showStars(r *site.Request) (site.View, error) {
	view := starsView{Own: r.Who.User.Username}
	err := r.ReadAll(site.Into(&view.StarsTerms, "/v1/stars"), site.Into(&view.Purchases, "/v1/receipts", "cursor"))
	return site.View{Data: view}, err
}

type payView struct {
	shape.StarsTerms
	Amount string       // as wallets take it, whatever the language
	Wallet template.URL // opens a wallet
	Code   *code        // of the same address; nil: there is none
}

// showPay shows address, amount and comment of a transfer, to copy, to press and to scan. When the price has become
// old, a browser loads the page again.
func showPay(r *site.Request) (site.View, error) {
	terms, err := site.Get[shape.StarsTerms](r, "/v1/stars", "username", "stars")
	if err != nil {
		return site.View{}, err
	}

	view := payView{StarsTerms: terms, Amount: money.Nano(shape.Value(terms.AmountNano)).String()}
	if link := shape.Value(terms.Link); link != "" {
		view.Wallet = template.URL(link) //nolint:gosec // the API has made it
		if view.Code, err = codeOf(link); err != nil {
			return site.View{}, err
		}
	}

	refresh := 30 * time.Second // no price: ask again
	if terms.GoodUntil != nil {
		refresh = max(time.Until(*terms.GoodUntil), time.Second)
	}
	return site.View{Data: view, Refresh: refresh}, nil
}

type receiptView struct {
	shape.WholeReceipt
	What string // what follows, in the reader's words
	Why  string // why nothing was bought; empty: it was, or may be still
}

// How long a receipt is shown before a browser loads it again: less while something happens by itself.
const (
	receiptMoves = 5 * time.Second
	receiptWaits = time.Minute
)

// showReceipt shows a purchase to whoever has its address.
func showReceipt(r *site.Request) (site.View, error) {
	receipt, err := site.Get[shape.WholeReceipt](r, "/v1/receipts/{key}")
	if err != nil {
		return site.View{}, err
	}

	view := receiptView{WholeReceipt: receipt, What: followUps[receipt.State].In(r.Language)}
	refresh := receiptMoves
	switch receipt.State {
	case "retrying", "waiting", "refunding", "refunded", "failed":
		view.Why = words.WhyNotBought(r.Language, shape.Value(receipt.Reason))
		refresh = receiptWaits
	case "review":
		refresh = receiptWaits
	}

	if receipt.Final {
		refresh = 0
	}
	return site.View{Data: view, Refresh: refresh}, nil
}

// followUps say what follows, by the receipt's state.
var followUps = map[string]words.Text{
	"received":  {"The transfer has arrived. The Stars are being bought.", "Перевод пришёл. Звёзды покупаются."},
	"paying":    {"The payment for the Stars is on its way to the chain.", "Оплата звёзд на пути в блокчейн."},
	"paid":      {"The Stars are paid for. Fragment is sending them.", "Звёзды оплачены. Fragment их отправляет."},
	"bought":    {"The Stars have been bought. Thank you!", "Звёзды куплены. Спасибо!"},
	"retrying":  words.TriedAgain,
	"waiting":   words.MoneyWaits,
	"review":    {"An administrator is checking this purchase. Do not pay again.", "Администратор проверяет эту покупку. Платить ещё раз не нужно."},
	"refunding": words.MoneyBack,
	"refunded":  {"The money has gone back to where it came from, less the fee.", "Деньги вернулись отправителю за вычетом комиссии."},
	"failed":    words.MoneyAsk,
}
