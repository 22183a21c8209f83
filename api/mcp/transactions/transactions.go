// Package transactions has the tools for Stars, transactions and payments.
package transactions

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/api/shape"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// Part returns the tools for transactions. They are read-only: people decide about money, in the bot, on the pages and
// with the command line.
func Part() tool.Part {
	return tool.Part{
		Workload: lifecycle.WorkloadTransaction,
		Tools:    []tool.Tool{quote(), find(), get(), ledger()},
	}
}

var reads = []account.Scope{account.ScopeRead}

type hash string

var _ = tool.Enum(append(
	lifecycle.Transaction.Live(), lifecycle.Transaction.Ended()...,
)...) && tool.Pattern[hash]("^[0-9a-f]{64}$")

type wish struct {
	Username string `json:"username,omitempty" jsonschema:"recipient of the Stars"`
	Stars    int64  `json:"stars,omitempty"`
}

type terms struct {
	Address    string     `json:"address" jsonschema:"where to send GRAM (ex TON)"`
	LeastStars int64      `json:"least_stars"`
	PriceNano  int64      `json:"price_nano,omitempty" jsonschema:"of least_stars; absent: currently unknown"`
	GoodUntil  *time.Time `json:"good_until,omitempty"`
	AmountNano int64      `json:"amount_nano,omitempty" jsonschema:"to send for that many Stars"`
	Comment    string     `json:"comment,omitempty" jsonschema:"to send with it"`
	Link       string     `json:"link,omitempty" jsonschema:"opens a wallet for a person to pay"`
}

func quote() tool.Tool {
	return tool.New(tool.About{
		Name: "stars_quote", Scopes: reads, Reads: true, Outside: true,
		Description: "The current price of Telegram Stars, and how a person pays for them. Buys nothing.",
	}, func(ctx context.Context, c *tool.Call, in wish) (answer tool.Answer[terms], err error) {
		query := url.Values{}
		if in.Username != "" {
			query.Set("username", in.Username)
		}

		if in.Stars != 0 {
			query.Set("stars", fmt.Sprint(in.Stars))
		}

		t, err := tool.Get[shape.StarsTerms](ctx, c, "/v1/stars", query)
		return tool.Answer[terms]{Summary: "Nothing was bought.", Value: terms{
			Address: t.Address, LeastStars: t.LeastStars, PriceNano: shape.Value(t.PriceNano), GoodUntil: t.GoodUntil,
			AmountNano: shape.Value(t.AmountNano), Comment: shape.Value(t.Comment), Link: shape.Value(t.Link),
		}}, err
	})
}

type brief struct {
	Hash           hash                          `json:"hash"`
	Status         lifecycle.TransactionState    `json:"status"`
	AmountNano     int64                         `json:"amount_nano"`
	Stars          int64                         `json:"stars,omitempty"`
	Attempt        int                           `json:"attempt"`
	ErrorClass     string                        `json:"error_class,omitempty"`
	NeedsReview    bool                          `json:"needs_review,omitempty"`
	ReviewReason   string                        `json:"review_reason,omitempty"`
	RefundDueNano  int64                         `json:"refund_due_nano,omitempty"`
	AllowedActions []lifecycle.TransactionAction `json:"allowed_actions"`
	Resolutions    []lifecycle.TransactionState  `json:"resolutions,omitempty"`
	RetryAt        *time.Time                    `json:"retry_at,omitempty"`
	CreatedAt      time.Time                     `json:"created_at"`
	Others         payer                         `json:"written_by_others"`
}

// payer is what the sender of a transfer wrote, and what others said about it.
type payer struct {
	Username     tool.Text `json:"username,omitempty"`
	ErrorMessage tool.Text `json:"error_message,omitempty"`
}

func briefOf(t shape.Transaction) brief {
	return brief{
		Hash: hash(t.Hash), Status: t.Status, AmountNano: t.AmountNano, Stars: t.Stars, Attempt: t.Attempt,
		ErrorClass: shape.Value(t.ErrorClass), NeedsReview: t.NeedsReview, ReviewReason: shape.Value(t.ReviewReason),
		RefundDueNano: t.RefundDueNano, AllowedActions: t.AllowedActions, Resolutions: t.Resolutions, RetryAt: t.RetryAt,
		CreatedAt: t.CreatedAt,
		Others:    payer{tool.Text(shape.Value(t.Username)), tool.Text(shape.Value(t.ErrorMessage))},
	}
}

