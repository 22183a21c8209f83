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
}

// DownloadMove is one transition as its workflow decided it: begin, complete, fail or cancel.
type DownloadMove struct {
	JobID  int64          `json:"job_id"`
	Action DownloadAction `json:"action"`
	Reason fault.Code     `json:"reason,omitempty"` // of a failure, or of a cancel by the program itself
}

type DownloadRequest = Request[DownloadState, DownloadAction]
