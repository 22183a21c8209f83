package operations

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// restoredSQL makes a restored record usable. A million exceeds the numbers assigned between one backup and the next.
var restoredSQL = []string{
	`SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, coalesce(last_value, 0) + 1000000)
		FROM pg_sequences WHERE schemaname = current_schema()`,
	`UPDATE boards SET state = 'lost' WHERE state IN ('new', 'sending')`,
	`UPDATE news SET state = 'unknown' WHERE state IN ('due', 'sending')`,
	// A waiting webhook has seen what woke others. Those positioned before events that get another position miss them.
	`UPDATE webhooks w SET xid = c.xid, event_id = c.id FROM webhook_cursor c WHERE w.waiting AND (w.xid, w.event_id) < (c.xid, c.id)`,
	`UPDATE webhooks w SET events_lost = true WHERE EXISTS (SELECT 1 FROM events e
		WHERE (e.xid, e.id) > (w.xid, w.event_id) AND e.xid >= pg_snapshot_xmin(pg_current_snapshot()))`,
	`UPDATE webhooks SET xid = pg_snapshot_xmin(pg_current_snapshot()), event_id = 0 WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE webhooks SET floor_xid = '0', floor_id = 0 WHERE floor_xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE webhooks SET claim = claim + 1, waiting = false, woken_at = now()`,
	`UPDATE webhook_cursor SET xid = pg_snapshot_xmin(pg_current_snapshot()), id = 0`,
	`UPDATE events SET xid = '3' WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE event_floor SET xid = '0', id = 0 WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())`,
	`UPDATE tasks SET lease_expires_at = now() + lease_seconds * interval '1 second' WHERE lease_expires_at IS NOT NULL
		AND status NOT IN ` + core.SetOf(lifecycle.Task.Ended()),
	// The session's last request may be one that the record has lost: what Fragment reports about it concerns no purchase
	// here.
	`UPDATE ton_wallets SET requests = requests + 1000000`,
	`UPDATE payments SET request_number = 0 WHERE request_number IS NULL
		AND transaction_hash IN (SELECT hash FROM transactions WHERE fragment_transaction_hash = '')`, // not certainly bought
	`DELETE FROM bot_inbox`, // messages received before then have been handled since
	`DELETE FROM sessions`,
	`DELETE FROM sign_in_links`,
	resetCounts,
	`DELETE FROM reconciler_comparisons`, // everything is compared soon
	`UPDATE notice_cursor SET xid = pg_snapshot_xmin(pg_current_snapshot()), id = 0`,
}

// AfterRestore prepares a record restored to an earlier state, before any service runs on it. Numbers assigned since
// then are never reused: workflows, torrents and people still refer to them. A notification that may have been sent is
// not sent again. No purchase is the last one of the session at Fragment. Events get positions in this server's stream,
// which may number its transactions differently. Each task lease begins anew, because its holder could not renew it
// here. All browser sessions end, because one ended since then would otherwise be valid again. Idempotent.
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
