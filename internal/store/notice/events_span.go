package notice

import (
	"context"
	"errors"
	"math"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store/core"
)

// EventFloor returns the position of the last deleted event: a reader that has not passed it may have missed events.
func (s *Store) EventFloor(ctx context.Context) (core.Cursor, error) {
	return s.cursor(ctx, `SELECT xid::text::bigint, id FROM event_floor`)
}

// EventsBack returns the position that howMany events follow, or the beginning if there are fewer, by the index on
// (xid, id). As in EventsAfter, ORDER BY names the table: "xid" alone would be the output column, which has no index.
func (s *Store) EventsBack(ctx context.Context, howMany int) (core.Cursor, error) {
	return s.cursor(ctx, `SELECT xid::text::bigint, id FROM events e ORDER BY e.xid DESC, e.id DESC OFFSET $1 LIMIT 1`,
		pgx.QueryExecModeCacheDescribe, howMany) // a generic plan would sort the table
}

// EventsEnd returns a position that no event of this record can have passed: a cursor beyond it predates a restore.
func (s *Store) EventsEnd(ctx context.Context) (core.Cursor, error) {
	return s.cursor(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, 0`)
}

func (s *Store) cursor(ctx context.Context, sql string, args ...any) (core.Cursor, error) {
	var xid, id int64
	err := s.db.QueryRow(ctx, sql, args...).Scan(&xid, &id)
	if errors.Is(err, pgx.ErrNoRows) {
		return core.Cursor{}, nil
	}
	return core.Cursor{XID: uint64(xid), ID: id}, core.Unavailable(err)
}

// EventsLag returns for how many seconds an open transaction of this database has held back the oldest committed event;
// 0: none is held back. Served by the index on (xid, id).
func (s *Store) EventsLag(ctx context.Context) (seconds float64, err error) {
	seconds, err = core.Value[float64](ctx, s.db, `SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM events
		WHERE xid >= (SELECT `+core.Horizon+`) ORDER BY xid, id LIMIT 1), 0)`)
	return max(0, seconds), err
}

// EventsAfter lists events after the cursor, oldest first, by the index on (xid, id). It stops at the horizon, so that
// an event that commits late is never skipped. An Audience decides who may see them.
func (s *Store) EventsAfter(ctx context.Context, after core.Cursor, limit int) ([]core.StreamedEvent, error) {
	return core.Chosen[core.StreamedEvent](ctx, s.db, core.EventSelect+`WHERE (xid, id) > ($1::text::xid8, $2) AND xid < (SELECT `+core.Horizon+`)
		ORDER BY events.xid, events.id LIMIT $3`, after.XIDText(), after.ID, limit)
}

// EventsNow returns the end of the stream: every event that commits from now on follows it. A few recent ones may
// follow it too, while an older transaction is open.
func (s *Store) EventsNow(ctx context.Context) (core.Cursor, error) {
	return s.cursor(ctx, `SELECT `+core.Horizon+`::text::bigint - 1, $1::bigint`, int64(math.MaxInt64))
}

// EventsOf lists an entity's events from the first.
func (s *Store) EventsOf(ctx context.Context, workload, entity string) ([]core.StreamedEvent, error) {
	return core.EventsOfEntity(ctx, s.db, workload, entity)
}
