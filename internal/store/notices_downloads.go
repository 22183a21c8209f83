package store

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// DownloadNotice is news of a download for its owner: it has ended, or stands still. It is sent as Notice is: taken first, so
// that one whose fate is unknown is never sent again.
type DownloadNotice struct {
	UserID     int64 `db:"user_id"`
	DownloadID int64 `db:"download_id"`
	Seq        int64 `db:"seq"` // of the download's event
}

// queueDownloadNotice plans the notice of an event of a download, if it is one that its owner does not know of.
func queueDownloadNotice(batch *pgx.Batch, e StreamedEvent) error {
	ends := slices.Contains([]string{string(DownloadCompleted), string(DownloadFailed), string(DownloadCanceled)}, e.To) && e.From != e.To
	if !ends && e.Type != DownloadStalled {
		return nil
	}
	download, err := strconv.ParseInt(e.EntityID, 10, 64)
	if err != nil {
		return fmt.Errorf("an event of download %q: %w", e.EntityID, err)
	}
	batch.Queue(`INSERT INTO download_notices (user_id, download_id, seq)
		SELECT u.id, d.id, $2 FROM download_jobs d JOIN users u ON u.id = d.user_id
		WHERE d.id = $1 AND u.telegram_id IS NOT NULL AND u.id IS DISTINCT FROM $3 ON CONFLICT DO NOTHING`, download, e.Seq, e.ActorID)
	return nil
}

// DueDownloadNotices lists up to limit notices that are due, one for each person: who has many holds up nobody.
func (s *Store) DueDownloadNotices(ctx context.Context, limit int) ([]DownloadNotice, error) {
	return list[DownloadNotice](ctx, s, `SELECT user_id, download_id, seq FROM (
			SELECT DISTINCT ON (user_id) user_id, download_id, seq, due_at FROM download_notices
			WHERE state = 'due' AND due_at <= now() ORDER BY user_id, due_at, download_id, seq
		) first ORDER BY due_at LIMIT $1`, limit)
}

// TakeDownloadNotice marks a notice as being sent and gives its event; nil when another process has taken it.
func (s *Store) TakeDownloadNotice(ctx context.Context, n DownloadNotice) (*StreamedEvent, error) {
	events, err := list[StreamedEvent](ctx, s, `WITH taken AS (
			UPDATE download_notices SET state = 'sending' WHERE user_id = $1 AND download_id = $2 AND seq = $3 AND state = 'due' RETURNING seq
		) SELECT xid::text::bigint AS xid, id, workload, entity_id, seq, type, from_state, to_state, actor_id, owner_id, comment, created_at
		FROM events WHERE workload = $4 AND entity_id = $5 AND seq IN (SELECT seq FROM taken)`,
		n.UserID, n.DownloadID, n.Seq, downloads, fmt.Sprint(n.DownloadID))
	if err != nil || len(events) == 0 {
		return nil, err
	}
	return &events[0], nil
}

// SaveDownloadNotice records what became of a notice that was taken; one that is due again waits that long.
func (s *Store) SaveDownloadNotice(ctx context.Context, n DownloadNotice, state string, wait time.Duration) error {
	_, err := s.pool.Exec(ctx, `UPDATE download_notices SET state = $4, due_at = now() + $5::interval
		WHERE user_id = $1 AND download_id = $2 AND seq = $3`, n.UserID, n.DownloadID, n.Seq, state, wait)
	return unavailable(err)
}
