package core

import (
	"context"
	"time"
)

// DrivenRow is the row that a workflow drives, as the reconciler compares it with a workflow that it has found running.
type DrivenRow struct {
	Key     string        `db:"key"` // the workflow's id without the workload's name
	Entity  string        `db:"entity"`
	Over    bool          `db:"over"`    // nothing is left for a workflow to do
	Changed time.Duration `db:"changed"` // since the row changed
}

// DrivenRows are the rows whose workflows have the keys that were asked for.
type DrivenRows struct {
	Rows     map[string]DrivenRow // by key
	Possible map[string]bool      // keys that a row can have; of the others nothing is known
}

// DrivenByHash finds rows whose workflows have hashes of 64 hexadecimal digits for keys.
func (db *DB) DrivenByHash(ctx context.Context, keys []string, query string) (DrivenRows, error) {
	possible := map[string]bool{}
	for _, key := range keys {
		possible[key] = len(key) == 64
	}
	return db.Driven(ctx, possible, query, keys)
}

// Driven reads the rows of the keys that a row can have.
func (db *DB) Driven(ctx context.Context, possible map[string]bool, query string, args ...any) (DrivenRows, error) {
	found, err := List[DrivenRow](ctx, db, query, args...)
	rows := make(map[string]DrivenRow, len(found))
	for _, row := range found {
		rows[row.Key] = row
	}
	return DrivenRows{Rows: rows, Possible: possible}, err
}
