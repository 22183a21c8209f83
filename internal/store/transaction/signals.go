package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// Wakes signal work for the process that watches a wallet, before the next read of the chain would find it. They are
// hints: one may be lost, so nothing may depend on them.
type Wakes struct {
	Turns    <-chan struct{} // an order has got the wallet's turn and may not know
	Payments <-chan struct{} // a payment was broadcast
}

// The channels of PostgreSQL that carry wakes between processes.
const (
	wakeTurn    = "stagecoach_turn"
	wakePayment = "stagecoach_payment"
)

const wakesAgain = time.Second // after the connection was lost

// WakesOf listens until ctx ends, on a connection of its own.
func (s *Store) WakesOf(ctx context.Context, wallet string) Wakes {
	turns, payments := make(chan struct{}, 1), make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			_ = s.db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
				return listen(ctx, conn.Hijack(), wallet, map[string]chan<- struct{}{wakeTurn: turns, wakePayment: payments})
			})
			select {
			case <-ctx.Done():
			case <-time.After(wakesAgain):
			}
		}
	}()

	return Wakes{Turns: turns, Payments: payments}
}

// listen forwards wakes until the connection breaks or ctx ends.
func listen(ctx context.Context, conn *pgx.Conn, wallet string, to map[string]chan<- struct{}) error {
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for channel := range to {
		if _, err := conn.Exec(ctx, "LISTEN "+channel); err != nil {
			return err
		}
	}

	for {
		heard, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if heard.Payload != wallet {
			continue
		}

		select {
		case to[heard.Channel] <- struct{}{}:
		default: // one is pending already: it is enough
		}
	}
}

// WakeForPayment signals to the process that watches the wallet that a payment was broadcast.
func (s *Store) WakeForPayment(ctx context.Context, wallet string) error {
	return s.db.Do(ctx, `SELECT pg_notify($1, $2)`, wakePayment, wallet)
}

// wakeForTurn signals when the database transaction that grants a turn commits.
func wakeForTurn(ctx context.Context, tx core.Session, wallet string) error {
	_, err := tx.Exec(ctx, `SELECT pg_notify($1, $2)`, wakeTurn, wallet)
	return err
}

// PendingSignals is what workflows may not have been notified of. Each notification is repeated until it is marked.
type PendingSignals struct {
	Starts  []string         // transactions whose workflow was never started: MarkStarted
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
	batch := &pgx.Batch{}
	batch.Queue(`SELECT hash FROM transactions
		WHERE wallet = $1 AND status = `+core.Literal(lifecycle.TransactionPending)+` AND workflow_started_at IS NULL
		ORDER BY id LIMIT $2`, wallet, limit).Query(func(rows pgx.Rows) (err error) {
		pending.Starts, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})

	batch.Queue(`SELECT transaction_hash, id FROM payments
		WHERE wallet = $1 AND settled_at IS NOT NULL AND told_at IS NULL ORDER BY id LIMIT $2`, wallet, limit).Query(func(rows pgx.Rows) (err error) {
		pending.Settled, err = pgx.CollectRows(rows, pgx.RowToStructByName[SettledPayment])
		return err
	})

	batch.Queue(`SELECT `+queueColumns+` FROM payment_queue q
		WHERE wallet = $1 AND granted_at IS NOT NULL AND told_at IS NULL`, wallet).Query(func(rows pgx.Rows) (err error) {
		pending.Turns, err = pgx.CollectRows(rows, pgx.RowToStructByName[QueueEntry])
		return err
	})

	err = core.Unavailable(s.db.SendBatch(ctx, batch).Close())
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
