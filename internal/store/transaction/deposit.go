package transaction

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Deposit is a transfer into a wallet as the first source reports it.
type Deposit struct {
	Wallet     string    `db:"wallet"`
	Hash       string    `db:"hash"`
	LT         int64     `db:"lt"`
	AmountNano int64     `db:"amount_nano"`
	Sender     string    `db:"sender"`
	Comment    string    `db:"comment"` // see SameComment
	At         time.Time `db:"at"`      // the chain's clock
}

// SameComment reports whether a comment of the chain is the recorded one: the record cannot store every byte of some
// comments.
func (d Deposit) SameComment(comment string) bool { return printable(comment) == d.Comment }

var noDeposit = fault.New(fault.TransactionNotFound, "the chain's history in the record does not have this transfer")

// DepositOf returns the transfer that created a transaction.
func (s *Store) DepositOf(ctx context.Context, hash string) (Deposit, error) {
	return core.One[Deposit](ctx, s.db, noDeposit, `SELECT t.wallet, t.hash, t.lt, t.amount_nano, t.sender, t.comment, c.at
		FROM transactions t JOIN chain_transactions c USING (wallet, lt) WHERE t.hash = $1`, hash)
}

// ConfirmDeposit records that a second source confirms a transaction's deposit, so that it is not asked again.
func (s *Store) ConfirmDeposit(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		if w.DepositConfirmedAt == nil {
			w.DepositConfirmedAt = &w.Now
			w.Note(lifecycle.TransactionConfirmed)
		}
		return nil
	})
}

// DisputeDeposit requests a review of a transaction whose deposit a second source does not confirm. Nothing is paid for
// it meanwhile.
func (s *Store) DisputeDeposit(ctx context.Context, hash string) (Snapshot, error) {
	return s.write(ctx, hash, func(w *writing) error {
		// already confirmed, or there is nothing to hold
		if w.DepositConfirmedAt != nil || w.State != lifecycle.TransactionProcessing && w.RefundDueNano == 0 {
			return nil
		}
		return w.stopForReview(ctx, ReviewDisputed)
	})
}

// AnyDisputed reports whether a deposit waits for a person. The index transactions_review has the few that need review.
func (s *Store) AnyDisputed(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM transactions
		WHERE needs_review AND review_reason = $1)`, ReviewDisputed)
}
