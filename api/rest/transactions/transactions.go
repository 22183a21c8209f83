package transactions

import (
	"context"
	"maps"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/transactions"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/transaction"
)

const transactionsCursor = "transactions"

type listTransactionsInput struct {
	server.Paging
	Status      string `query:"status" enum:"pending,processing,processed,failed" doc:"Only transactions in this status"`
	NeedsReview bool   `query:"needs_review" doc:"Only transactions that an administrator has to resolve"`
	Stuck       bool   `query:"stuck" doc:"Only transactions that have been processing for too long"`
	Hash        string `query:"hash" pattern:"^[0-9a-f]{0,64}$" patternDescription:"hex digits in lower case" doc:"Only transactions whose hash starts with this"`
	Owed        bool   `query:"owed" doc:"Only transactions whose sender is owed money that is not on its way"`
	Attention   bool   `query:"attention" doc:"Only transactions that need an administrator's decision: to resolve, or owed"`
	Retryable   bool   `query:"retryable" doc:"Only failed transactions that can be retried"`

	Error    string    `query:"error" maxLength:"1000" doc:"Only transactions that failed with this message"`
	Seen     time.Time `query:"seen_from" doc:"Only transactions that can be retried and were detected at or after this time"`
	SeenTill time.Time `query:"seen_until" doc:"Only transactions that can be retried and were detected before this time"`
}

// HashPath names a transaction. Like all embedded types here it is exported for huma to see its fields.
type HashPath struct {
	Hash string `path:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Transaction hash, or at least its first 8 digits"`
}

// actionInput requests an action on a transaction.
type actionInput[Body asking] struct {
	server.Keyed
	HashPath
	Body Body
}

// asking is the body of an action. The name of its type is that of its schema.
type asking interface {
	asked() lifecycle.TransactionInput
}

type transactionRetry struct {
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"Fragment is back" doc:"Reason; shown in the transaction's events"`
	Attempt int    `json:"attempt,omitempty" minimum:"0" example:"1" doc:"Attempt that you have seen; nothing is done if it is no longer current"`
}

type transactionReview struct {
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"It takes too long" doc:"Reason; shown in the transaction's events"`
	Attempt int    `json:"attempt,omitempty" minimum:"0" example:"1" doc:"Attempt that you have seen; nothing is done if it is no longer current"`
}

type transactionWriteOff struct {
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"Paid back by hand" doc:"Reason; shown in the transaction's events"`
	Attempt int    `json:"attempt,omitempty" minimum:"0" example:"1" doc:"Attempt that you have seen; nothing is done if it is no longer current"`
}

func (b *transactionRetry) asked() lifecycle.TransactionInput {
	return lifecycle.TransactionInput{Attempt: shape.Value(b).Attempt, Comment: shape.Value(b).Comment}
}

func (b *transactionReview) asked() lifecycle.TransactionInput {
	return lifecycle.TransactionInput{Attempt: shape.Value(b).Attempt, Comment: shape.Value(b).Comment}
}

func (b *transactionWriteOff) asked() lifecycle.TransactionInput {
	return lifecycle.TransactionInput{Attempt: shape.Value(b).Attempt, Comment: shape.Value(b).Comment}
}

type transactionResolution struct {
	Outcome string `json:"outcome" enum:"processed,failed,processing" doc:"Outcome that you determined; processing resumes the order, only after a review for deposit_limit or a requested one"`
	Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"The Stars have arrived" doc:"Reason; shown in the transaction's events"`
	Payment string `json:"payment,omitempty" pattern:"^([0-9a-f]{64})?$" patternDescription:"64 hex digits" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Only for processed after a review for payment_lost: the on-chain hash of our payment that bought it"`
	Attempt int    `json:"attempt,omitempty" minimum:"0" example:"1" doc:"Attempt that you have seen; nothing is done if it is no longer current"`
}

func (b transactionResolution) asked() lifecycle.TransactionInput {
	return lifecycle.TransactionInput{
		Attempt: b.Attempt, Outcome: lifecycle.TransactionState(b.Outcome), Payment: b.Payment, Comment: b.Comment,
	}
}