type wanted struct {
	Status    lifecycle.TransactionState `json:"status,omitempty"`
	Attention bool                       `json:"attention,omitempty" jsonschema:"only those that need an administrator's decision"`
	Limit     tool.Limit                 `json:"limit,omitempty" jsonschema:"default 20"`
	Cursor    string                     `json:"cursor,omitempty"`
}

type found struct {
	Transactions []brief `json:"transactions"`
	NextCursor   string  `json:"next_cursor,omitempty"`
}

func find() tool.Tool {
	return tool.New(tool.About{
		Name: "transactions_find", Scopes: reads, Admins: true, Reads: true,
		Description: "Lists transactions, newest first.",
	}, func(ctx context.Context, c *tool.Call, in wanted) (answer tool.Answer[found], err error) {
		query := tool.Query{"status": string(in.Status), "cursor": in.Cursor}.Page(in.Limit)
		if in.Attention {
			query.Set("attention", "true")
		}
		page, err := tool.Get[shape.Page[shape.Transaction]](ctx, c, "/v1/transactions", query)
		return tool.Answer[found]{
			Value:   found{shape.List(page.Items, briefOf), shape.Value(page.NextCursor)},
			Summary: fmt.Sprintf("%d transactions.", len(page.Items)),
		}, err
	})
}

type one struct {
	Hash hash `json:"hash"`
}

type whole struct {
	brief
	Events   []event   `json:"events"`
	Payments []payment `json:"payments"`
}

type event struct {
	Type   string    `json:"type"`
	To     string    `json:"to"`
	At     time.Time `json:"at"`
	Others remark    `json:"written_by_others,omitzero"`
}

type remark struct {
	Comment tool.Text `json:"comment,omitempty"`
}

type payment struct {
	Kind       string `json:"kind"`
	State      string `json:"state"`
	AmountNano int64  `json:"amount_nano"`
	ChainHash  string `json:"chain_hash,omitempty"`
}

func get() tool.Tool {
	return tool.New(tool.About{
		Name: "transaction_get", Scopes: reads, Admins: true, Reads: true,
		Description: "Returns a transaction with its events and payments.",
	}, func(ctx context.Context, c *tool.Call, in one) (answer tool.Answer[whole], err error) {
		t, err := tool.Get[shape.WholeTransaction](ctx, c, "/v1/transactions/"+url.PathEscape(string(in.Hash)), nil)
		return tool.Answer[whole]{Summary: fmt.Sprintf("The transaction is %s.", t.Status), Value: whole{
			brief: briefOf(t.Transaction), Events: shape.List(t.Events, func(e shape.History) event {
				return event{e.Type, e.To, e.CreatedAt, remark{tool.Text(e.Comment)}}
			}),
			Payments: shape.List(t.Payments, func(p shape.Payment) payment {
				return payment{p.Kind, p.State, p.AmountNano, shape.Value(p.ChainHash)}
			}),
		}}, err
	}).Shallow()
}

type balance struct {
	Account     string `json:"account"`
	BalanceNano int64  `json:"balance_nano"`
}

type money struct {
	Balances       []balance `json:"balances"`
	ChainNano      *int64    `json:"chain_nano,omitempty" jsonschema:"wallet balance on the chain; absent: currently unknown"`
	DifferenceNano *int64    `json:"difference_nano,omitempty" jsonschema:"chain minus ledger; 0 as expected"`
	Paused         bool      `json:"paused" jsonschema:"by an administrator"`
	Held           bool      `json:"held" jsonschema:"automatically"`
}

func ledger() tool.Tool {
	return tool.New(tool.About{
		Name: "ledger", Scopes: []account.Scope{account.ScopeOperate}, Admins: true,
		Reads: true, Outside: true,
		Description: "Returns the ledger balances, the wallet's balance on the chain, and what stops payments.",
	}, func(ctx context.Context, c *tool.Call, _ struct{}) (answer tool.Answer[money], err error) {
		solvency, err := tool.Get[shape.Solvency](ctx, c, "/v1/payments/solvency", nil)
		if err != nil {
			return answer, err
		}
		queue, err := tool.Get[shape.Queue](ctx, c, "/v1/payments/queue", url.Values{"limit": {"1"}})
		return tool.Answer[money]{Summary: "All amounts are in nanoTON.", Value: money{
			Balances:  shape.List(solvency.Balances, func(b shape.Balance) balance { return balance(b) }),
			ChainNano: solvency.ChainNano, DifferenceNano: solvency.DifferenceNano, Paused: queue.Pause != nil,
			Held: queue.Hold != nil,
		}}, err
	})
}
