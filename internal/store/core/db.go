// Package core is what all parts of the record share: the database, the one function that changes rows, events, answers and
// quotas.
package core

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/internal/fault"
)

// DB is the database of the record. It is safe for concurrent use.
type DB struct {
	*connections

	// Quotas are checked in the transaction that creates something. They are set before the first use.
	Quotas Quotas

	Sealer     sealer
	Pseudonyms pseudonyms
}

// Open connects to the database at url, without waiting for it. The keys, of 32 bytes each, protect OAuth tokens at
// rest: the first one encrypts, all decrypt. The tracer sees every statement; nil: none does.
func Open(ctx context.Context, url string, p Pool, tracer pgx.QueryTracer, keys [][]byte) (*DB, error) {
	sealer, err := newSealer(keys)
	if err != nil {
		return nil, err
	}

	names, err := newPseudonyms(keys)
	if err != nil {
		return nil, err
	}

	pool, err := p.open(ctx, url, tracer)
	if err != nil {
		return nil, err
	}
	return &DB{connections: pool, Sealer: sealer, Pseudonyms: names}, nil
}

// InTx runs fn in one transaction and returns STORE_UNAVAILABLE when PostgreSQL is unavailable.
func (db *DB) InTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return Unavailable(pgx.BeginFunc(ctx, db, fn))
}

// InTwoTrips runs a transaction in two round trips to PostgreSQL: the first begins it and executes what read has
// queued, the second executes what write has queued and commits. Statements of write on the session come between them.
// An error rolls back everything.
func (db *DB) InTwoTrips(ctx context.Context, read func(*pgx.Batch), write func(Session, *pgx.Batch) error) error {
	return Unavailable(db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		first, second := &pgx.Batch{}, &pgx.Batch{}
		first.Queue("BEGIN")
		read(first)
		err := conn.SendBatch(ctx, first).Close()
		if err == nil {
			err = write(conn, second)
		}

		if err == nil {
			second.Queue("COMMIT")
			err = conn.SendBatch(ctx, second).Close()
		}

		if err != nil {
			// the pool closes a connection on which this fails, which rolls back too
			_, _ = conn.Exec(ctx, "ROLLBACK")
		}
		return err
	}))
}

// RetryWhileUnavailable repeats op until PostgreSQL is available again or ctx ends: an outage of the record is not a
// failure of what it records.
func RetryWhileUnavailable(ctx context.Context, op func() error) error {
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := op()
		if fault.CodeOf(err) != fault.StoreUnavailable {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
	}
}

// Unavailable marks err as STORE_UNAVAILABLE when the connection is at fault and not the statement.
func Unavailable(err error) error {
	if err == nil || fault.As(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}

	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	_, noConnection := errors.AsType[*pgconn.ConnectError](err)
	switch {
	// Shutting down or out of time, no room, connection lost, rolled back in favour of another.
	case answered && slices.Contains([]string{"57", "53", "08", "40"}, pgErr.Code[:2]):
	case answered && pgErr.Code == "25P03": // the transaction was idle for too long
	case noConnection, !answered && !errors.Is(err, pgx.ErrNoRows) && pgconn.SafeToRetry(err), isBroken(err):
	default:
		return err
	}

	return fault.New(fault.StoreUnavailable, "the database cannot be reached").Retry().WithCause(err)
}

// isBroken reports whether a connection was lost during a statement.
func isBroken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
