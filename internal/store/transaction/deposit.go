package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Deposit is a transfer into a wallet as the first source has told it.
type Deposit struct {
	Wallet     string    `db:"wallet"`
	Hash       string    `db:"hash"`
	LT         int64     `db:"lt"`
	AmountNano int64     `db:"amount_nano"`
	Sender     string    `db:"sender"`
	Comment    string    `db:"comment"` // see SameComment
	At         time.Time `db:"at"`      // the chain's clock
}

// SameComment says whether a comment of the chain is the one that the record keeps: of some it cannot keep every byte.
func (d Deposit) SameComment(comment string) bool { return printable(comment) == d.Comment }

var noDeposit = fault.New(fault.TransactionNotFound, "the chain's history in the record does not have this transfer")

// DepositOf gives the transfer that made a transaction.
func (s *Store) DepositOf(ctx context.Context, hash string) (Deposit, error) {
	return core.One[Deposit](ctx, s.db, noDeposit, `SELECT t.wallet, t.hash, t.lt, t.amount_nano, t.sender, t.comment, c.at
		FROM transactions t JOIN chain_transactions c USING (wallet, lt) WHERE t.hash = $1`, hash)
}

// ConfirmDeposit remembers that a second source agrees about a transaction's deposit, so that nobody asks it again.
func (s *Store) ConfirmDeposit(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.DepositConfirmedAt == nil {
			w.DepositConfirmedAt = &w.Now
			w.Note(lifecycle.TransactionConfirmed)
		}
		return nil
	})
}

// DisputeDeposit asks for a person to look at a transaction whose deposit a second source does not tell as the first
// one did. Nothing is paid for it meanwhile.
func (s *Store) DisputeDeposit(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		// or there is nothing to hold
		if w.DepositConfirmedAt != nil || w.State != lifecycle.TransactionProcessing && w.RefundDueNano == 0 {
			return nil
		}
		return w.stopForReview(ctx, ReviewDisputed)
	})
}

// AnyDisputed says whether a deposit waits for a person. The index transactions_review has the few that need review.
func (s *Store) AnyDisputed(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE needs_review AND review_reason = $1)`, ReviewDisputed)
}
