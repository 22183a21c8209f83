package download

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// File returns the .torrent file fetched for a job; nil: none.
func (s *Store) File(ctx context.Context, id int64) (file []byte, err error) {
	file, err = core.Value[[]byte](ctx, s.db, `SELECT torrent FROM download_jobs WHERE id = $1`, id)
	if err == pgx.ErrNoRows {
		err = noDownload
	}
	return file, err
}

// SaveFile stores an active job's .torrent file and the infohashes in it. As with other writes about a source, a late
// write for an abandoned source changes nothing.
func (s *Store) SaveFile(ctx context.Context, id int64, place int, file []byte, v1, v2 string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET torrent = $2, infohash_v1 = $3, infohash_v2 = $4, updated_at_utc = now()
		WHERE id = $1 AND source_place = $5 AND status IN `+liveDownloads, id, file, v1, v2, place)
}

// Place records where the files of a job's source go, once.
func (s *Store) Place(ctx context.Context, id int64, place int, savePath string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET save_path = $2 WHERE id = $1 AND source_place = $3 AND save_path = ''`,
		id, savePath, place)
}

// MarkAdded records that qBittorrent has accepted the torrent of an active job's source.
func (s *Store) MarkAdded(ctx context.Context, id int64, place int) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET added_at = now(), progress_at = now(), last_error = '',
		updated_at_utc = now() WHERE id = $1 AND source_place = $2 AND status IN `+liveDownloads, id, place)
}

// NoteTrouble records why a job could not be handed over to qBittorrent.
func (s *Store) NoteTrouble(ctx context.Context, id int64, code fault.Code) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET last_error = $2, updated_at_utc = now() WHERE id = $1`, id, code)
}

// NoteElsewhere records the category in which qBittorrent has a job's torrent for someone else.
func (s *Store) NoteElsewhere(ctx context.Context, id int64, category string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET other_category = $2 WHERE id = $1`, id, category)
}

// MarkResumed records that an active job's torrent was resumed after an error.
func (s *Store) MarkResumed(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET resumed_at = now() WHERE id = $1 AND status IN `+liveDownloads, id)
}

// Holding returns the jobs that need their torrent: all but failed and canceled ones. Unknown jobs count too: they may
// be another installation's.
func (s *Store) Holding(ctx context.Context, ids []int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM unnest($1::bigint[]) AS asked (id) WHERE NOT EXISTS (
		SELECT 1 FROM download_jobs d WHERE d.id = asked.id AND status IN `+failedDownload+`)`, ids)
}

// BeginRemoval records that an active job's torrent is being removed. From then on the job cannot complete: a late
// write by an abandoned worker changes nothing.
func (s *Store) BeginRemoval(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET removing_at = coalesce(removing_at, now()),
		cancel_requested_at = coalesce(cancel_requested_at, now()) WHERE id = $1 AND status IN `+liveDownloads, id)
}

// NoteCancelError records why the torrent could not be removed; empty: it was removed.
func (s *Store) NoteCancelError(ctx context.Context, id int64, code string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_error = $2 WHERE id = $1`, id, code)
}
