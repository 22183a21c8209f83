package download

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/personal"
)

// Download is the record of one download job. Times are from the database's clock.
type Download struct {
	ID              int64                   `db:"id"`
	UserID          int64                   `db:"user_id"`
	BookID          int64                   `db:"book_id"`
	MediaType       string                  `db:"media_type"`
	State           lifecycle.DownloadState `db:"status"`
	Source          string                  `db:"source"`
	SourceURL       string                  `db:"source_url"`
	ExternalJobID   *string                 `db:"external_job_id"` // the torrent's id in qBittorrent, as last seen
	CreatedAt       time.Time               `db:"created_at_utc"`
	UpdatedAt       time.Time               `db:"updated_at_utc"`
	CompletedAt     *time.Time              `db:"completed_at_utc"`
	FirstNotFoundAt *time.Time              `db:"first_not_found_at_utc"`
	FailureReason   *string                 `db:"failure_reason"`
	LastError       string                  `db:"last_error"`     // a fault code: why it failed or has to wait, in more detail
	OtherCategory   string                  `db:"other_category"` // where qBittorrent has the torrent for someone else
	RowVersion      int64                   `db:"row_version"`

	SourcePlace int         `db:"source_place"` // of the source being tried: the fields about a torrent refer to it
	SourcesLeft int         `db:"sources_left"` // that can still be tried
	Sources     []JobSource `db:"sources"`      // empty if there is only one
	left        int         // the place of the source being abandoned; 0: none

	InfohashV1  string  `db:"infohash_v1"` // lower-case hex; empty: unknown
	InfohashV2  string  `db:"infohash_v2"`
	SavePath    string  `db:"save_path"`    // in qBittorrent's file system
	ContentPath string  `db:"content_path"` // known at the end
	Size        int64   `db:"size"`         // bytes; 0: unknown
	Progress    float64 `db:"progress"`     // 0 … 1
	Speed       int64   `db:"speed"`        // bytes per second
	ETA         *int64  `db:"eta_seconds"`  // nil: unknown

	AddedAt    *time.Time `db:"added_at"` // when qBittorrent accepted it
	ResumedAt  *time.Time `db:"resumed_at"`
	ProgressAt *time.Time `db:"progress_at"` // of the last progress
	Attention  string     `db:"attention"`   // a fault code: why a person should check the job; empty: no need
	NoMetadata bool       `db:"no_metadata"` // qBittorrent has a magnet link and is still fetching its metadata

	Imported bool          `db:"imported"` // its files are in the library folder
	LeftOut  int           `db:"left_out"` // files of the medium in its torrent that were not put there
	Folder   string        `db:"-"`        // or file of the library folder, to which an import has just moved Brought
	Brought  []LibraryFile `db:"-"`

	CancelRequestedAt *time.Time `db:"cancel_requested_at"`
	CancelRequestedBy *int64     `db:"cancel_requested_by"` // nil: an operator, or the system
	RemovingAt        *time.Time `db:"removing_at"`         // its torrent is being removed: it can no longer complete
	CancelError       string     `db:"cancel_error"`        // a fault code: why the last removal of the torrent failed
	KeepFiles         bool       `db:"keep_files"`

	Send      bool       `db:"send"`       // send its files to the owner once they have arrived
	SentAt    *time.Time `db:"sent_at"`    // when their deliveries were created
	FileCount int        `db:"file_count"` // of files in the library folder that it brought
	InBook    bool       `db:"in_book"`    // its book uses its copy of the medium

	RequestKey        string     `db:"request_key"` // the user's key; empty: each request is new
	WorkflowStartedAt *time.Time `db:"workflow_started_at"`

	UserStatus string    `db:"user_status"` // of the owner, now
	BookTitle  string    `db:"book_title"`  // empty if the book is gone
	Now        time.Time `db:"now"`
}

// WorkflowID is the id of the workflow that drives the job, or of an earlier or later one for the same user, book and
// medium.
func (d Download) WorkflowID() string {
	return fmt.Sprintf("download/%d/%d/%s", d.UserID, d.BookID, d.MediaType)
}

