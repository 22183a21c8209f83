package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
)

// TransactionAnswer is what a person's request has led to, as it is kept for those who ask again by the same key.
type TransactionAnswer struct {
	Transaction *Transaction `json:"transaction,omitempty"` // as it was just after
	Refusal     *fault.Error `json:"refusal,omitempty"`
}

// TransactionAsked is a user's request for a transition. Outcome and payment are for the action resolve only.
func TransactionAsked(userID int64, key string, action TransactionAction, hash string, outcome TransactionStatus, payment, comment string) Request {
	return Request{UserID: userID, Key: key, Asked: fmt.Sprintf("%s %s %s %s%s", action, hash, outcome, payment, comment)}
}

// fulfil keeps the answer to a person's request, unless nobody asked for it by a key, in the transaction that fulfils it.
func (w *writing) fulfil(ctx context.Context, r TransactionRequest, action TransactionAction, outcome TransactionStatus) error {
	userID, key, keyed := keyIn(r.RequestID)
	if !keyed || r.ActorID == nil || *r.ActorID != userID { // an operator may name an update as they like
		return nil
	}
	batch, answer := &pgx.Batch{}, w.Transaction
	answer.UpdatedAt = w.now
	err := queueAnswer(batch, TransactionAsked(userID, key, action, w.Hash, outcome, r.Payment, r.Comment), TransactionAnswer{Transaction: &answer})
	if err != nil {
		return err
	}
	return w.tx.SendBatch(ctx, batch).Close()
}
