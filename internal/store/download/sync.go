package download

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// WatchedDownload is an active job as the watcher compares it with qBittorrent.
type WatchedDownload struct {
	ID            int64                   `db:"id"`
	UserID        int64                   `db:"user_id"`
	BookID        int64                   `db:"book_id"`
	MediaType     string                  `db:"media_type"`
	Status        lifecycle.DownloadState `db:"status"`
	RowVersion    int64                   `db:"row_version"`
	Missing       bool                    `db:"missing"`       // its workflow knows that the torrent is missing
	NoMetadata    bool                    `db:"no_metadata"`   // its magnet link's metadata is unknown
	NoRoom        bool                    `db:"no_room"`       // it waits for disk space
	Stalled       bool                    `db:"stalled"`       // its workflow knows that there is no progress
	Stopped       bool                    `db:"stopped"`       // its workflow knows that the torrent is stopped
	ImportFailed  bool                    `db:"import_failed"` // a person has to retry the import
	ExternalJobID string                  `db:"external_job_id"`
	InfohashV1    string                  `db:"infohash_v1"`
	InfohashV2    string                  `db:"infohash_v2"`
	ContentPath   string                  `db:"content_path"`
	Size          int64                   `db:"size"`
	Progress      float64                 `db:"progress"`
	Speed         int64                   `db:"speed"`
	ETA           *int64                  `db:"eta_seconds"`
	Idle          time.Duration           `db:"idle"`    // since the last progress
	Resumed       *time.Duration          `db:"resumed"` // since it was resumed; nil: never

	CancelRequested bool `db:"cancel_requested"`

	Place int  `db:"source_place"` // of the source being tried
	Added bool `db:"added"`        // qBittorrent has accepted its torrent
	Left  bool `db:"left"`         // another source can be tried

	Unsuitable []int `db:"unsuitable"` // places of the sources without a file of the medium
}

// WorkflowID is the id of the workflow that drives the job.
func (d WatchedDownload) WorkflowID() string {
	return Download{UserID: d.UserID, BookID: d.BookID, MediaType: d.MediaType}.WorkflowID()
}

// Watched lists active jobs with a torrent in qBittorrent that is not being removed, with ids above after, ascending.
func (s *Store) Watched(ctx context.Context, after int64, limit int) ([]WatchedDownload, error) {
	return core.List[WatchedDownload](ctx, s.db, `SELECT id, user_id, book_id, media_type, status, row_version,
		first_not_found_at_utc IS NOT NULL AS missing, `+noMetadata+` AS no_metadata, last_error = 'NO_FREE_SPACE' AS no_room, attention = 'stalled' AS stalled, attention = 'TORRENT_STOPPED' AS stopped, attention = 'import_failed' AS import_failed,
		coalesce(external_job_id, '') AS external_job_id,
		infohash_v1, infohash_v2, content_path, size, progress, speed, eta_seconds, now() - coalesce(progress_at, added_at, now()) AS idle,
		now() - resumed_at AS resumed, cancel_requested_at IS NOT NULL AS cancel_requested,
		source_place, added_at IS NOT NULL AS added, sources_left > 0 AS "left",
		ARRAY(SELECT place FROM download_sources WHERE job_id = d.id AND outcome = $3) AS unsuitable FROM download_jobs d
		WHERE status IN `+liveDownloads+` AND (added_at IS NOT NULL OR source_place > 1) AND removing_at IS NULL AND id > $1 ORDER BY id LIMIT $2`,
		after, limit, fault.MediumUnsuitable)
}

