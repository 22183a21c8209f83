package download

import (
	"context"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

// File returns the .torrent file that was fetched for a job; nil: none.
func (s *Store) File(ctx context.Context, id int64) (file []byte, err error) {
	file, err = core.Value[[]byte](ctx, s.db, `SELECT torrent FROM download_jobs WHERE id = $1`, id)
	if err == pgx.ErrNoRows {
		err = noDownload
	}
	return file, err
}

// SaveFile keeps the .torrent file of an active job, and the infohashes in it. As with the other writes about a
// source, a late one of a source that was left changes nothing.
func (s *Store) SaveFile(ctx context.Context, id int64, place int, file []byte, v1, v2 string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET torrent = $2, infohash_v1 = $3, infohash_v2 = $4, updated_at_utc = now()
		WHERE id = $1 AND source_place = $5 AND status IN `+liveDownloads, id, file, v1, v2, place)
}

// Place records where the files of a job's source go, once.
func (s *Store) Place(ctx context.Context, id int64, place int, savePath string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET save_path = $2 WHERE id = $1 AND source_place = $3 AND save_path = ''`,
		id, savePath, place)
}

// MarkAdded records that qBittorrent has taken the torrent of an active job's source.
func (s *Store) MarkAdded(ctx context.Context, id int64, place int) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET added_at = now(), progress_at = now(), last_error = '',
		updated_at_utc = now() WHERE id = $1 AND source_place = $2 AND status IN `+liveDownloads, id, place)
}

// NoteTrouble records why a job could not be handed over now.
func (s *Store) NoteTrouble(ctx context.Context, id int64, code fault.Code) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET last_error = $2, updated_at_utc = now() WHERE id = $1`, id, code)
}

// MarkResumed records that an active job's torrent was resumed after an error.
func (s *Store) MarkResumed(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET resumed_at = now() WHERE id = $1 AND status IN `+liveDownloads, id)
}

// Holding returns those of the jobs that need their torrent: all but failed and canceled ones. An unknown job
// may be another installation's, and counts.
func (s *Store) Holding(ctx context.Context, ids []int64) ([]int64, error) {
	return core.Values[int64](ctx, s.db, `SELECT id FROM unnest($1::bigint[]) AS asked (id) WHERE NOT EXISTS (
		SELECT 1 FROM download_jobs d WHERE d.id = asked.id AND status IN `+failedDownload+`)`, ids)
}

// RequestCancel records that the job should end; actor nil: an operator or the system asks. A repeated request
// changes nothing, except that files that were to be kept stay kept.
func (s *Store) RequestCancel(ctx context.Context, id int64, actor *int64, keepFiles bool) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_requested_at = coalesce(cancel_requested_at, now()),
		cancel_requested_by = CASE WHEN cancel_requested_at IS NULL THEN $2 ELSE cancel_requested_by END,
		keep_files = keep_files OR $3 WHERE id = $1 AND status IN `+liveDownloads, id, actor, keepFiles)
}

// BeginRemoval records that an active job's torrent is being removed. From then on the job cannot complete: a
// late write of an abandoned worker changes nothing.
func (s *Store) BeginRemoval(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET removing_at = coalesce(removing_at, now()),
		cancel_requested_at = coalesce(cancel_requested_at, now()) WHERE id = $1 AND status IN `+liveDownloads, id)
}

// NoteCancelError records why the torrent could not be removed now; empty: it was removed.
func (s *Store) NoteCancelError(ctx context.Context, id int64, code string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_error = $2 WHERE id = $1`, id, code)
}