// handlers implement the operations on transactions and payments.
type handlers struct {
	*server.Server
	transactions *transactions.Service
}

// Register adds the operations on transactions and payments to an API.
func Register(s *server.Server, transactions *transactions.Service) {
	h := &handlers{Server: s, transactions: transactions}
	maps.Copy(s.Kinds, kinds)

	h.registerTransactions()
	h.registerStars()
	h.registerPayments()
}

// registerTransactions adds the operations on transactions.
func (h *handlers) registerTransactions() {
	transactions := server.Group{
		Server: h.Server, Tag: "Transactions", Access: server.ForAdmins, Scope: lifecycle.TransactionScope, Subject: "transaction", Faults: []fault.Code{fault.NotConfigured},
	}

	actions := transactions
	actions.Faults = append([]fault.Code{
		fault.TransactionNotFound, fault.InvalidTransition, fault.PaymentUndecided, fault.TemporalUnavailable,
	}, transactions.Faults...)

	server.Register(transactions, server.Operation{
		Id: "list-transactions", Route: "GET /v1/transactions", Scope: account.ScopeRead,
		Summary: "List transactions, newest first",
	}, h.listTransactions)

	server.Register(transactions, server.Operation{
		Id: "get-transaction", Route: "GET /v1/transactions/{hash}", Scope: account.ScopeRead,
		Summary: "Get a transaction with its events, payments and ledger entries", Faults: []fault.Code{fault.TransactionNotFound},
	}, h.getTransaction)

	registerAction[*transactionRetry](h, actions, lifecycle.TransactionActionRetry, server.Operation{
		Id: "retry-transaction", Route: "POST /v1/transactions/{hash}/retry",
		Summary:     "Retry the purchase of a failed transaction",
		Description: "Not after a non-retryable failure, and not while one of its payments may have moved money.",
	})

	registerAction[transactionResolution](h, actions, lifecycle.TransactionActionResolve, server.Operation{
		Id: "resolve-transaction", Route: "POST /v1/transactions/{hash}/resolve",
		Summary:     "Resolve a transaction that needs review",
		Description: "After processed and failed it is never bought again. Not possible while one of its payments is signed and the chain has not decided.",
	})

	registerAction[*transactionReview](h, actions, lifecycle.TransactionActionReview, server.Operation{
		Id: "review-transaction", Route: "POST /v1/transactions/{hash}/review",
		Summary:     "Stop a processing order until an administrator resolves it",
		Description: "Nothing is signed for it meanwhile. The chain decides payments already signed.",
	})

	registerAction[*transactionWriteOff](h, actions, lifecycle.TransactionActionWriteOff, server.Operation{
		Id: "write-off-transaction", Route: "POST /v1/transactions/{hash}/write-off",
		Summary:     "Write off what is owed to the sender of a failed transaction",
		Description: "The money stays in the wallet. Not while a refund is signed or paid: then nothing is owed.",
	})

	server.Register(transactions, server.Operation{
		Id: "get-transaction-stats", Route: "GET /v1/stats/transactions", Scope: account.ScopeOperate,
		Summary: "Get transaction statistics",
	}, h.getTransactionStats)
}

func (h *handlers) listTransactions(
	ctx context.Context, in *listTransactionsInput,
) (shape.Page[shape.Transaction], error) {
	filter := transaction.Filter{
		Status: lifecycle.TransactionState(in.Status), NeedsReview: in.NeedsReview, Owed: in.Owed, HashBegins: in.Hash,
		Attention: in.Attention,
	}

	filter.Error, filter.SeenFrom, filter.SeenUntil = in.Error, unlessZero(in.Seen), unlessZero(in.SeenTill)
	filter.MayRetry = in.Retryable || filter.SeenFrom != nil || filter.SeenUntil != nil
	if in.Stuck {
		filter.StuckFor = h.transactions.StuckAfter
	}
	return server.ListOf(in.Paging, transactionsCursor, func(before int64, limit int) ([]transaction.Transaction, error) {
		filter.Before, filter.Limit = before, limit
		return h.transactions.List(ctx, filter)
	}, func(t transaction.Transaction) int64 { return t.ID }, h.transactionFrom)
}

