package transaction

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// PendingSignals is what workflows may not have been notified of. Each notification is repeated until it is marked.
type PendingSignals struct {
	Starts  []string         // transactions whose workflow was never started: MarkTransactionStarted
	Settled []SettledPayment // MarkSettledNotified
	Turns   []QueueEntry     // MarkTurnNotified
}

// SettledPayment is a payment that the chain has decided, with its transaction.
type SettledPayment struct {
	TransactionHash string `db:"transaction_hash"`
	PaymentID       int64  `db:"id"`
}

// PendingSignalsOf lists up to limit of each kind.
func (s *Store) PendingSignalsOf(ctx context.Context, wallet string, limit int) (pending PendingSignals, err error) {
	err = s.db.InTx(ctx, func(tx pgx.Tx) error {
		pending.Starts, err = core.Values[string](ctx, tx, `SELECT hash FROM transactions
			WHERE wallet = $1 AND status = `+core.Literal(lifecycle.TransactionPending)+` AND workflow_started_at IS NULL
			ORDER BY id LIMIT $2`, wallet, limit)
		if err != nil {
			return err
		}

		pending.Settled, err = core.List[SettledPayment](ctx, tx, `SELECT transaction_hash, id FROM payments
			WHERE wallet = $1 AND settled_at IS NOT NULL AND told_at IS NULL ORDER BY id LIMIT $2`, wallet, limit)
		if err != nil {
			return err
		}

		pending.Turns, err = core.List[QueueEntry](ctx, tx, `SELECT `+queueColumns+` FROM payment_queue q
			WHERE wallet = $1 AND granted_at IS NOT NULL AND told_at IS NULL`, wallet)
		return err
	})

	return pending, err
}

// MarkSettledNotified records that a transaction's workflow knows how its payment was settled.
func (s *Store) MarkSettledNotified(ctx context.Context, paymentID int64) error {
	return s.db.Do(ctx, `UPDATE payments SET told_at = now()
		WHERE id = $1 AND settled_at IS NOT NULL AND told_at IS NULL`, paymentID)
}

// MarkTurnNotified records that a transaction's workflow knows of the turn that was granted at that time.
func (s *Store) MarkTurnNotified(ctx context.Context, turn QueueEntry) error {
	return s.db.Do(ctx, `UPDATE payment_queue SET told_at = now() WHERE transaction_hash = $1 AND kind = $2 AND granted_at = $3
		AND told_at IS NULL`, turn.TransactionHash, turn.Kind, turn.GrantedAt)
}
