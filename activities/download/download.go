// Package download has the activities of downloads: they act on qBittorrent, .torrent files and the record.
package download

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// Store is the part of the record that the activities use.
type Store interface {
	ByID(ctx context.Context, id int64) (download.Download, error)
	Change(ctx context.Context, id int64, decide func(*download.DownloadWalk) error) (download.Download, error)

	File(ctx context.Context, id int64) ([]byte, error)
	SaveFile(ctx context.Context, id int64, place int, file []byte, v1, v2 string) error
	Place(ctx context.Context, id int64, place int, savePath string) error
	MarkAdded(ctx context.Context, id int64, place int) error
	Switch(ctx context.Context, by lifecycle.DownloadSwitch) (download.Download, error)
	NoteTrouble(ctx context.Context, id int64, code fault.Code) error
	NoteElsewhere(ctx context.Context, id int64, category string) error

	GraceLeft(ctx context.Context, id int64, grace, gap time.Duration) (time.Duration, error)
	MarkResumed(ctx context.Context, id int64) error

	BeginRemoval(ctx context.Context, id int64) error
	NoteCancelError(ctx context.Context, id int64, code string) error
	Holding(ctx context.Context, ids []int64) ([]int64, error)

	BookByID(ctx context.Context, id int64) (download.Book, error)
	PlaceTaken(ctx context.Context, job int64, place string, files []download.LibraryFile) (bool, error)
}

// Alerts notifies the administrators of what only they can fix.
type Alerts interface {
	RaiseAlert(ctx context.Context, kind string) error
	ResolveAlert(ctx context.Context, kind string) error
}

// Mover performs transitions, and sends what was downloaded. It is downloads.Service.
type Mover interface {
	Request(ctx context.Context, asked lifecycle.DownloadAsked) (download.Download, error)
	Move(ctx context.Context, move lifecycle.DownloadMove) (download.Download, error)
	SendWished(ctx context.Context, jobID int64) error
	Complete(ctx context.Context, job download.Download, folder string, files []download.LibraryFile) (download.Download, error)
}

// Activities are the activities of downloads that use qBittorrent and the record.
type Activities struct {
	Store    Store
	Alerts   Alerts
	Jobs     Mover
	Torrents *qbittorrent.Client
	Fetcher  *fetch.Fetcher
	Log      *slog.Logger
	Settings Settings
	Library  Library
	Space    Space

	welcome atomic.Bool // qBittorrent accepted our login at the last attempt to add a torrent
}

// Settings are the limits of downloads.
type Settings struct {
	SavePath string        // in qBittorrent's file system, with a folder per job below; empty: its default folder
	Grace    time.Duration // for a missing torrent
	PollGap  time.Duration // a longer interval between two polls counts as an outage

	HandOverAfter time.Duration // how long an attempt continues in a stopping worker
}

// MoveDownload records a transition. Idempotent: repeated and late calls change nothing and return the record. With a
// library folder, a job does not complete before its files are in it: the result says so.
func (d *Activities) MoveDownload(ctx context.Context, move lifecycle.DownloadMove) (lifecycle.DownloadRecord, error) {
	if move.Action == lifecycle.DownloadActionComplete && d.Library.Dir != "" {
		job, err := d.Store.ByID(ctx, move.JobID)
		over := lifecycle.Download.Terminal(job.State) || job.RemovingAt != nil || job.BookTitle == "" ||
			job.SourcePlace != max(move.Place, 1)
		needs := err == nil && !over && job.ContentPath != "" // even if its book keeps another copy: the job sends its own
		if err != nil || needs {
			record, err := answer(ctx, job, err)
			record.NeedsImport = needs && record.Attention != fault.ImportFailed
			return record, err
		}
	}

	job, err := d.Jobs.Move(ctx, move)
	if problem := fault.As(err); problem != nil && problem.Code == fault.MediaNotReady {
		err = problem.Retry() // the next poll records its location
	}
	return answer(ctx, job, err)
}

