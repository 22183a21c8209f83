package activities

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store"
)

// DownloadRules is the table of a download job.
type DownloadRules = lifecycle.Table[lifecycle.DownloadState, lifecycle.DownloadAction, lifecycle.DownloadFacts]

// Downloads does for the workflows of downloads what touches qBittorrent and the record.
type Downloads struct {
	Store    *store.Store
	Rules    DownloadRules
	Torrents *qbittorrent.Client
	Fetcher  *fetch.Fetcher
	Metrics  *metrics.Metrics
	Log      *slog.Logger
	Settings DownloadSettings

	welcome atomic.Bool // qBittorrent let us in when it was last asked to take a torrent
}

// DownloadSettings are the limits of downloads.
type DownloadSettings struct {
	SavePath        string        // in qBittorrent's file system, a folder per job below; empty: its default folder
	MinFree         int64         // bytes that must be free before a torrent is added; 0: no matter
	EnqueuePatience time.Duration // for qBittorrent, or a source, that cannot be reached
	Grace           time.Duration // for a torrent that is not found
	PollGap         time.Duration // a longer pause between two polls counts as an outage
}

// DownloadRecord is a job as the record has it.
type DownloadRecord struct {
	Status lifecycle.DownloadState `json:"status"`
	Reason fault.Code              `json:"reason,omitempty"` // of a failure
	// CancelRequested says that somebody wants it to end.
	CancelRequested bool `json:"cancel_requested,omitempty"`
	// Removing says that its torrent is being removed: all that is left is the end.
	Removing bool `json:"removing,omitempty"`
	// NeedsFile says that its .torrent file is to be fetched before anything can be added. Only LoadDownload tells.
	NeedsFile bool `json:"needs_file,omitempty"`
}

func recordOf(job store.Download) DownloadRecord {
	record := DownloadRecord{Status: job.State, CancelRequested: job.CancelRequestedAt != nil, Removing: job.RemovingAt != nil}
	if job.FailureReason != nil {
		record.Reason = fault.Code(*job.FailureReason)
	}
	return record
}

// DownloadMove is one transition as its workflow decided it: begin, complete, fail or cancel.
type DownloadMove struct {
	JobID  int64                    `json:"job_id"`
	Action lifecycle.DownloadAction `json:"action"`
	Reason fault.Code               `json:"reason,omitempty"` // of a failure, or of a cancel by the program itself
}

// MoveDownload writes a transition. A repeated or late call changes nothing: the answer tells what the record has. What
// completes without having begun begins first; what completes for a book that is gone fails.
func (d *Downloads) MoveDownload(ctx context.Context, move DownloadMove) (DownloadRecord, error) {
	before := lifecycle.DownloadState("")
	job, err := d.Store.ChangeDownload(ctx, move.JobID, func(job *store.Download) ([]store.Event, error) {
		before = job.State
		return d.steps(job, move)
	})
	if fault.CodeOf(err) == fault.BookNotFound {
		return d.MoveDownload(ctx, DownloadMove{JobID: move.JobID, Action: lifecycle.DownloadActionFail, Reason: fault.BookGone})
	}
	if problem := fault.As(err); problem != nil && problem.Code == fault.MediaNotReady {
		return DownloadRecord{}, reported(ctx, problem.Retry()) // the next poll writes where it is
	}
	if err != nil {
		return DownloadRecord{}, reported(ctx, asFault(err))
	}
	if d.Rules.Terminal(job.State) && job.State != before {
		d.Metrics.DownloadsEnded.WithLabelValues(string(job.State)).Inc()
	}
	return recordOf(job), nil
}

// steps walks a locked job through the rules and gives the events that this makes.
func (d *Downloads) steps(job *store.Download, move DownloadMove) (events []store.Event, err error) {
	switch {
	case d.Rules.Terminal(job.State),
		move.Action == lifecycle.DownloadActionBegin && job.State == lifecycle.DownloadDownloading,
		move.Action == lifecycle.DownloadActionComplete && job.RemovingAt != nil:
		return nil, nil
	}
	actions := []lifecycle.DownloadAction{move.Action}
	if move.Action == lifecycle.DownloadActionComplete && job.State == lifecycle.DownloadQueued {
		actions = []lifecycle.DownloadAction{lifecycle.DownloadActionBegin, move.Action}
	}
	for _, action := range actions {
		rule, err := d.Rules.Decide(job.State, lifecycle.Request[lifecycle.DownloadState, lifecycle.DownloadAction]{
			Action: action, Roles: []lifecycle.Role{lifecycle.System},
		}, job.Facts())
		if err != nil {
			return nil, err
		}
		event := store.Event{Type: rule.Event, From: string(job.State), To: string(rule.To), Comment: string(move.Reason)}
		if rule.To == lifecycle.DownloadCanceled {
			event.ActorID = job.CancelRequestedBy
		}
		events = append(events, event)
		job.State = rule.To
	}
	if d.Rules.Terminal(job.State) {
		job.Speed, job.ETA, job.Attention = 0, nil, ""
	}
	switch job.State {
	case lifecycle.DownloadCompleted:
		job.CompletedAt, job.Progress, job.FirstNotFoundAt, job.LastError = &job.Now, 1, nil, ""
	case lifecycle.DownloadFailed:
		reason := string(move.Reason)
		job.FailureReason = &reason
	case lifecycle.DownloadQueued, lifecycle.DownloadDownloading, lifecycle.DownloadCanceled:
	}
	return events, nil
}

// DownloadNote is a fact about a job that moves it nowhere: one of the store's types of events.
type DownloadNote struct {
	JobID int64  `json:"job_id"`
	Type  string `json:"type"`
}

// NoteDownload writes a fact. A repeated or late call changes nothing.
func (d *Downloads) NoteDownload(ctx context.Context, note DownloadNote) (DownloadRecord, error) {
	job, err := d.Store.ChangeDownload(ctx, note.JobID, func(job *store.Download) ([]store.Event, error) {
		if d.Rules.Terminal(job.State) || !applies(job, note.Type) {
			return nil, nil
		}
		return []store.Event{{Type: note.Type, From: string(job.State), To: string(job.State)}}, nil
	})
	if err != nil {
		return DownloadRecord{}, reported(ctx, asFault(err))
	}
	return recordOf(job), nil
}

// applies makes a note's change to the job, and says whether it was one.
func applies(job *store.Download, note string) bool {
	switch {
	case note == lifecycle.DownloadWentMissing && job.FirstNotFoundAt == nil:
		job.FirstNotFoundAt = &job.Now
	case note == lifecycle.DownloadFoundAgain && job.FirstNotFoundAt != nil:
		job.FirstNotFoundAt = nil
	case note == lifecycle.DownloadStalled && job.Attention == "":
		job.Attention = string(fault.Stalled)
	case note == lifecycle.DownloadRecovered && job.Attention != "":
		job.Attention = ""
	default:
		return false
	}
	return true
}