// KeptApart reports whether only the job has its copy, because its book has another one.
func (d Download) KeptApart() bool {
	return d.State == lifecycle.DownloadCompleted && !d.InBook && d.BookTitle != ""
}

// ToSend reports whether the job's files should now be sent to its owner.
func (d Download) ToSend() bool {
	return d.Send && d.SentAt == nil && d.State == lifecycle.DownloadCompleted
}

// WaitsFor is what the job waits for, or empty.
func (d Download) WaitsFor() string {
	return lifecycle.DownloadWaitsFor(lifecycle.DownloadWaits{
		State: d.State, Ending: d.CancelRequestedAt != nil, Missing: d.FirstNotFoundAt != nil,
		Complete: d.Progress >= 1 && d.ContentPath != "", NoRoom: d.NoRoom(), NoMetadata: d.NoMetadata,
		Attention: fault.Code(d.Attention),
	})
}

// NoRoom reports whether the job waits for disk space.
func (d Download) NoRoom() bool { return d.LastError == string(fault.NoFreeSpace) }

// Facts are the inputs of the table's guards.
func (d Download) Facts() lifecycle.DownloadFacts {
	return lifecycle.DownloadFacts{
		UserActive: d.UserStatus == account.UserActive, MediaReady: d.ContentPath != "",
		ImportFailed: d.Attention == string(fault.ImportFailed) && d.CancelRequestedAt == nil,
	}
}

const downloadSelect = `SELECT d.id, user_id, book_id, media_type, d.status, source, d.source_url, external_job_id, created_at_utc,
	updated_at_utc, completed_at_utc, first_not_found_at_utc, failure_reason, last_error, other_category, row_version, d.infohash_v1, d.infohash_v2,
	save_path, content_path, d.size, progress, speed, eta_seconds, added_at, resumed_at, progress_at, attention, ` + noMetadata + ` AS no_metadata, imported, left_out,
	cancel_requested_at, cancel_requested_by, removing_at, cancel_error, keep_files, send, sent_at,
	(SELECT count(*) FROM library_files f WHERE f.job_id = d.id AND ` + held + `) AS file_count,
	EXISTS (SELECT FROM media_assets m WHERE m.job_id = d.id) AS in_book,
	coalesce(request_key, '') AS request_key, workflow_started_at, source_place, sources_left, ` + sourcesColumn + `,
	u.status AS user_status, coalesce(b.title, '') AS book_title, now() AS now
	FROM download_jobs d JOIN users u ON u.id = d.user_id LEFT JOIN books b ON b.id = d.book_id `

// noMetadata is true if qBittorrent has a magnet link for job d without metadata yet, and so without a size: the job's
// own link, or the one to which its address leads, stored in place of the .torrent file.
const noMetadata = `(CASE WHEN added_at IS NULL OR d.size > 0 THEN false ELSE d.source_url ILIKE 'magnet:%'
	OR coalesce(substring(d.torrent FROM 1 FOR 7) = 'magnet:'::bytea, false) END)`

var noDownload = fault.New(fault.DownloadNotFound, "there is no such download")