// RequestDownload decides a person's request. Idempotent.
func (d *Activities) RequestDownload(
	ctx context.Context, asked lifecycle.DownloadAsked,
) (record lifecycle.DownloadRecord, err error) {
	job, err := d.Jobs.Request(ctx, asked)
	if err != nil {
		return record, temporalio.RequestError(ctx, err)
	}
	record = recordOf(job)
	record.ChangedAt = job.UpdatedAt.UTC()
	return record, nil
}

// SendDownload creates the deliveries of a completed download's files to its owner, once each. It gives up only on what
// can never be sent, and records why.
func (d *Activities) SendDownload(ctx context.Context, jobID int64) error {
	defer temporalio.SendHeartbeats(ctx)()
	if err := d.Jobs.SendWished(ctx, jobID); err != nil {
		return temporalio.ActivityError(ctx, temporalio.FaultOf(err))
	}
	return nil
}

// answer converts a result of the record into the activity's result or error.
func answer(ctx context.Context, job download.Download, err error) (lifecycle.DownloadRecord, error) {
	if err != nil {
		return lifecycle.DownloadRecord{}, temporalio.ActivityError(ctx, temporalio.FaultOf(err))
	}
	return recordOf(job), nil
}

// recordOf is a job as its workflow knows it.
func recordOf(job download.Download) lifecycle.DownloadRecord {
	record := lifecycle.DownloadRecord{
		Status: job.State, CancelRequested: job.CancelRequestedAt != nil, CancelError: fault.Code(job.CancelError),
		ToSend:    job.ToSend(),
		Attention: fault.Code(job.Attention), NoMetadata: job.NoMetadata,
		Place: job.SourcePlace, Sources: len(job.Sources), Left: job.SourcesLeft > 0, Added: job.AddedAt != nil,
	}
	if job.FailureReason != nil {
		record.Reason = fault.Code(*job.FailureReason)
	}
	if lifecycle.Download.Terminal(job.State) {
		record.ChangedAt = job.UpdatedAt.UTC()
	}
	return record
}

// Note is a fact about a job that changes no state: one of the store's types of events.
type Note struct {
	JobID  int64      `json:"job_id"`
	Type   string     `json:"type"`
	Place  int        `json:"place,omitempty"`  // of the source concerned; 0: the first one
	Reason fault.Code `json:"reason,omitempty"` // of a failed import
}

// NoteDownload records a fact. Idempotent, even if late.
func (d *Activities) NoteDownload(ctx context.Context, note Note) (lifecycle.DownloadRecord, error) {
	job, err := d.Store.Change(ctx, note.JobID, func(walk *download.DownloadWalk) error {
		if !walk.Terminal() && walk.Row.SourcePlace == max(note.Place, 1) && applies(walk.Row, note) {
			walk.Note(note.Type)
		}
		return nil
	})
	return answer(ctx, job, err)
}

// applies applies a note to the job, and reports whether it changed anything.
func applies(job *download.Download, n Note) bool {
	switch note := n.Type; {
	case note == lifecycle.DownloadWentMissing && job.FirstNotFoundAt == nil:
		job.FirstNotFoundAt = &job.Now
	case note == lifecycle.DownloadFoundAgain && job.FirstNotFoundAt != nil:
		job.FirstNotFoundAt = nil
	case note == lifecycle.DownloadStalled && job.Attention != string(fault.Stalled):
		job.Attention = string(fault.Stalled)
	case note == lifecycle.DownloadStopped && job.Attention != string(fault.TorrentStopped):
		job.Attention = string(fault.TorrentStopped)
	case note == lifecycle.DownloadRecovered && (job.Attention == string(fault.Stalled) || job.Attention == string(fault.TorrentStopped)):
		job.Attention = ""
	case note == lifecycle.DownloadImportFailed && job.Attention != string(fault.ImportFailed):
		job.Attention, job.LastError = string(fault.ImportFailed), string(n.Reason)
	default:
		return false
	}

	return true
}
