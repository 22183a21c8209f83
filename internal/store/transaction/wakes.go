package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

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
