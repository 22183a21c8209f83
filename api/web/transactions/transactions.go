// Package transactions has the pages of Stars, for buyers, and of transactions and payments, for administrators.
package transactions

import (
	"cmp"
	"embed"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

//go:embed templates
var templates embed.FS

const live = lifecycle.WorkloadTransaction

// Part returns the pages.
func Part() site.Part {
	const at = "/transactions/{hash}"
	return site.Part{
		Sections: []site.Section{
			{Path: "/stars", Title: "stars"}, {Path: "/transactions", Title: "transactions", Admins: true},
		},
		Templates: templates, Texts: texts, Words: words.Transactions,
		Commands: map[string]string{"stars": "/stars", "tx": "/transactions", "retry": "/transactions"},
		States:   map[string]map[string]words.Text{lifecycle.WorkloadTransaction: site.Names(words.TransactionStates)},
		Pages: []site.Page{
			{Route: "/stars", Name: "stars", Title: "stars", Live: live, Show: showStars},
			{Route: "/stars/pay", Name: "pay", Title: "stars-pay", Live: live, Form: "stars", Show: showPay},
			{Route: "/receipts/{key}", Name: "receipt", Title: "receipt", Open: true, Show: showReceipt},
			{Route: "/transactions", Name: "transactions", Title: "transactions", Live: live, Tabs: tabs, Show: showTransactions},
			{Route: "/transactions/payments", Name: "payments", Title: "tx-payments", Live: live, Tabs: tabs, Show: showPayments},
			{Route: "/transactions/figures", Name: "figures", Title: "tx-figures", Live: live, Tabs: tabs, Show: showFigures},
			{Route: at, Name: "transaction", Live: live, Tabs: tabs, Show: showTransaction},
		},
		Actions: []site.Action{
			{Route: "/transactions/payments/pause", Page: "payments", Do: site.Change("POST /v1/payments/pause", "/transactions/payments", "reason")},
			{Route: "/transactions/payments/resume", Page: "payments", Do: site.Change("POST /v1/payments/resume", "/transactions/payments")},
			{Route: at + "/retry", Page: "transaction", Do: act("retry")},
			{Route: at + "/resolve", Page: "transaction", Do: act("resolve")},
			{Route: at + "/review", Page: "transaction", Do: act("review")},
			{Route: at + "/write-off", Page: "transaction", Do: act("write-off")},
		},
		Card: card,
	}
}

// cardView is the home page's card: purchases in progress, or what an administrator has to decide.
type cardView struct {
	Receipts  []shape.Receipt
	Attention []shape.Transaction
	Admin     bool
}

func card(r *site.Request) (card site.Card, err error) {
	if !r.Admin() {
		list, err := site.Get[shape.Page[shape.Receipt]](r, "/v1/receipts?limit=5")
		return site.Card{Data: cardView{Receipts: list.Items}}, err
	}

	list, err := site.Get[shape.Page[shape.Transaction]](r, "/v1/transactions?attention=true&limit=5")

	for _, t := range list.Items {
		card.Needs = append(card.Needs, site.Need{Text: needOf(r.Language, t), Path: "/transactions/" + t.Hash})
	}

	card.Data = cardView{Attention: list.Items, Admin: true}
	return card, err
}

// needOf says why a transaction needs an administrator.
func needOf(language string, t shape.Transaction) string {
	if t.NeedsReview {
		return texts["tx-need-review"].In(language, t.Hash[:8])
	}
	return texts["tx-need-owed"].In(language, t.Hash[:8], words.Gram(language, t.RefundDueNano))
}

// tabs are the pages of transactions.
var tabs = []site.Tab{
	{Title: "transactions", Path: "/transactions"},
	{Title: "tx-payments", Path: "/transactions/payments"},
	{Title: "tx-figures", Path: "/transactions/figures"},
}

// tab is a link to the list with one filter.
type tab struct {
	Title   string // the key of its text
	Path    string
	Current bool
}

// filters are the lists of transactions with one condition each.
func filters(query url.Values) []tab {
	tabs := []tab{{Title: "all", Path: "/transactions", Current: true}}
	add := func(title, name, value string) {
		current := query.Get(name) == value
		tabs = append(tabs, tab{title, "/transactions?" + url.Values{name: {value}}.Encode(), current})
		tabs[0].Current = tabs[0].Current && !current
	}

	for _, name := range []string{"attention", "needs_review", "owed", "retryable", "stuck"} {
		add("tx-filter-"+name, name, "true")
	}

	for _, state := range lifecycle.Transaction.StateNames() {
		add("tx-state-"+state, "status", state)
	}
	return tabs
}

type transactionsView struct {
	shape.Page[shape.Transaction]
	Filters  []tab
	Filtered bool
}

func showTransactions(r *site.Request) (site.View, error) {
	query := r.Query("attention", "status", "needs_review", "owed", "retryable", "stuck", "hash", "error", "cursor")
	if hash := query.Get("hash"); hash != "" {
		query.Set("hash", strings.ToLower(strings.TrimSpace(hash)))
	}

	list, err := site.GetBy[shape.Page[shape.Transaction]](r, "/v1/transactions", query)
	return site.View{Data: transactionsView{list, filters(query), len(query) > 0}}, err
}

type transactionView struct {
	shape.WholeTransaction
	Kept   bool              // the payer was asked to write about the money: nothing happens by itself
	Review string            // why it needs review, in the reader's language
	Names  map[string]string // of acting people, by id
}

func showTransaction(r *site.Request) (site.View, error) {
	t, err := site.Get[shape.WholeTransaction](r, "/v1/transactions/{hash}")
	view := transactionView{WholeTransaction: t}
	if reason := shape.Value(t.ReviewReason); reason != "" {
		view.Review = words.ReviewTexts[reason].In(r.Language)
	}
	if err == nil {
		view.Kept = isKept(t)
		view.Names, err = namesOf(r, t.Events)
	}
	return site.View{Title: texts["tx-one"].In(r.Language, words.Shorten(t.Hash, 12)), Data: view}, err
}

// isKept reports whether nothing was bought and nothing follows, so that the receipt asks the payer to write to an
// administrator.
func isKept(t shape.WholeTransaction) bool {
	return t.Status == lifecycle.TransactionFailed && shape.Value(t.ErrorClass) == string(lifecycle.NonRetryable) && !t.NeedsReview &&
		t.RefundDueNano == 0 && t.DustNano == 0 && !slices.ContainsFunc(t.Payments, func(p shape.Payment) bool {
		return p.State == string(transaction.PaymentSigned) || p.State == string(transaction.PaymentPaid)
	})
}

// namesOf names the acting people. An administrator whose session may not read users sees numbers: an API refusal would
// be audited.
func namesOf(r *site.Request, events []shape.History) (map[string]string, error) {
	names, mayRead := map[string]string{}, r.Who.Require(account.ScopeUsers) == nil
	for _, e := range events {
		id := shape.Value(e.ActorID)
		if id == "" || names[id] != "" {
			continue
		}

		var user shape.User
		if mayRead {
			var err error
			if user, err = site.Get[shape.User](r, "/v1/users/"+id); err != nil {
				return nil, err
			}
		}
		names[id] = cmp.Or(user.Name, words.Person.In(r.Language, id))
	}
	return names, nil
}

// act performs an action on a transaction, in the attempt that the page showed.
func act(action string) func(*site.Request) (next string, err error) {
	return func(r *site.Request) (next string, err error) {
		body := map[string]any{"comment": r.PostFormValue("comment")}
		if attempt, err := strconv.Atoi(r.PostFormValue("attempt")); err == nil {
			body["attempt"] = attempt
		}
		for _, field := range []string{"outcome", "payment"} {
			if value := strings.ToLower(strings.TrimSpace(r.PostFormValue(field))); value != "" {
				body[field] = value
			}
		}

		_, err = site.Post[shape.Transaction](r, "/v1/transactions/{hash}/"+action, body)
		return "/transactions/" + r.PathValue("hash"), err
	}
}
