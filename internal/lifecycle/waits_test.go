package lifecycle

import (
	"testing"

	"stagecoach/internal/fault"
)

// TestWaitsFor asks of each state.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, got, want string
	}{
		{"a new task", TaskWaitsFor(TaskNew, false, false), WaitsForClaim},
		{"a new task with blockers", TaskWaitsFor(TaskNew, false, true), WaitsForBlockers},
		{"a new task of somebody, with blockers", TaskWaitsFor(TaskNew, true, true), WaitsForBlockers},
		{"a new task of somebody", TaskWaitsFor(TaskNew, true, false), WaitsForAssignee},
		{"a task in progress", TaskWaitsFor(TaskInProgress, true, false), WaitsForAssignee},
		{"a blocked task", TaskWaitsFor(TaskBlocked, true, false), WaitsForAssignee},
		{"a stuck task", TaskWaitsFor(TaskStuck, false, false), WaitsForTakeover},
		{"a stuck task with an assignee", TaskWaitsFor(TaskStuck, true, false), WaitsForTakeover},
		{"a task that is done", TaskWaitsFor(TaskDone, true, false), ""},
		{"a cancelled task with blockers", TaskWaitsFor(TaskCancelled, false, true), ""},

		{"a queued download", DownloadWaitsFor(DownloadQueued, false, false, false, ""), WaitsForQBittorrent},
		{"a download", DownloadWaitsFor(DownloadDownloading, false, false, false, ""), WaitsForQBittorrent},
		{"a missing torrent that stalled", DownloadWaitsFor(DownloadDownloading, false, true, false, fault.Stalled), WaitsForTorrent},
		{"a stalled torrent", DownloadWaitsFor(DownloadDownloading, false, false, false, fault.Stalled), WaitsForProgress},
		{"one that is imported", DownloadWaitsFor(DownloadDownloading, false, false, true, ""), WaitsForLibrary},
		{"a failed import", DownloadWaitsFor(DownloadDownloading, false, false, false, fault.ImportFailed), WaitsForLibrary},
		{"a cancelled one that is missing", DownloadWaitsFor(DownloadQueued, true, true, false, ""), WaitsForQBittorrent},
		{"a completed download", DownloadWaitsFor(DownloadCompleted, false, false, false, ""), ""},
		{"a canceled download", DownloadWaitsFor(DownloadCanceled, true, false, false, ""), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s waits for %q, want %q", c.name, c.got, c.want)
		}
	}
}
