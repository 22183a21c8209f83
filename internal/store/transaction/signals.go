package transaction

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/internal/store/core"
)

// wakePayment is the PostgreSQL channel that carries wake-ups between processes.
const wakePayment = "stagecoach_payment"

const wakesAgain = time.Second // after a lost connection

// PaymentWakes signals that a wallet's payment was broadcast, before the next read of the chain would find it. It is
// only a hint: one may be lost, so nothing may depend on it. It listens until ctx ends, on its own connection.
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

// listen forwards wake-ups until the connection breaks or ctx ends.
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
		default: // one is already pending, which is enough
		}
	}
}

// WakeForPayment signals to the process that watches the wallet that a payment was broadcast.
func (s *Store) WakeForPayment(ctx context.Context, wallet string) error {
	return s.db.Do(ctx, `SELECT pg_notify($1, $2)`, wakePayment, wallet)
}

// Loose is what a wallet's monitor handles besides the chain.
type Loose struct {
	// hashes of orders whose workflow was never started, or not since it must check the record again: MarkStarted
	Unstarted []string
	// paid purchases with an unknown outcome at the destination that no workflow follows: those of transactions in review,
	// or that have ended
	Abandoned []Payment
	Signed    bool // a payment is in flight
}

// Loose returns up to this many of each for a wallet.
func (s *Store) Loose(ctx context.Context, wallet string, unstarted, abandoned int) (loose Loose, err error) {
	batch := &pgx.Batch{}
	batch.Queue(`SELECT hash FROM transactions
		WHERE wallet = $1 AND (`+openOrder+` OR `+retryPlanned+`) AND workflow_started_at IS NULL
		ORDER BY id LIMIT $2`, wallet, unstarted).Query(func(rows pgx.Rows) (err error) {
		loose.Unstarted, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	batch.Queue(`SELECT `+paymentColumns+` FROM payments p WHERE wallet = $1 AND `+unresolvedPurchase+`
		AND EXISTS (SELECT 1 FROM transactions t WHERE t.hash = p.transaction_hash AND (needs_review OR NOT `+isProcessing+`))
		ORDER BY id LIMIT $2`, wallet, abandoned).Query(func(rows pgx.Rows) (err error) {
		loose.Abandoned, err = pgx.CollectRows(rows, pgx.RowToStructByName[Payment])
		return err
	})
	batch.Queue(`SELECT EXISTS (SELECT 1 FROM payments WHERE wallet = $1 AND `+isSigned+`)`, wallet).QueryRow(func(row pgx.Row) error {
		return row.Scan(&loose.Signed)
	})
	return loose, core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}
