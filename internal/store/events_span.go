package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// EventFloor gives the last event that was deleted: a reader who is not past it may have missed events.
func (s *Store) EventFloor(ctx context.Context) (Cursor, error) {
	return s.cursor(ctx, `SELECT xid::text::bigint, id FROM event_floor`)
}

// EventsBack gives the place that so many events follow, by the index on (xid, id); the beginning, when there are
// fewer. As in EventsAfter, the order names the table: "xid" alone would be the column that is given, which no index
// has.
func (s *Store) EventsBack(ctx context.Context, howMany int) (Cursor, error) {
	return s.cursor(ctx, `SELECT xid::text::bigint, id FROM events e ORDER BY e.xid DESC, e.id DESC OFFSET $1 LIMIT 1`,
		pgx.QueryExecModeCacheDescribe, howMany) // a plan for any number would sort the table
}

// EventsEnd gives a place that no event of this record can have passed: a cursor beyond it is from before a restore.
func (s *Store) EventsEnd(ctx context.Context) (Cursor, error) {
	return s.cursor(ctx, `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, 0`)
}

func (s *Store) cursor(ctx context.Context, sql string, args ...any) (Cursor, error) {
	var xid, id int64
	err := s.pool.QueryRow(ctx, sql, args...).Scan(&xid, &id)
	if errors.Is(err, pgx.ErrNoRows) {
		return Cursor{}, nil
	}
	return Cursor{XID: uint64(xid), ID: id}, unavailable(err)
}

// EventsLag gives for how many seconds the oldest event that was committed has been held back by a transaction that is
// still under way in this database; 0: none is. The index on (xid, id) finds it.
func (s *Store) EventsLag(ctx context.Context) (seconds float64, err error) {
	err = s.pool.QueryRow(ctx, `SELECT coalesce((SELECT extract(epoch FROM clock_timestamp() - created_at)::float8 FROM events
		WHERE xid >= (SELECT `+horizon+`) ORDER BY xid, id LIMIT 1), 0)`).Scan(&seconds)
	return max(0, seconds), unavailable(err)
}
