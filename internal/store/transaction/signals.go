package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// wakePayment is the channel of PostgreSQL that carries wakes between processes.
const wakePayment = "stagecoach_payment"

const wakesAgain = time.Second // after the connection was lost

// PaymentWakes signals that a payment of a wallet was broadcast, before the next read of the chain would find it. It is a
// hint: one may be lost, so nothing may depend on it. It listens until ctx ends, on a connection of its own.
func (s *Store) PaymentWakes(ctx context.Context, wallet string) <-chan struct{} {
	wakes := make(chan struct{}, 1)
	go func() {
		for ctx.Err() == nil {
			_ = s.db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error { return listen(ctx, conn.Hijack(), wallet, wakes) })
			select {
			case <-ctx.Done():
			case <-time.After(wakesAgain):
			}
		}
	}()

	return wakes
}

// listen forwards wakes until the connection breaks or ctx ends.
func listen(ctx context.Context, conn *pgx.Conn, wallet string, wakes chan<- struct{}) error {
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "LISTEN "+wakePayment); err != nil {
		return err
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
		case wakes <- struct{}{}:
		default: // one is pending already: it is enough
		}
	}
}

// WakeForPayment signals to the process that watches the wallet that a payment was broadcast.
func (s *Store) WakeForPayment(ctx context.Context, wallet string) error {
	return s.db.Do(ctx, `SELECT pg_notify($1, $2)`, wakePayment, wallet)
}

// UnstartedOf lists up to limit pending transactions of a wallet whose workflow was never started: MarkStarted.
func (s *Store) UnstartedOf(ctx context.Context, wallet string, limit int) ([]string, error) {
	return core.Values[string](ctx, s.db, `SELECT hash FROM transactions
		WHERE wallet = $1 AND status = `+core.Literal(lifecycle.TransactionPending)+` AND workflow_started_at IS NULL
		ORDER BY id LIMIT $2`, wallet, limit)
}
