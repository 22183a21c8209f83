package transactions

import (
	"cmp"
	"html/template"
	"math"
	"net/url"
	"slices"
	"time"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/money"
)

type starsView struct {
	shape.StarsTerms
	Own       string // the reader's username, if known
	Purchases shape.Page[shape.Receipt]
}

// showStars shows the current price of Stars, the form to buy them, and the reader's purchases.
func showStars(r *site.Request) (site.View, error) {
	view := starsView{Own: r.Who.User.Username}
	err := r.ReadAll(site.Into(&view.StarsTerms, "/v1/stars"), site.Into(&view.Purchases, "/v1/receipts", "cursor"))
	return site.View{Data: view}, err
}

type payView struct {
	shape.StarsTerms
	Seen   []receiptView // transfers of the last hour for the same username
	Amount string        // in the format of wallets, in every language
	Wallet template.URL  // opens a wallet
	Code   *code         // of the same address; nil: none
}

// showPay shows address, amount and comment of a transfer, to copy, to tap and to scan, and above them the state of
// transfers that have arrived: a person who does not see theirs pays twice. When the price expires, the browser reloads
// the page.
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

	if username := shape.Value(terms.Username); username != "" {
		seen, err := site.GetBy[shape.Page[shape.Receipt]](r, "/v1/receipts", url.Values{"username": {username}, "limit": {"200"}})
		if err != nil {
			return site.View{}, err
		}
		for _, receipt := range mostLikely(seen.Items, shape.Value(terms.LeastNano)) {
			view.Seen = append(view.Seen, viewOf(r.Language, shape.WholeReceipt{Receipt: receipt}))
		}
	}

	refresh := 30 * time.Second // no price: try again
	if terms.GoodUntil != nil {
		refresh = max(time.Until(*terms.GoodUntil), time.Second)
	}
	return site.View{Data: view, Refresh: refresh}, nil
}

// seenAtOnce is how many transfers the payment page shows.
const seenAtOnce = 5

// mostLikely chooses the transfers for the payment page: first those that have bought something or may yet, newest
// first, then the others by amount. So nobody can hide a transfer by sending small coins with somebody's username.
func mostLikely(seen []shape.Receipt, leastNano int64) []shape.Receipt {
	worth := func(r shape.Receipt) int64 {
		if r.State == "bought" || !r.Final && r.AmountNano >= leastNano {
			return math.MaxInt64
		}
		return r.AmountNano
	}
	seen = slices.SortedStableFunc(slices.Values(seen), func(a, b shape.Receipt) int { return cmp.Compare(worth(b), worth(a)) })
	return seen[:min(len(seen), seenAtOnce)]
}

type receiptView struct {
	shape.WholeReceipt
	What string // what happens next, in the reader's language
	Why  string // why nothing was bought; empty: it was, or still may be
}

// How long a receipt is shown before a browser reloads it: shorter while it changes by itself.
const (
	receiptMoves = 5 * time.Second
	receiptWaits = time.Minute
)

// showReceipt shows a purchase to whoever has its URL.
func showReceipt(r *site.Request) (site.View, error) {
	receipt, err := site.Get[shape.WholeReceipt](r, "/v1/receipts/{key}")
	if err != nil {
		return site.View{}, err
	}

	view, refresh := viewOf(r.Language, receipt), receiptMoves
	switch {
	case receipt.Final:
		refresh = 0
	case view.Why != "" || receipt.State == "review":
		refresh = receiptWaits
	}
	return site.View{Data: view, Refresh: refresh}, nil
}

// viewOf explains a receipt to its reader.
func viewOf(language string, receipt shape.WholeReceipt) receiptView {
	view := receiptView{WholeReceipt: receipt, What: followUps[receipt.State].In(language)}
	switch receipt.State {
	case "retrying", "waiting", "refunding", "refunded", "failed":
		view.Why = words.WhyNotBought(language, shape.Value(receipt.Reason))
	}
	if receipt.State == "failed" && receipt.Key == nil {
		view.What = askWithHash.In(language)
	}
	return view
}

// askWithHash is for the payer of a gift, who has no receipt.
var askWithHash = words.Text{
	"It will not be retried, and the money is not sent back by itself. Please write to an administrator, with the hash of your transfer.",
	"Покупка не повторится, и деньги автоматически не вернутся. Напишите, пожалуйста, администратору и укажите хеш своего перевода.",
}

// followUps say what happens next, by the receipt's state.
var followUps = map[string]words.Text{
	"received":  {"The transfer has arrived. The Stars are being bought.", "Перевод пришёл. Звёзды покупаются."},
	"paying":    {"The payment for the Stars is on its way to the chain.", "Оплата звёзд на пути в блокчейн."},
	"paid":      {"The Stars are paid for. Fragment is sending them.", "Звёзды оплачены. Fragment их отправляет."},
	"bought":    {"The Stars have been bought. Thank you!", "Звёзды куплены. Спасибо!"},
	"retrying":  words.TriedAgain,
	"waiting":   words.MoneyWaits,
	"review":    {"An administrator is checking this purchase. Do not pay again.", "Администратор проверяет эту покупку. Платить ещё раз не нужно."},
	"refunding": words.MoneyBack,
	"refunded":  {"The money has been sent back to the sender, less the fee.", "Деньги вернулись отправителю за вычетом комиссии."},
	"failed":    words.MoneyAsk,
}