// Create records a request in its first state, with its event, and the live message if the person has a chat. Instead
// it returns what the same request created before, or an active job for the same user, book and medium. QUOTA_EXCEEDED:
// the user has too many active jobs, or the person has requested too many within a day. All of it is one statement,
// behind locks for the quotas.
func (s *Store) Create(
	ctx context.Context, d Download, first core.Event,
) (job Download, created bool, err error) {
	if err := core.Compare(lifecycle.Download, lifecycle.DownloadState(first.To), first); err != nil {
		return Download{}, false, err
	}

	sources, err := json.Marshal(append([]JobSource{}, d.Sources...))
	if err != nil {
		return Download{}, false, err
	}

	active, daily := s.db.Quotas.Of(downloadQuota), s.db.Quotas.Of(dailyQuota)
	for { // the active job may end between the two reads
		if d.RequestKey != "" {
			job, err = s.requestedDownload(ctx, d.UserID, d.RequestKey)
			if fault.CodeOf(err) != fault.DownloadNotFound {
				return job, false, err
			}
		}

		batch, made, room, roomToday := &pgx.Batch{}, (*int64)(nil), false, false
		active.QueueLock(batch, d.UserID)
		daily.QueueLock(batch, d.UserID)
		batch.Queue(`WITH quota AS (
				SELECT `+active.Room(1, 1, 1)+` AS room, `+daily.Room(1, 1, 1)+` AS today
			), job AS (
				INSERT INTO download_jobs (user_id, book_id, media_type, source, source_url, infohash_v1, infohash_v2, status, request_key, send, sources_left)
				SELECT $1, b.id, $3, $4, $5, $6, $7, $8, nullif($11, ''), $13, greatest(jsonb_array_length($12::jsonb) - 1, 0) FROM books b, quota WHERE b.id = $2 AND quota.room AND quota.today
				ON CONFLICT DO NOTHING RETURNING id, user_id
			), sources AS (
				INSERT INTO download_sources (job_id, place, source_url, title, indexer, size, claimed, infohash_v1, infohash_v2)
				SELECT job.id, s.place, s.source_url, s.title, s.indexer, s.size, s.infohash,
					CASE WHEN s.source_url ILIKE 'magnet:%' AND length(s.infohash) = 40 THEN s.infohash ELSE '' END,
					CASE WHEN s.source_url ILIKE 'magnet:%' AND length(s.infohash) = 64 THEN s.infohash ELSE '' END
				FROM job, jsonb_to_recordset($12::jsonb) AS s (place int, source_url text, title text, indexer text, size bigint, infohash text)
			), event AS (
				INSERT INTO events (workload, entity_id, seq, owner_id, type, to_state, actor_id)
				SELECT $9, id::text, 1, user_id, $10, $8, user_id FROM job
			), board AS (
				INSERT INTO boards (workload, entity_id, chat_id)
				SELECT $9, job.id, telegram_id FROM job JOIN users ON users.id = user_id WHERE telegram_id IS NOT NULL
			) SELECT (SELECT id FROM job), room, today FROM quota`,
			d.UserID, d.BookID, d.MediaType, d.Source, d.SourceURL, d.InfohashV1, d.InfohashV2, first.To, lifecycle.WorkloadDownload, first.Type, d.RequestKey,
			sources, d.Send).
			QueryRow(func(row pgx.Row) error { return row.Scan(&made, &room, &roomToday) })

		if err = s.db.SendBatch(ctx, batch).Close(); err != nil {
			return Download{}, false, core.Unavailable(err)
		}
		if made != nil {
			job, err = s.ByID(ctx, *made)
			return job, true, err
		}
		if _, err := s.BookByID(ctx, d.BookID); err != nil {
			return Download{}, false, err
		}

		job, err = s.Active(ctx, d.UserID, d.BookID, d.MediaType)
		if fault.CodeOf(err) != fault.DownloadNotFound {
			return job, false, err
		}
		switch {
		case !room:
			return Download{}, false, active.Exceeded()
		case !roomToday:
			return Download{}, false, daily.Refuse(ctx, s.db, d.UserID)
		}
	}
}

// ByID returns a job.
func (s *Store) ByID(ctx context.Context, id int64) (Download, error) {
	return core.One[Download](ctx, s.db, noDownload, downloadSelect+`WHERE d.id = $1`, id)
}

// Active returns the one active job for a user, book and medium.
func (s *Store) Active(ctx context.Context, userID, bookID int64, mediaType string) (Download, error) {
	return core.One[Download](ctx, s.db, noDownload, downloadSelect+`WHERE user_id = $1 AND book_id = $2 AND media_type = $3
		AND d.status IN `+liveDownloads, userID, bookID, mediaType)
}

// requestedDownload returns the job created by a user's request.
func (s *Store) requestedDownload(ctx context.Context, userID int64, key string) (Download, error) {
	return core.One[Download](ctx, s.db, noDownload, downloadSelect+`WHERE user_id = $1 AND request_key = $2`, userID, key)
}

