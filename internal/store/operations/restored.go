package operations

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// restoredSQL makes what was set back usable again. A million is more numbers than are given out between a backup and
// the next one.
var restoredSQL = []string{
	`SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 1000000)
		FROM pg_sequences WHERE schemaname = current_schema()`,
	`UPDATE boards SET state = 'lost' WHERE state IN ('new', 'sending')`,
	`UPDATE news SET state = 'unknown' WHERE state IN ('due', 'sending')`,
	`UPDATE notices SET state = 'unknown' WHERE state IN ('due', 'sending')`,
	`UPDATE events SET xid = '3' WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE event_floor SET xid = '0', id = 0 WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE notice_cursor SET xid = pg_snapshot_xmin(pg_current_snapshot()), id = 0`,
}

// AfterRestore prepares a record that was set back to an older moment, before any service runs on it. Numbers that were
// given out since then are never given again: workflows, torrents and people still know what they meant. What may have
// been told is not told again. Events take their place in the stream of this server, which may count its transactions
// otherwise. Twice does no harm.
func (s *Store) AfterRestore(ctx context.Context) error {
	return s.db.InLongTx(ctx, func(tx pgx.Tx) error {
		for _, statement := range restoredSQL {
			if _, err := tx.Exec(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
}
