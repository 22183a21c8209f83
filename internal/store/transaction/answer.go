package transaction

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// TransactionAnswer is the outcome of a person's request, as stored for repetitions with the same key.
type TransactionAnswer struct {
	Transaction *Transaction `json:"transaction,omitempty"` // right after the action
	Refusal     *fault.Error `json:"refusal,omitempty"`
}

// TransactionAnswerOf returns the answer with a transaction, or with a refusal.
func TransactionAnswerOf(t *Transaction, refusal *fault.Error) TransactionAnswer {
	return TransactionAnswer{Transaction: t, Refusal: refusal}
}

// Outcome returns the answer as the request gets it.
func (a TransactionAnswer) Outcome() (Transaction, error) {
	return core.Outcome(a.Transaction, a.Refusal)
}

// TransactionAsked is a user's request for a transition. Outcome and payment apply only to the action resolve.
func TransactionAsked(
	userID int64, key string, action lifecycle.TransactionAction, hash string, outcome lifecycle.TransactionState, payment,
	comment string,
) core.Request {
	return core.Request{UserID: userID, Key: key, Asked: fmt.Sprintf("%s %s %s %s%s", action, hash, outcome, payment, comment)}
}

// fulfil records what must be known about a request, in the transaction that carries it out: the answer if the request
// has a key, and a row in the audit log if it came from the temporal program. The API and the bot write their own rows.
func (w *writing) fulfil(
	ctx context.Context, r Request, action lifecycle.TransactionAction, outcome lifecycle.TransactionState,
) error {
	userID, key, keyed := core.KeyIn(r.RequestID)
	ours := keyed && r.ActorID != nil && *r.ActorID == userID

	// A signal has no ID, and the temporal program's IDs differ in form from those of the API and the bot.
	if r.ActorID == nil || !ours && !unkeyed.MatchString(r.RequestID) {
		if _, err := w.DB.Exec(ctx, `INSERT INTO audit_log (actor_id, action, subject, outcome, door) VALUES ($1, $2, $3, $4, $5)`,
			r.ActorID, strings.ReplaceAll(string(action), "_", "-")+"-transaction", "transaction/"+w.Hash, account.OutcomeDone, account.DoorCLI); err != nil {
			return err
		}
	}

	if !ours { // an operator may choose any update id
		return nil
	}

	w.Then = func(write *pgx.Batch) error {
		answer := w.Transaction
		answer.UpdatedAt = w.Now
		return core.QueueAnswer(
			write, TransactionAsked(userID, key, action, w.Hash, outcome, r.Payment, r.Comment),
			TransactionAnswer{Transaction: &answer},
		)
	}
	return nil
}

// unkeyed matches the IDs of requests without a key.
var unkeyed = regexp.MustCompile(`^[A-Z2-7]{26}$`)
