// Package store stores the record in PostgreSQL: what people query, and what must outlive a workflow. Every transition
// is one database transaction, row and event together, guarded by the row's lock and version.
package store

import (
	"context"
	"embed"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/store/webhook"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is the whole record. It is safe for concurrent use.
type Store struct {
	Answers      *core.Answers
	Accounts     *account.Store
	Deliveries   *delivery.Store
	Tasks        *task.Store
	Downloads    *download.Store
	Transactions *transaction.Store
	Notices      *notice.Store
	Webhooks     *webhook.Store
	Operations   *operations.Store

	url string
	db  *core.DB
}

// Parts lists the record's workloads, in the order of lifecycle.Workloads.
var Parts = operations.Parts{delivery.Part, task.Part, download.Part, transaction.Part}

// tracer sees every statement. Only tests set it, before they open a store.
var tracer pgx.QueryTracer

// Open is OpenPool with the default pool.
func Open(ctx context.Context, url string, keys ...[]byte) (*Store, error) {
	return OpenPool(ctx, url, core.DefaultPool, keys...)
}

// OpenPool connects to the database at url, without waiting for it. The keys, of 32 bytes each, protect OAuth tokens at
// rest: the first one encrypts, any of them decrypts.
func OpenPool(ctx context.Context, url string, p core.Pool, keys ...[]byte) (*Store, error) {
	db, err := core.Open(ctx, url, p, tracer, keys)
	if err != nil {
		return nil, err
	}

	return &Store{
		Answers: core.NewAnswers(db), Accounts: account.New(db), Deliveries: delivery.New(db), Tasks: task.New(db),
		Downloads: download.New(db), Transactions: transaction.New(db), Notices: notice.New(db), Webhooks: webhook.New(db),
		Operations: operations.New(db, Parts), url: url, db: db,
	}, nil
}

// SetQuotas sets the quotas, which are checked in the creating transaction. Call it before the first use.
func (s *Store) SetQuotas(q core.Quotas) { s.db.Quotas = q }

// Close closes all connections.
func (s *Store) Close() { s.db.Close() }

// Migrate migrates the schema to this program's version. A lock admits one process at a time. Statements run on
// separate connections without a time limit. A migration that deadlocks with a running process is retried.
func (s *Store) Migrate(ctx context.Context) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	return s.migrateWith(ctx, files)
}

func (s *Store) migrateWith(ctx context.Context, files fs.FS) error {
	for {
		err := migrate(s.url, files, func(provider *goose.Provider) error {
			_, err := provider.Up(ctx)
			return err
		})
		if !core.IsDeadlock(err) || ctx.Err() != nil {
			return err
		}
	}
}
