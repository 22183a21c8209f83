package transactions

import (
	"context"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/receipt"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/account"
)

const receiptsCursor = "receipts"

type starsInput struct {
	Username string `query:"username" maxLength:"64" doc:"Recipient of the Stars: a username, with or without @, or its t.me link"`
	Stars    int64  `query:"stars" minimum:"0" doc:"Number of Stars; 0: as many as the transfer buys"`
}

type listReceiptsInput struct {
	server.Paging
	Username string `query:"username" maxLength:"64" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" doc:"Instead list the last hour's transfers for this username. Transfers for others show only what is public on the chain, the state received until they end, then the outcome and its reason; never a key"`
}

type receiptInput struct {
	Key string `path:"key" example:"0f8fad5bd9cb469fa16570867728950e" doc:"Receipt key"`
}

// registerStars adds the operations for buyers of Stars.
func (h *handlers) registerStars() {
	customers := server.Group{
		Server: h.Server, Tag: "Stars", Access: server.ForUsers, Scope: account.ScopeRead,
	}

	server.Register(customers, server.Operation{
		Id: "get-stars-terms", Route: "GET /v1/stars", Faults: []fault.Code{fault.NotConfigured},
		Summary:     "Get payment instructions and the current price of Stars",
		Description: "With a username and a number of Stars, returns the amount and comment of the transfer, and a link that opens a wallet with both. The comment names the number only together with an amount that includes the slippage.",
	}, h.getTerms)

	server.Register(customers, server.Operation{
		Id: "list-receipts", Route: "GET /v1/receipts",
		Summary:     "List receipts of purchases for the caller, newest first",
		Description: "A payer can track a transfer by the username in its comment. It is listed as soon as it is seen, before anything is bought.",
	}, h.listReceipts)

	server.Register(server.Group{Server: h.Server, Tag: "Stars"}, server.Operation{
		Id: "get-receipt", Route: "GET /v1/receipts/{key}",
		Summary:     "Get a receipt by key",
		Description: "No token is needed: anyone with the key may read the receipt. Rate limits use the network address.",
		Faults:      []fault.Code{fault.ReceiptNotFound, fault.RateLimited},
	}, h.getReceipt)
}

func (h *handlers) getTerms(ctx context.Context, in *starsInput) (shape.StarsTerms, error) {
	terms, err := h.transactions.Terms(ctx, in.Username, in.Stars)
	return server.Shown(terms, err, termsFrom)
}

func (h *handlers) listReceipts(ctx context.Context, in *listReceiptsInput) (shape.Page[shape.Receipt], error) {
	return server.ListOf(in.Paging, receiptsCursor, func(before int64, limit int) ([]receipt.Receipt, error) {
		return h.transactions.Receipts(ctx, server.Caller(ctx), in.Username, before, limit)
	}, func(r receipt.Receipt) int64 { return r.ID }, receiptFrom)
}

func (h *handlers) getReceipt(ctx context.Context, in *receiptInput) (none shape.WholeReceipt, err error) {
	if err := h.TakeOpen(ctx); err != nil {
		return none, err
	}

	found, err := h.transactions.Receipt(ctx, in.Key)
	if err != nil {
		return none, err
	}
	return shape.WholeReceipt{Receipt: receiptFrom(found), Steps: shape.List(found.Steps, stepFrom)}, nil
}

func termsFrom(t transactions.Terms) shape.StarsTerms {
	return shape.StarsTerms{
		Address: t.Address, LeastStars: t.Least, MostStars: t.Most, ReserveNano: t.ReserveNano,
		SlippagePercent: float64(t.Slippage) / 100, PriceNano: shape.OptionalNumber(t.PriceNano),
		LeastNano: shape.OptionalNumber(t.LeastNano), GoodUntil: unlessZero(t.GoodUntil),
		Username: shape.Optional(t.Username), Stars: t.Stars, AmountNano: shape.OptionalNumber(t.AmountNano),
		Comment: shape.Optional(t.Comment), Link: shape.Optional(t.Link),
	}
}

func receiptFrom(r receipt.Receipt) shape.Receipt {
	return shape.Receipt{
		Key: shape.Optional(r.ReceiptKey), State: string(r.State), Final: r.State.Final(), AmountNano: r.AmountNano,
		Username: shape.Optional(r.Username), Stars: r.Stars, PriceNano: shape.OptionalNumber(r.QuoteNano),
		Reason: shape.Optional(r.Reason), CreatedAt: r.CreatedAt.UTC(), UpdatedAt: r.UpdatedAt.UTC(),
	}
}

func stepFrom(s receipt.Step) shape.ReceiptStep {
	return shape.ReceiptStep{Step: s.Name, Done: s.Done, At: shape.OptionalTime(s.At), Hash: shape.Optional(s.Hash)}
}