// Filter selects download jobs; zero fields select all.
type Filter struct {
	UserID int64
	BookID int64
	Status lifecycle.DownloadState
	Active bool  // queued or downloading
	Before int64 // ids below this one
	Limit  int
}

// List lists download jobs, newest first. Served by the indexes download_jobs_owner, _book, _live and _ended, and their
// counterparts for one user.
func (s *Store) List(ctx context.Context, f Filter) ([]Download, error) {
	return core.Chosen[Download](ctx, s.db, downloadSelect+`WHERE ($1::bigint = 0 OR user_id = $1) AND ($2::bigint = 0 OR book_id = $2)
		AND ($3 = '' OR d.status = $3) AND (NOT $4 OR d.status IN `+liveDownloads+`) AND ($5::bigint = 0 OR d.id < $5)
		ORDER BY d.id DESC LIMIT $6`, f.UserID, f.BookID, f.Status, f.Active, f.Before, f.Limit)
}

// The transitions of a locked job.
type (
	DownloadWalk = core.Walk[Download, lifecycle.DownloadState, lifecycle.DownloadAction, lifecycle.DownloadFacts]
	DownloadStep = core.Step[lifecycle.DownloadState, lifecycle.DownloadAction]
)

var downloads = &core.Workload[Download, lifecycle.DownloadState, lifecycle.DownloadAction, lifecycle.DownloadFacts]{
	Name: lifecycle.WorkloadDownload, Table: lifecycle.Download, None: noDownload,
	// Two statements: one that waits for the lock would read the sources as they were before.
	Lock: []string{`SELECT FROM download_jobs WHERE id = $1 FOR UPDATE`, downloadSelect + `WHERE d.id = $1`},
	Entity: func(d *Download) core.Entity[lifecycle.DownloadState] {
		return core.Entity[lifecycle.DownloadState]{
			ID: strconv.FormatInt(d.ID, 10), Owner: &d.UserID, State: &d.State, Version: &d.RowVersion,
		}
	},
	Facts: func(d *Download) lifecycle.DownloadFacts { return d.Facts() },
	Effects: map[lifecycle.DownloadAction]func(*Download, DownloadStep){
		lifecycle.DownloadActionComplete:    completeDownload,
		lifecycle.DownloadActionFail:        failDownload,
		lifecycle.DownloadActionCancel:      stopDownload,
		lifecycle.DownloadActionRetryImport: retryImport,
	},
	Write:  queueDownload,
	Notice: noticeOfDownload,
}

func completeDownload(job *Download, step DownloadStep) {
	stopDownload(job, step)
	job.CompletedAt, job.Progress, job.FirstNotFoundAt, job.LastError = &job.Now, 1, nil, ""
	job.Imported = len(job.Brought) > 0
}

// retryImport lets the workflow import again.
func retryImport(job *Download, _ DownloadStep) { job.Attention, job.LastError = "", "" }

func failDownload(job *Download, step DownloadStep) {
	stopDownload(job, step)
	job.FailureReason = &step.Comment
}

// stopDownload is the effect of every end.
func stopDownload(job *Download, _ DownloadStep) {
	job.Speed, job.ETA, job.Attention = 0, nil, ""
}

// Change walks a job through the table: see core.Change. A completing job adds its medium to the library in the same
// transaction; BOOK_NOT_FOUND: the book is gone.
func (s *Store) Change(ctx context.Context, id int64, decide func(*DownloadWalk) error) (Download, error) {
	return s.ChangeFor(ctx, id, core.Asked{}, decide)
}

// ChangeFor is Change for a request, which is decided once: see core.ChangeFor.
func (s *Store) ChangeFor(
	ctx context.Context, id int64, asked core.Asked, decide func(*DownloadWalk) error,
) (Download, error) {
	job, err := core.ChangeFor(ctx, s.db, downloads, id, asked, decide)
	if problem, ok := errors.AsType[*pgconn.PgError](err); ok && problem.ConstraintName == mediaOfBook {
		err = noBook
	} else if ok && problem.ConstraintName == placeOfFile {
		err = fault.New(fault.ImportFailed, "another download has since taken this path in the library folder").Retry()
	}
	return job, err
}

