// Package core contains what all parts of the record share: the database, the one function that changes rows, events,
// answers and quotas.
package core

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"stagecoach/internal/fault"
)

// DB is the record's database. It is safe for concurrent use.
type DB struct {
	*connections

	// Quotas are checked in the creating transaction. Set them before the first use.
	Quotas Quotas

	Sealer     sealer
	Pseudonyms pseudonyms
}

// Open connects to the database at url, without waiting for it. The keys, of 32 bytes each, protect OAuth tokens at
// rest: the first one encrypts, any of them decrypts. The tracer sees every statement; nil: no tracer.
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

// InTx runs fn in one transaction and returns STORE_UNAVAILABLE if PostgreSQL is unavailable.
func (db *DB) InTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return Unavailable(pgx.BeginFunc(ctx, db, fn))
}

// InTwoTrips runs a transaction in two round trips to PostgreSQL: the first begins it and executes what read has
// queued, the second executes what write has queued and commits. Queries that write runs on the session come in
// between, and take along the session's pending statements. An error rolls back everything.
func (db *DB) InTwoTrips(ctx context.Context, read func(*pgx.Batch), write func(Session, *pgx.Batch) error) error {
	return Unavailable(db.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
		first, second := &pgx.Batch{}, &pgx.Batch{}
		first.Queue("BEGIN")
		read(first)
		err := conn.SendBatch(ctx, first).Close()
		if err == nil {
			err = write(&pipeline{conn, second}, second)
		}

		if err == nil {
			second.Queue("COMMIT")
			err = conn.SendBatch(ctx, second).Close()
		}

		if err != nil {
			// if this fails, the pool closes the connection, which rolls back too
			_, _ = conn.Exec(ctx, "ROLLBACK")
		}
		return err
	}))
}

// RetryWhileUnavailable retries op until PostgreSQL is available or ctx ends: an outage of the record is not a failure
// of what it records.
func RetryWhileUnavailable(ctx context.Context, op func() error) error {
	pauses := &backoff.ExponentialBackOff{
		InitialInterval: 50 * time.Millisecond, Multiplier: 2, RandomizationFactor: 0.2, MaxInterval: 2 * time.Second,
	}

	last, err := backoff.Retry(ctx, func() (error, error) {
		err := op()
		if err != nil && fault.CodeOf(err) != fault.StoreUnavailable {
			return nil, backoff.Permanent(err)
		}
		return err, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(0))
	return errors.Join(last, err)
}

// Unavailable marks err as STORE_UNAVAILABLE if the connection rather than the statement failed.
func Unavailable(err error) error {
	if err == nil || fault.As(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}

	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	_, noConnection := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[net.Error](err) // during a statement
	broken = broken || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
	switch {
	case answered && refusals[pgErr.Code] != "":
		return fault.New(fault.StoreUnavailable, "%s", refusals[pgErr.Code]).Retry().WithCause(err)
	// Shutting down or timed out, out of resources, connection lost, rolled back in favor of another transaction.
	case answered && slices.Contains([]string{"57", "53", "08", "40"}, pgErr.Code[:2]):
	case answered && pgErr.Code == "25P03": // the transaction was idle for too long
	case noConnection, !answered && !errors.Is(err, pgx.ErrNoRows) && pgconn.SafeToRetry(err), broken:
	default:
		return err
	}

	return fault.New(fault.StoreUnavailable, "the database cannot be reached").Retry().WithCause(err)
}

// RefusesWrites reports whether the database answered that it accepts no writes: it is read-only, or its disk is full
// or broken.
func RefusesWrites(err error) bool {
	answer, answered := errors.AsType[*pgconn.PgError](err)
	return answered && slices.Contains([]string{readOnly, "53100", "58030"}, answer.Code)
}
