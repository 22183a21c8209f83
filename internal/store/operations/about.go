package operations

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// About is what PostgreSQL reports of itself and of this connection.
type About struct {
	Version  string `db:"version"`
	Database string `db:"database"`
	Role     string `db:"role"`
	Schema   int64  `db:"schema"` // the last migration that was applied
}

// About returns which database this is. It reads the last row of the migrations by their key.
func (s *Store) About(ctx context.Context) (About, error) {
	return core.One[About](ctx, s.db, fault.New(fault.StoreUnavailable, "the database does not say what it is"),
		`SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
			current_database()::text AS database, current_user::text AS role,
			(SELECT coalesce(max(version_id), 0) FROM goose_db_version WHERE is_applied) AS schema`)
}
