package lifecycle

import (
	"fmt"
	"strings"

	"stagecoach/internal/fault"
)

// DownloadTitle names a job's workflow for operators. The workflow's id is download/<user>/<book>/<media type>.
func DownloadTitle(jobID int64, workflowID string) string {
	parts := strings.Split(workflowID, "/")
	if len(parts) != 4 {
		return fmt.Sprintf("Download %d", jobID)
	}
	return fmt.Sprintf("Download %d: %s of book %s", jobID, parts[3], parts[2])
}

// DownloadRecord is a job as the record has it.
type DownloadRecord struct {
	Status DownloadState `json:"status"`
	Reason fault.Code    `json:"reason,omitempty"` // of a failure
	// CancelRequested says that a person has asked to cancel the job.
	CancelRequested bool `json:"cancel_requested,omitempty"`
	// Removing says that its torrent is being removed: only the end is left.
	Removing bool `json:"removing,omitempty"`
	// ToSend says that it has completed, and that its files are to be sent to its owner.
	ToSend bool `json:"to_send,omitempty"`
	// ImportFailed says that a person has to repeat its import.
	ImportFailed bool `json:"import_failed,omitempty"`
	// NeedsImport says that its files have to be put into the library folder before it completes. Only MoveDownload sets
	// it.
	NeedsImport bool `json:"needs_import,omitempty"`
	// NeedsFile says that its .torrent file has to be fetched before the torrent can be added. Only LoadDownload sets
	// it.
	NeedsFile bool `json:"needs_file,omitempty"`

	Place   int  `json:"place"`             // of the source that is tried now
	Sources int  `json:"sources,omitempty"` // how many there are, where there are several
	Left    bool `json:"left,omitempty"`    // another source can be tried
	Added   bool `json:"added,omitempty"`   // qBittorrent has taken the torrent of the current source
}

// DownloadMove is one transition as its workflow decided it: begin, complete, fail or cancel.
type DownloadMove struct {
	JobID  int64          `json:"job_id"`
	Action DownloadAction `json:"action"`
	Reason fault.Code     `json:"reason,omitempty"` // of a failure, or of a cancel by the program itself
	Place  int            `json:"place,omitempty"`  // of the source that completes; 0: the first one
}

// DownloadSwitch leaves the source of a job for another one. A call for a source that was left before changes nothing.
type DownloadSwitch struct {
	JobID   int64      `json:"job_id"`
	From    int        `json:"from"`
	To      int        `json:"to,omitempty"`      // whose torrent is complete; 0: the next one that was not tried
	Outcome fault.Code `json:"outcome,omitempty"` // why the source is left for the next one
}

type DownloadRequest = Request[DownloadState, DownloadAction]