// unlessZero is nil for a missing time.
func unlessZero(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (h *handlers) getTransaction(ctx context.Context, in *HashPath) (shape.WholeTransaction, error) {
	whole, err := h.transactions.Whole(ctx, in.Hash)
	return server.Shown(whole, err, h.wholeFrom)
}

func (h *handlers) wholeFrom(t transactions.Overview) shape.WholeTransaction {
	return shape.WholeTransaction{
		Transaction: h.transactionFrom(t.Transaction), Events: shape.List(t.Events, server.HistoryFrom),
		Payments: shape.List(t.Payments, paymentFrom), Ledger: shape.List(t.Ledger, entryFrom),
	}
}

// registerAction adds the operation of an action on a transaction.
func registerAction[Body asking](
	h *handlers, g server.Group, action lifecycle.TransactionAction, op server.Operation,
) {
	op.Confirms = true
	server.Register(g, op, func(ctx context.Context, in *actionInput[Body]) (shape.Transaction, error) {
		asked := in.Body.asked()
		asked.Actor = server.Caller(ctx).ID
		t, err := h.transactions.Act(ctx, in.Hash, action, asked, in.Key)
		if err == nil {
			h.Done(ctx, t.Hash)
		}
		return server.Shown(t, err, h.transactionFrom)
	})
}

func (h *handlers) transactionFrom(t transaction.Transaction) shape.Transaction {
	body := shape.Transaction{
		Hash: t.Hash, Status: t.State, AmountNano: t.AmountNano, Sender: t.Sender,
		Username: shape.Optional(t.Username), UserID: shape.OptionalID(t.UserID), Stars: t.Stars, QuoteNano: t.QuoteNano,
		Attempt:      t.Attempt,
		ErrorMessage: shape.Optional(t.ErrorMessage), ErrorClass: shape.Optional(string(t.ErrorClass)),
		FragmentTransactionHash: shape.Optional(t.FragmentTransactionHash), RefundDueNano: t.RefundDueNano,
		DustNano:    t.DustNano,
		NeedsReview: t.NeedsReview, ReviewReason: shape.Optional(t.ReviewReason),
		AllowedActions:  transactions.Actions(t),
		Resolutions:     transactions.Resolutions(t),
		WaitsFor:        shape.Optional(t.WaitsFor()),
		WorkflowID:      t.WorkflowID(),
		ProcessingSince: shape.OptionalTime(t.ProcessingSince), DeadlineAt: h.transactions.Deadline(t),
		RetryAt:   shape.OptionalTime(t.RetryAt),
		CreatedAt: t.CreatedAt.UTC(), UpdatedAt: t.UpdatedAt.UTC(),
		ReceiptKey: t.ReceiptKey, ReceiptURL: shape.Optional(h.transactions.ReceiptURL(t)),
	}

	if t.GivenUpAt != nil {
		body.GivenUpAt = shape.OptionalTime(t.GivenUpAt)
	}
	return body
}

func entryFrom(e transaction.LedgerEntry) shape.LedgerEntry {
	return shape.LedgerEntry{
		Cause: e.Cause, CreatedAt: e.CreatedAt.UTC(),
		Postings: shape.List(e.Postings, func(b transaction.Balance) shape.Posting {
			return shape.Posting{Account: string(b.Account), AmountNano: b.BalanceNano}
		}),
	}
}

func paymentFrom(p transaction.Payment) shape.Payment {
	return shape.Payment{
		ID: shape.ID(p.ID), Kind: string(p.Kind), State: string(p.State), Attempt: p.Attempt, Seqno: p.Seqno,
		Destination: p.Destination,
		AmountNano:  p.AmountNano, GasNano: p.GasNano, ReturnedNano: p.ReturnedNano, MessageHash: p.HashNorm,
		ChainHash:  shape.Optional(p.ChainHash),
		ValidUntil: p.ValidUntil.UTC(), SentAt: shape.OptionalTime(p.SentAt), SettledAt: shape.OptionalTime(p.SettledAt),
		KeptAt:    shape.OptionalTime(p.KeptAt),
		CreatedAt: p.CreatedAt.UTC(),
	}
}
