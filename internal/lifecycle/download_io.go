package lifecycle

import (
	"fmt"
	"strings"
)

// DownloadTitle names a job's workflow for operators. The workflow's id is download/<user>/<book>/<media type>.
func DownloadTitle(jobID int64, workflowID string) string {
	parts := strings.Split(workflowID, "/")
	if len(parts) != 4 {
		return fmt.Sprintf("Download %d", jobID)
	}
	return fmt.Sprintf("Download %d: %s of book %s", jobID, parts[3], parts[2])
}

type DownloadRequest = Request[DownloadState, DownloadAction]