func queueDownload(write *pgx.Batch, before lifecycle.DownloadState, job *Download) {
	if job.State == lifecycle.DownloadCompleted && before != lifecycle.DownloadCompleted {
		queueMedia(write, *job)
	}

	// The .torrent's bytes are kept while it may have to be added again.
	write.Queue(`UPDATE download_jobs SET status = $2, completed_at_utc = $3, first_not_found_at_utc = $4, failure_reason = $5,
		last_error = $6, row_version = $7, content_path = $8, progress = $9, speed = $10, eta_seconds = $11, attention = $12,
		updated_at_utc = now(), imported = $14, left_out = $15, torrent = CASE WHEN $13 THEN NULL ELSE torrent END,
		cancel_requested_at = $16, cancel_requested_by = $17, keep_files = $18 WHERE id = $1`,
		job.ID, job.State, job.CompletedAt, job.FirstNotFoundAt, job.FailureReason, job.LastError, job.RowVersion,
		job.ContentPath, job.Progress, job.Speed, job.ETA, job.Attention, lifecycle.Download.Terminal(job.State), job.Imported, job.LeftOut,
		job.CancelRequestedAt, job.CancelRequestedBy, job.KeepFiles)
	job.UpdatedAt = job.Now
	if job.left != 0 {
		queueLeave(write, job)
	}
	if job.SourceURL == core.RemovedText && lifecycle.Download.Terminal(job.State) { // its owner was forgotten while it was live
		personal.QueueDownloads(write, []int64{job.UserID})
	}
}

// noticeOfDownload notifies the owner of a job's end, of a stalled or stopped torrent, and of a failed import.
func noticeOfDownload(_ *Download, e core.Event) (wait time.Duration, told bool) {
	asks := e.Type == lifecycle.DownloadStalled || e.Type == lifecycle.DownloadStopped || e.Type == lifecycle.DownloadImportFailed || e.Type == lifecycle.DownloadNotSent
	return 0, asks || lifecycle.Download.Terminal(lifecycle.DownloadState(e.To))
}

// MarkStarted records that the job's workflow runs.
func (s *Store) MarkStarted(ctx context.Context, id int64) error {
	return s.db.Do(ctx, `UPDATE download_jobs SET workflow_started_at = coalesce(workflow_started_at, now())
		WHERE id = $1`, id)
}

// LiveOf returns the active jobs with these ids created at least age ago. Served by the primary key.
func (s *Store) LiveOf(ctx context.Context, age time.Duration, ids []string) ([]Download, error) {
	return core.List[Download](ctx, s.db, downloadSelect+`WHERE d.id = ANY ($1::text[]::bigint[]) AND d.status IN `+liveDownloads+`
		AND created_at_utc < now() - $2::interval`, ids, age)
}

// Unstarted lists active jobs whose workflow was never started, created at least age ago, with ids above after,
// ascending. Served by the index download_jobs_unstarted.
func (s *Store) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]Download, error) {
	return core.List[Download](ctx, s.db, downloadSelect+`WHERE workflow_started_at IS NULL AND d.status IN `+liveDownloads+`
		AND d.id > $1 AND created_at_utc < now() - $2::interval ORDER BY d.id LIMIT $3`, after, age, limit)
}

// Live lists active jobs created at least age ago, with ids above after, ascending.
func (s *Store) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]Download, error) {
	return core.List[Download](ctx, s.db, downloadSelect+`WHERE d.status IN `+liveDownloads+` AND d.id > $1
		AND created_at_utc < now() - $2::interval ORDER BY d.id LIMIT $3`, after, age, limit)
}

// Sets of states as used in the statements.
var (
	liveDownloads  = core.SetOf(lifecycle.Download.Live())
	endedDownloads = core.SetOf(lifecycle.Download.Ended())
	// without a fetched medium
	failedDownload = core.SetOf([]lifecycle.DownloadState{lifecycle.DownloadFailed, lifecycle.DownloadCanceled})
)