// NoteRoom records that a job's torrent is stopped until there is disk space, or resumes: the time without progress
// counts from then.
func (s *Store) NoteRoom(ctx context.Context, id int64, place int, noRoom bool) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET last_error = CASE WHEN $3 THEN $4 ELSE '' END, progress_at = now(), updated_at_utc = now()
		WHERE id = $1 AND source_place = $2 AND status IN `+liveDownloads, id, place, noRoom, fault.NoFreeSpace)
}

// AnyWithoutRoom reports whether an active job waits for disk space.
func (s *Store) AnyWithoutRoom(ctx context.Context) (bool, error) {
	return core.Value[bool](ctx, s.db, `SELECT EXISTS (SELECT 1 FROM download_jobs WHERE last_error = $1 AND status IN `+liveDownloads+`)`,
		fault.NoFreeSpace)
}

// Progress is the watcher's reading of one job.
type Progress struct {
	ID            int64
	Place         int    // of the source whose torrent was seen; 0: the first one
	ExternalJobID string // as with all texts: empty changes nothing
	InfohashV1    string
	InfohashV2    string
	ContentPath   string
	Size          int64 // 0 changes nothing
	Progress      float64
	Speed         int64
	ETA           *int64
}

// SaveProgress writes the progress of active jobs in one statement, and returns the number of rows written.
func (s *Store) SaveProgress(ctx context.Context, seen []Progress) (int64, error) {
	var ids, sizes, speeds []int64
	var places []int
	var externals, v1s, v2s, paths []string
	var parts []float64
	var etas []*int64

	for _, p := range seen {
		ids, sizes, speeds, etas = append(ids, p.ID), append(sizes, p.Size), append(speeds, p.Speed), append(etas, p.ETA)
		externals, v1s, v2s = append(externals, p.ExternalJobID), append(v1s, p.InfohashV1), append(v2s, p.InfohashV2)
		paths, parts, places = append(paths, p.ContentPath), append(parts, p.Progress), append(places, p.Place)
	}

	tag, err := s.db.Exec(ctx, `UPDATE download_jobs d SET
			external_job_id = coalesce(nullif(seen.external, ''), external_job_id), infohash_v1 = coalesce(nullif(seen.v1, ''), infohash_v1),
			infohash_v2 = coalesce(nullif(seen.v2, ''), infohash_v2), content_path = coalesce(nullif(seen.path, ''), content_path),
			size = coalesce(nullif(seen.size, 0), d.size), progress = seen.progress, speed = seen.speed, eta_seconds = seen.eta,
			progress_at = CASE WHEN d.progress <> seen.progress THEN now() ELSE progress_at END, updated_at_utc = now()
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::float8[], $8::bigint[], $9::bigint[], $10::int[])
			AS seen (id, external, v1, v2, path, size, progress, speed, eta, place)
		WHERE d.id = seen.id AND source_place = greatest(seen.place, 1) AND status IN `+liveDownloads,
		ids, externals, v1s, v2s, paths, sizes, parts, speeds, etas, places)

	return tag.RowsAffected(), core.Unavailable(err)
}

// EndedDownload is a job that has ended.
type EndedDownload struct {
	ID        int64                   `db:"id"`
	MediaType string                  `db:"media_type"`
	Status    lifecycle.DownloadState `db:"status"`
	KeepFiles bool                    `db:"keep_files"`
	Imported  bool                    `db:"imported"`
	Place     int                     `db:"source_place"` // of the completed source
}

// Ended returns the jobs that have ended.
func (s *Store) Ended(ctx context.Context, ids []int64) ([]EndedDownload, error) {
	return core.List[EndedDownload](ctx, s.db, `SELECT id, media_type, status, keep_files, imported, source_place FROM download_jobs WHERE id = ANY ($1)
		AND status IN `+endedDownloads, ids)
}

// DownloadSync is the outcome of polling qBittorrent.
type DownloadSync struct {
	PolledAt       *time.Time `db:"polled_at"`       // the last answer
	PolledAge      *float64   `db:"polled_age"`      // seconds since then
	ReachableSince *time.Time `db:"reachable_since"` // every poll since was answered, by the same run of qBittorrent
	FailedAt       *time.Time `db:"failed_at"`       // the last poll without an answer
	Failure        string     `db:"failure"`         // a fault code, while qBittorrent is unavailable
}

// Polls returns the outcome of the polls.
func (s *Store) Polls(ctx context.Context) (DownloadSync, error) {
	return core.One[DownloadSync](ctx, s.db, fault.New(fault.Internal, "the row of the polls is gone"),
		`SELECT polled_at, extract(epoch FROM now() - polled_at)::float8 AS polled_age, reachable_since, failed_at, failure FROM download_sync`)
}

// NotePoll records an answered poll. restarted means that qBittorrent was restarted; an interval longer than gap
// without polls may hide a restart. After such an interval active jobs' time without progress is what it was before.
func (s *Store) NotePoll(ctx context.Context, restarted bool, gap time.Duration) error {
	return s.db.Do(ctx, `WITH pause AS (
			UPDATE download_jobs SET progress_at = progress_at + (now() - greatest(polled_at, progress_at)) FROM download_sync
			WHERE polled_at < now() - $2::interval AND status IN `+liveDownloads+` AND added_at IS NOT NULL
		) UPDATE download_sync SET polled_at = now(), failure = '', reachable_since = CASE
			WHEN $1 OR failure <> '' OR polled_at IS NULL OR polled_at < now() - $2::interval THEN now()
			ELSE coalesce(reachable_since, now()) END`, restarted, gap)
}

// NotePollFailure records a poll without an answer.
func (s *Store) NotePollFailure(ctx context.Context, code string) error {
	return s.db.Do(ctx, `UPDATE download_sync SET failed_at = now(), failure = $1`, code)
}

// GraceLeft returns how much grace a job with a missing torrent has left: only time with answered polls counts. The
// full grace is left while polls fail, or if the last one is older than gap.
func (s *Store) GraceLeft(ctx context.Context, id int64, grace, gap time.Duration) (time.Duration, error) {
	return core.Value[time.Duration](ctx, s.db, `SELECT CASE WHEN failure <> '' OR polled_at IS NULL OR polled_at < now() - $3::interval THEN $2::interval
		ELSE greatest($2::interval - (now() - greatest(coalesce(first_not_found_at_utc, now()), reachable_since)), '0') END
		FROM download_jobs, download_sync WHERE id = $1`, id, grace, gap)
}

// OnlySync runs fn while only this process holds the watcher's lock; false: another process holds it.
func (s *Store) OnlySync(ctx context.Context, fn func(context.Context) error) (bool, error) {
	const syncLock = 0x5354_4147_4544_4c53 // an arbitrary constant
	return s.db.Alone(ctx, syncLock, fn)
}
