package download

import (
	"context"
)

// RequestDownloadCancel records that somebody wants the job to end; actor nil: an operator, or the program itself.
// Asking again adds nothing, except that files once to be kept stay kept.
func (s *Store) RequestDownloadCancel(ctx context.Context, id int64, actor *int64, keepFiles bool) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_requested_at = coalesce(cancel_requested_at, now()),
		cancel_requested_by = CASE WHEN cancel_requested_at IS NULL THEN $2 ELSE cancel_requested_by END,
		keep_files = keep_files OR $3 WHERE id = $1 AND status IN `+liveDownloads, id, actor, keepFiles)
}

// MarkDownloadCancelTold remembers that the job's workflow knows of the wish.
func (s *Store) MarkDownloadCancelTold(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_told_at = coalesce(cancel_told_at, now()) WHERE id = $1`, id)
}

// BeginDownloadRemoval records that an active job's torrent is being removed. From then on it cannot complete: a worker
// that was given up, and writes late, changes nothing.
func (s *Store) BeginDownloadRemoval(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET removing_at = coalesce(removing_at, now()),
		cancel_requested_at = coalesce(cancel_requested_at, now()) WHERE id = $1 AND status IN `+liveDownloads, id)
}

// NoteDownloadCancelError remembers why the torrent could not be removed now; empty: it was.
func (s *Store) NoteDownloadCancelError(ctx context.Context, id int64, code string) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET cancel_error = $2 WHERE id = $1`, id, code)
}
