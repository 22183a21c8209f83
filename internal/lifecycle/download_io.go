package lifecycle

import (
	"fmt"
	"strings"
	"time"

	"stagecoach/internal/fault"
)

// DownloadTitle is the title of a job's workflow for operators. The workflow's id is download/<user>/<book>/<media
// type>.
func DownloadTitle(jobID int64, workflowID string) string {
	parts := strings.Split(workflowID, "/")
	if len(parts) != 4 {
		return fmt.Sprintf("Download %d", jobID)
	}
	return fmt.Sprintf("Download %d: %s of book %s", jobID, parts[3], parts[2])
}

// DownloadRecord is a job as recorded.
type DownloadRecord struct {
	Status DownloadState `json:"status"`
	Reason fault.Code    `json:"reason,omitempty"` // of a failure
	// CancelRequested means that a person has requested to cancel the job: only its end remains.
	CancelRequested bool `json:"cancel_requested,omitempty"`
	// CancelError is why the torrent cannot currently be removed.
	CancelError fault.Code `json:"cancel_error,omitempty"`
	// ToSend means that it has completed, and its files are to be sent to its owner.
	ToSend bool `json:"to_send,omitempty"`
	// Attention is why a person should check it; empty: no need.
	Attention fault.Code `json:"attention,omitempty"`
	// NoMetadata means that qBittorrent has a magnet link and is still fetching its metadata.
	NoMetadata bool `json:"no_metadata,omitempty"`
	// NeedsImport means that its files must be imported into the library folder before it completes. Only MoveDownload
	// sets it.
	NeedsImport bool `json:"needs_import,omitempty"`
	// NeedsFile means that its .torrent file must be fetched before the torrent can be added. Only LoadDownload sets it.
	NeedsFile bool `json:"needs_file,omitempty"`

	Place   int  `json:"place"`             // of the source being tried
	Sources int  `json:"sources,omitempty"` // how many there are, if several
	Left    bool `json:"left,omitempty"`    // another source can be tried
	Added   bool `json:"added,omitempty"`   // qBittorrent has accepted the current source's torrent

	ChangedAt time.Time `json:"changed_at,omitzero"` // for the answers of updates; zero: not needed there
}

// DownloadUpdates lists the actions sent as updates.
var DownloadUpdates = []DownloadAction{DownloadActionCancel, DownloadActionRetryImport}

// DownloadInput is the input of an update. An operator using the temporal CLI may omit it.
type DownloadInput struct {
	Actor     int64 `json:"actor,omitempty"`      // a user id; 0: an operator
	JobID     int64 `json:"job_id,omitempty"`     // 0: the one that the workflow drives
	KeepFiles bool  `json:"keep_files,omitempty"` // for cancel: keep what was downloaded
}

// DownloadAsked is a person's request. It is decided once.
type DownloadAsked struct {
	Action    DownloadAction `json:"action"`
	In        DownloadInput  `json:"in"`
	RequestID string         `json:"request_id"` // of the update
}

// DownloadMove is one transition decided by the workflow: begin, complete, fail or cancel.
type DownloadMove struct {
	JobID  int64          `json:"job_id"`
	Action DownloadAction `json:"action"`
	Reason fault.Code     `json:"reason,omitempty"` // of a failure, or of a cancellation by the program itself
	Place  int            `json:"place,omitempty"`  // of the completed source; 0: the first one
}

// DownloadSwitch moves a job from its source to another one. Does nothing if that source was already abandoned.
type DownloadSwitch struct {
	JobID   int64      `json:"job_id"`
	From    int        `json:"from"`
	To      int        `json:"to,omitempty"`      // whose torrent is complete; 0: the next untried one
	Outcome fault.Code `json:"outcome,omitempty"` // why the source is abandoned for the next one
}

type DownloadRequest = Request[DownloadState, DownloadAction]
