package operations

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// About is what PostgreSQL reports about itself and this connection.
type About struct {
	Version  string `db:"version"`
	Database string `db:"database"`
	Role     string `db:"role"`
	Schema   int64  `db:"schema"` // the last applied migration
}

// Ping returns nil if PostgreSQL answers and accepts writes. Its statements change nothing: the first is rejected by a
// read-only server, the last fails on a full disk, because its rows do not fit into the memory allowed for it.
func (s *Store) Ping(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue(`DELETE FROM processes WHERE false`)
	batch.Queue(`SELECT set_config('work_mem', '64kB', true)`)
	batch.Queue(`SELECT count(*) FROM generate_series(1, 5000)`)
	return core.Unavailable(s.db.SendBatch(ctx, batch).Close())
}

// About identifies the database. It reads the last row of the migrations by their key.
func (s *Store) About(ctx context.Context) (About, error) {
	return core.One[About](ctx, s.db, fault.New(fault.StoreUnavailable, "the database does not say what it is"),
		`SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
			current_database()::text AS database, current_user::text AS role,
			(SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied) AS schema`)
}
