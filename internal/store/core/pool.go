package core

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Pool configures how a process uses PostgreSQL.
type Pool struct {
	Program     string        // PostgreSQL's application_name, unless the address sets another; empty: stagecoach
	Connections int           // maximum, of which a part is reserved
	Statement   time.Duration // maximum duration of a statement; 0: no limit
	Idle        time.Duration // maximum wait of a transaction for its next statement; 0: no limit
}

// DefaultPool is the pool of programs that configure none.
var DefaultPool = Pool{Connections: 16, Statement: 30 * time.Second, Idle: time.Minute}

// reserved is how many connections are kept for work that must not wait behind users.
func (p Pool) reserved() int { return max(1, p.Connections/5) }

// Usable is how many connections are not reserved.
func (p Pool) Usable() int { return max(1, p.Connections-p.reserved()) }

// connectTime bounds connecting to one address, unless DATABASE_URL has a connect_timeout. A hung server still accepts
// connections at the TCP level.
const connectTime = 10 * time.Second

// closeTime is how long Close waits for connections in use, and for the others to terminate properly. A hung server
// never answers.
const closeTime = 5 * time.Second

// Config parses the database address. PostgreSQL itself ends what takes too long, even if this process is gone.
func (p Pool) Config(url string, tracer pgx.QueryTracer) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("DATABASE_URL cannot be read: %w", err)
	}
	config.ConnConfig.Tracer = tracer
	if _, named := config.ConnConfig.RuntimeParams["application_name"]; !named {
		config.ConnConfig.RuntimeParams["application_name"] = strings.TrimSpace("stagecoach " + p.Program)
	}
	config.ConnConfig.RuntimeParams["statement_timeout"] = strconv.FormatInt(p.Statement.Milliseconds(), 10)
	config.ConnConfig.RuntimeParams["idle_in_transaction_session_timeout"] = strconv.FormatInt(p.Idle.Milliseconds(), 10)
	config.ConnConfig.ConnectTimeout = cmp.Or(config.ConnConfig.ConnectTimeout, connectTime)

	// A server that no longer accepts writes was demoted: the next connection may reach the promoted one.
	fatal := config.ConnConfig.OnPgError
	config.ConnConfig.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != readOnly && fatal(conn, err)
	}
	return config, nil
}

// open creates the connections, without waiting for the database.
func (p Pool) open(ctx context.Context, url string, tracer pgx.QueryTracer) (*connections, error) {
	config, err := p.Config(url, tracer)
	if err != nil {
		return nil, err
	}

	var c connections
	config.MaxConns = int32(p.Usable())
	if c.common, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, err
	}

	config = config.Copy()
	config.MaxConns = int32(p.reserved())
	c.reserved, err = pgxpool.NewWithConfig(ctx, config)
	return &c, err
}

type reservedKey struct{}

// Reserved makes a context's work use the connections reserved for administrators, payments and the service's own
// monitoring, which do not wait behind users' statements.
func Reserved(ctx context.Context) context.Context {
	return context.WithValue(ctx, reservedKey{}, true)
}

// connections are two pools; the context selects one.
type connections struct{ common, reserved *pgxpool.Pool }

func (c *connections) of(ctx context.Context) *pgxpool.Pool {
	if ctx.Value(reservedKey{}) != nil {
		return c.reserved
	}
	return c.common
}

func (c *connections) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	return c.of(ctx).Exec(ctx, sql, args...)
}

func (c *connections) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	return c.of(ctx).Query(ctx, sql, args...)
}

func (c *connections) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	return c.of(ctx).QueryRow(ctx, sql, args...)
}

func (c *connections) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	return c.of(ctx).SendBatch(ctx, batch)
}

func (c *connections) Begin(ctx context.Context) (pgx.Tx, error) { return c.of(ctx).Begin(ctx) }

func (c *connections) BeginTx(ctx context.Context, o pgx.TxOptions) (pgx.Tx, error) {
	return c.of(ctx).BeginTx(ctx, o)
}

func (c *connections) Acquire(ctx context.Context) (*pgxpool.Conn, error) {
	return c.of(ctx).Acquire(ctx)
}

func (c *connections) AcquireFunc(ctx context.Context, fn func(*pgxpool.Conn) error) error {
	return c.of(ctx).AcquireFunc(ctx, fn)
}

// Close closes all connections, within closeTime: process exit closes the rest.
func (c *connections) Close() {
	var closing sync.WaitGroup
	closing.Go(c.common.Close)
	closing.Go(c.reserved.Close)

	closed := make(chan struct{})
	go func() { closing.Wait(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(closeTime):
	}
}

// InLongTx is InTx without a time limit, for statements that read whole tables, at night or once.
func (db *DB) InLongTx(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return db.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SET LOCAL statement_timeout = 0`); err != nil {
			return err
		}
		return fn(tx)
	})
}
