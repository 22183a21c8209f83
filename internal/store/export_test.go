package store

import (
	"context"
	"io/fs"

	"github.com/jackc/pgx/v5"
)

// Trace lets t see every statement of the stores opened from now on.
func Trace(t pgx.QueryTracer) { tracer = t }

// InTx exposes inTx to tests of what holds for every transaction.
func (s *Store) InTx(ctx context.Context, fn func(pgx.Tx) error) error { return s.db.InTx(ctx, fn) }

// MigrateWith is Migrate with other migrations.
func (s *Store) MigrateWith(ctx context.Context, files fs.FS) error { return s.migrateWith(ctx, files) }

// RowTables lists the tables of the workloads' rows.
func RowTables() (names []string) {
	for _, part := range Parts {
		names = append(names, part.Table)
	}
	return names
}
