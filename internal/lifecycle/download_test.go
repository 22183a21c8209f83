package lifecycle

import (
	"testing"

	"stagecoach/internal/fault"
)

// downloadAllowed is the lifecycle written out by hand, one line per step: status, action, role, then the resulting
// status. Everything else is refused.
var downloadAllowed = map[string]string{
	" enqueue owner": "queued",

	"queued begin system":            "downloading",
	"queued fail system":             "failed",
	"queued cancel owner":            "canceled",
	"queued cancel admin":            "canceled",
	"queued cancel system":           "canceled",
	"downloading complete system":    "completed",
	"downloading retry_import owner": "downloading",
	"downloading retry_import admin": "downloading",
	"downloading fail system":        "failed",
	"downloading cancel owner":       "canceled",
	"downloading cancel admin":       "canceled",
	"downloading cancel system":      "canceled",
}

// TestDownloadEveryCase checks the table for every status of the user × medium in place or not.
func TestDownloadEveryCase(t *testing.T) {
	t.Parallel()
	checkCases(t, Download, downloadAllowed, downloadAllFacts(), func(action DownloadAction, f DownloadFacts) fault.Code {
		switch {
		case action == "enqueue" && !f.UserActive:
			return fault.UserNotActive
		case action == "complete" && !f.MediaReady:
			return fault.MediaNotReady
		case action == "retry_import" && !f.ImportFailed:
			return fault.InvalidTransition
		}
		return ""
	})
}
