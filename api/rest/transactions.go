package rest

import (
	"context"
	"net/http"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const transactionsCursor = "transactions"

type listTransactionsInput struct {
	Paging
	Status      string `query:"status" enum:"pending,processing,processed,failed" doc:"Only those in this status"`
	NeedsReview bool   `query:"needs_review" doc:"Only those that an administrator has to resolve"`
	Stuck       bool   `query:"stuck" doc:"Only those that are in processing for too long"`
	Hash        string `query:"hash" pattern:"^[0-9a-f]{0,64}$" patternDescription:"hex digits in lower case" doc:"Only those whose hash begins like this"`
	Owed        bool   `query:"owed" doc:"Only those whose sender is owed money that is not on its way"`
	Retryable   bool   `query:"retryable" doc:"Only failed ones that may be tried again"`

	Error    string    `query:"error" maxLength:"1000" doc:"Only those that may be tried again and have failed with this message"`
	Seen     time.Time `query:"seen_from" doc:"Only those that may be tried again and were detected at or after this time"`
	SeenTill time.Time `query:"seen_until" doc:"Only those that may be tried again and were detected before this time"`
}

type transactionInput struct {
	Hash string `path:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"The hash of a transaction"`
}

type retryTransactionInput struct {
	Keyed
	Hash string `path:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"The hash of a transaction"`
	Body *struct {
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"Fragment is back" doc:"Why; it stands in the transaction's events"`
	} `nameHint:"TransactionRetry"`
}

type writeOffTransactionInput struct {
	Keyed
	Hash string `path:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"The hash of a transaction"`
	Body *struct {
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"Paid back by hand" doc:"Why; it stands in the transaction's events"`
	} `nameHint:"TransactionWriteOff"`
}

type resolveTransactionInput struct {
	Keyed
	Hash string `path:"hash" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"The hash of a transaction"`
	Body struct {
		Outcome string `json:"outcome" enum:"processed,failed,processing" doc:"What you have found out; processing only after a review for deposit_disputed: the deposit is right, and the order goes on"`
		Comment string `json:"comment,omitempty" maxLength:"4000" pattern:"^[^\\x00]*$" patternDescription:"text without NUL" example:"The Stars have arrived" doc:"Why; it stands in the transaction's events"`
		Payment string `json:"payment,omitempty" pattern:"^([0-9a-f]{64})?$" patternDescription:"64 hex digits" example:"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5" doc:"Only for processed after a review for payment_lost: the hash on the chain of our payment that bought it"`
	} `nameHint:"TransactionResolution"`
}

var (
	listTransactions = operation{
		id: "list-transactions", method: http.MethodGet, path: "/v1/transactions", tag: "Transactions", access: forAdmins,
		scope:   store.ScopeRead,
		summary: "List transactions, the newest first", faults: []fault.Code{fault.NotConfigured},
	}
	getTransaction = operation{
		id: "get-transaction", method: http.MethodGet, path: "/v1/transactions/{hash}", tag: "Transactions",
		access: forAdmins, scope: store.ScopeRead, subject: "transaction",
		summary: "Look at a transaction, what happened to it and what was paid for it",
		faults:  []fault.Code{fault.TransactionNotFound, fault.NotConfigured},
	}
	retryTransaction = operation{
		id: "retry-transaction", method: http.MethodPost, path: "/v1/transactions/{hash}/retry", tag: "Transactions",
		access: forAdmins, scope: store.ScopeMoney, subject: "transaction",
		summary:     "Try again to buy the Stars of a failed transaction",
		description: "Not for a non-retryable failure, and not while a payment of it may have moved money.",
		faults:      transactionFaults,
	}
	resolveTransaction = operation{
		id: "resolve-transaction", method: http.MethodPost, path: "/v1/transactions/{hash}/resolve", tag: "Transactions",
		access: forAdmins, scope: store.ScopeMoney, subject: "transaction",
		summary:     "End a transaction that needs review as you have found out",
		description: "It is never bought again after processed and failed. While a payment of it is signed and the chain has not decided, nobody can.",
		faults:      transactionFaults,
	}
	writeOffTransaction = operation{
		id: "write-off-transaction", method: http.MethodPost, path: "/v1/transactions/{hash}/write-off", tag: "Transactions",
		access: forAdmins, scope: store.ScopeMoney, subject: "transaction",
		summary:     "Give up what is owed to the sender of a failed transaction",
		description: "It stays in the wallet. Not while a refund of it is signed or paid: then nothing is owed.",
		faults:      transactionFaults,
	}

	transactionFaults = []fault.Code{
		fault.TransactionNotFound, fault.InvalidTransition, fault.PaymentUndecided, fault.NotConfigured,
		fault.TemporalUnavailable,
	}
)

func (s *server) registerTransactions() {
	register(s, listTransactions, s.listTransactions)
	register(s, getTransaction, s.getTransaction)
	register(s, retryTransaction, s.retryTransaction)
	register(s, resolveTransaction, s.resolveTransaction)
	register(s, writeOffTransaction, s.writeOffTransaction)
}

func (s *server) listTransactions(
	ctx context.Context, in *listTransactionsInput,
) (*answer[shape.Page[shape.Transaction]], error) {
	filter := store.TransactionFilter{
		Status: lifecycle.TransactionState(in.Status), NeedsReview: in.NeedsReview, Owed: in.Owed, HashBegins: in.Hash,
	}

	filter.Error, filter.SeenFrom, filter.SeenUntil = in.Error, unlessZero(in.Seen), unlessZero(in.SeenTill)
	filter.MayRetry = in.Retryable || filter.Error != "" || filter.SeenFrom != nil || filter.SeenUntil != nil
	if in.Stuck {
		filter.StuckFor = s.o.Transactions.StuckAfter
	}
	return listOf(in.Paging, transactionsCursor, func(before int64, limit int) ([]store.Transaction, error) {
		filter.Before, filter.Limit = before, limit
		return s.o.Transactions.List(ctx, filter)
	}, func(t store.Transaction) int64 { return t.ID }, s.transactionFrom)
}

// unlessZero is nil for a time that was not given.
func unlessZero(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func (s *server) getTransaction(ctx context.Context, in *transactionInput) (*answer[shape.WholeTransaction], error) {
	t, err := s.o.Transactions.Find(ctx, in.Hash)
	if err != nil {
		return nil, err
	}

	events, err := s.o.Transactions.Events(ctx, in.Hash)
	if err != nil {
		return nil, err
	}

	payments, err := s.o.Transactions.Payments(ctx, in.Hash)
	if err != nil {
		return nil, err
	}
	return answered(shape.WholeTransaction{
		Transaction: s.transactionFrom(t), Events: mapped(events, historyFrom), Payments: mapped(payments, paymentFrom),
	}), nil
}

func (s *server) retryTransaction(ctx context.Context, in *retryTransactionInput) (*answer[shape.Transaction], error) {
	comment := ""
	if in.Body != nil {
		comment = in.Body.Comment
	}
	t, err := s.o.Transactions.Retry(ctx, caller(ctx), in.Hash, comment, in.Key)
	return s.changed(ctx, retryTransaction, t, err)
}

func (s *server) resolveTransaction(
	ctx context.Context, in *resolveTransactionInput,
) (*answer[shape.Transaction], error) {
	t, err := s.o.Transactions.Resolve(
		ctx, caller(ctx), in.Hash, lifecycle.TransactionState(in.Body.Outcome), in.Body.Payment, in.Body.Comment, in.Key,
	)
	return s.changed(ctx, resolveTransaction, t, err)
}

func (s *server) writeOffTransaction(
	ctx context.Context, in *writeOffTransactionInput,
) (*answer[shape.Transaction], error) {
	comment := ""
	if in.Body != nil {
		comment = in.Body.Comment
	}
	t, err := s.o.Transactions.WriteOff(ctx, caller(ctx), in.Hash, comment, in.Key)
	return s.changed(ctx, writeOffTransaction, t, err)
}

func (s *server) changed(
	ctx context.Context, op operation, t store.Transaction, err error,
) (*answer[shape.Transaction], error) {
	if err != nil {
		return nil, err
	}
	s.audit(ctx, caller(ctx), op, t.Hash, store.OutcomeDone)
	return answered(s.transactionFrom(t)), nil
}

func (s *server) transactionFrom(t store.Transaction) shape.Transaction {
	body := shape.Transaction{
		Hash: t.Hash, Status: t.State, AmountNano: t.AmountNano, Sender: t.Sender,
		Username: optional(t.Username), UserID: formatOptionalID(t.UserID), Stars: t.Stars, QuoteNano: t.QuoteNano,
		Attempt:      t.Attempt,
		ErrorMessage: optional(t.ErrorMessage), ErrorClass: optional(string(t.ErrorClass)),
		FragmentTransactionHash: optional(t.FragmentTransactionHash), RefundDueNano: t.RefundDueNano, DustNano: t.DustNano,
		NeedsReview: t.NeedsReview, ReviewReason: optional(t.ReviewReason), AllowedActions: service.TransactionActions(t),
		WorkflowID:      t.WorkflowID(),
		ProcessingSince: optionalUTC(t.ProcessingSince), DeadlineAt: s.o.Transactions.Deadline(t),
		RetryAt:   optionalUTC(t.NextRetry()),
		CreatedAt: utc(t.CreatedAt), UpdatedAt: utc(t.UpdatedAt),
	}

	if t.GivenUp() {
		body.GivenUpAt = optionalUTC(t.GivenUpAt)
	}
	return body
}

func paymentFrom(p store.Payment) shape.Payment {
	return shape.Payment{
		ID: formatID(p.ID), Kind: string(p.Kind), State: string(p.State), Attempt: p.Attempt, Seqno: p.Seqno,
		Destination: p.Destination,
		AmountNano:  p.AmountNano, GasNano: p.GasNano, ReturnedNano: p.ReturnedNano, MessageHash: p.HashNorm,
		ChainHash:  optional(p.ChainHash),
		ValidUntil: utc(p.ValidUntil), SentAt: optionalUTC(p.SentAt), SettledAt: optionalUTC(p.SettledAt),
		KeptAt:    optionalUTC(p.KeptAt),
		CreatedAt: utc(p.CreatedAt),
	}
}
