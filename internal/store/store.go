// Package store keeps the record in PostgreSQL: what people query, and what must last longer than a workflow. Every
// transition is one database transaction, row and event together, guarded by the row's lock and version.
package store

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"net"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"stagecoach/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the record. It is safe for concurrent use.
type Store struct {
	// Quotas are checked in the transaction that makes something. They are set before the first use.
	Quotas Quotas
	// TaskTimes bound the deadlines of tasks. They are set before the first use.
	TaskTimes TaskTimes

	url    string
	pool   *connections
	sealer sealer
}

// tracer is told of every statement. Only tests set it, before they open anything.
var tracer pgx.QueryTracer

// Open is OpenPool with what is usual.
func Open(ctx context.Context, url string, keys ...[]byte) (*Store, error) {
	return OpenPool(ctx, url, DefaultPool, keys...)
}

// OpenPool connects to the database at url, without waiting for it. The keys, of 32 bytes each, protect OAuth tokens at
// rest: the first one seals, all open.
func OpenPool(ctx context.Context, url string, p Pool, keys ...[]byte) (*Store, error) {
	seal, err := newSealer(keys)
	if err != nil {
		return nil, err
	}
	pool, err := p.open(ctx, url)
	if err != nil {
		return nil, err
	}
	return &Store{url: url, pool: pool, sealer: seal}, nil
}

// Close gives all connections back.
func (s *Store) Close() { s.pool.Close() }

// Ping says whether PostgreSQL answers.
func (s *Store) Ping(ctx context.Context) error { return unavailable(s.pool.Ping(ctx)) }

// Migrate brings the schema up to this program's version; a lock lets one process at a time do it. Its statements take
// as long as they take, on connections of their own.
func (s *Store) Migrate(ctx context.Context) error { return s.migrate(ctx, latest) }

// latest is the schema's version of this program.
const latest = math.MaxInt64

// migrate brings the schema up to a version.
func (s *Store) migrate(ctx context.Context, version int64) error {
	config, err := Pool{}.config(s.url)
	if err != nil {
		return err
	}

	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()

	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}

	locker, err := lock.NewPostgresSessionLocker()
	if err != nil {
		return err
	}

	provider, err := goose.NewProvider(goose.DialectPostgres, db, files, goose.WithSessionLocker(locker))
	if err != nil {
		return err
	}
	if _, err = provider.UpTo(ctx, version); err != nil {
		return fmt.Errorf("migrating the database: %w", err)
	}

	return nil
}

// inTx runs fn in one transaction and says STORE_UNAVAILABLE when PostgreSQL cannot be reached.
func (s *Store) inTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return unavailable(pgx.BeginFunc(ctx, s.pool, fn))
}

// inTwoTrips makes a transaction at the price of two trips to PostgreSQL: the first begins it and does what read has
// queued, the second does what write has queued and commits. What write does on the session comes between them. An
// error undoes all.
func (s *Store) inTwoTrips(ctx context.Context, read func(*pgx.Batch), write func(session, *pgx.Batch) error) error {
	return unavailable(s.pool.AcquireFunc(ctx, func(conn *pgxpool.Conn) error {
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
			// a connection that cannot even do this is closed by the pool, which undoes all too
			_, _ = conn.Exec(ctx, "ROLLBACK")
		}
		return err
	}))
}

// RetryWhileUnavailable repeats op until PostgreSQL can be reached again or ctx ends: an outage of the record is not a
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

// unavailable marks err as STORE_UNAVAILABLE when the connection is at fault and not the statement.
func unavailable(err error) error {
	if err == nil || fault.As(err) != nil || errors.Is(err, context.Canceled) {
		return err
	}

	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	_, noConnection := errors.AsType[*pgconn.ConnectError](err)
	switch {
	case answered && slices.Contains([]string{"57", "53", "08", "40"}, pgErr.Code[:2]): // shutting down or out of time, no room, undone for another's sake
	case answered && pgErr.Code == "25P03": // the transaction was idle for too long
	case noConnection, !answered && !errors.Is(err, pgx.ErrNoRows) && pgconn.SafeToRetry(err), isBroken(err):
	default:
		return err
	}

	return fault.New(fault.StoreUnavailable, "the database cannot be reached").Retry().WithCause(err)
}

// isBroken says whether a connection died under a statement.
func isBroken(err error) bool {
	_, network := errors.AsType[net.Error](err)
	return network || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed)
}
