package lifecycle

import (
	"testing"

	"stagecoach/internal/fault"
)

// TestWaitsFor checks each state.
func TestWaitsFor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, got, want string
	}{
		{"a new task", TaskWaitsFor(TaskNew, false, false, false), WaitsForClaim},
		{"a new task with blockers", TaskWaitsFor(TaskNew, false, true, false), WaitsForBlockers},
		{"a new task of somebody, with blockers", TaskWaitsFor(TaskNew, true, true, false), WaitsForBlockers},
		{"a new task of somebody", TaskWaitsFor(TaskNew, true, false, false), WaitsForAssignee},
		{"a task in progress", TaskWaitsFor(TaskInProgress, true, false, false), WaitsForAssignee},
		{"a task in review", TaskWaitsFor(TaskInProgress, true, false, true), WaitsForReview},
		{"a blocked task in review", TaskWaitsFor(TaskBlocked, true, false, true), WaitsForAssignee},
		{"a blocked task", TaskWaitsFor(TaskBlocked, true, false, false), WaitsForAssignee},
		{"a stuck task", TaskWaitsFor(TaskStuck, false, false, false), WaitsForTakeover},
		{"a stuck task that cannot be taken over", TaskWaitsFor(TaskStuck, false, true, false), WaitsForBlockers},
		{"a stuck task with an assignee", TaskWaitsFor(TaskStuck, true, false, false), WaitsForTakeover},
		{"a task that is done", TaskWaitsFor(TaskDone, true, false, false), ""},
		{"a cancelled task with blockers", TaskWaitsFor(TaskCancelled, false, true, false), ""},

		{"a queued delivery", DeliveryWaitsFor(DeliveryQueued, "", false), WaitsForSlot},
		{"a delivery whose try has failed", DeliveryWaitsFor(DeliveryQueued, fault.TelegramUnavailable, true), WaitsForNextAttempt},
		{"a paused delivery", DeliveryWaitsFor(DeliveryQueued, fault.PausedByOperator, false), WaitsForOperator},
		{"a claimed delivery", DeliveryWaitsFor(DeliveryClaimed, fault.PausedByOperator, false), WaitsForStorage},
		{"a delivery whose file is opened", DeliveryWaitsFor(DeliveryDownloading, "", false), WaitsForStorage},
		{"a delivery that streams", DeliveryWaitsFor(DeliveryStreaming, "", false), WaitsForTelegram},
		{"a delivery whose worker is silent", DeliveryWaitsFor(DeliveryStreaming, "", true), WaitsForNextAttempt},
		{"a delivered file", DeliveryWaitsFor(DeliveryDelivered, "", false), ""},

		{"a queued download", DownloadWaitsFor(DownloadWaits{State: DownloadQueued}), WaitsForSlot},
		{"a magnet link", DownloadWaitsFor(DownloadWaits{State: DownloadQueued, NoMetadata: true}), WaitsForMetadata},
		{"the magnet link of a later source", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, NoMetadata: true}), WaitsForMetadata},
		{"a magnet link that stalled", DownloadWaitsFor(DownloadWaits{State: DownloadQueued, NoMetadata: true, Attention: fault.Stalled}), WaitsForPeers},
		{"a download", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading}), WaitsForQBittorrent},
		{"a missing torrent that stalled", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, Missing: true, Attention: fault.Stalled}), WaitsForTorrent},
		{"a stalled torrent", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, Attention: fault.Stalled}), WaitsForPeers},
		{"a stopped torrent", DownloadWaitsFor(DownloadWaits{State: DownloadQueued, Attention: fault.TorrentStopped}), WaitsForStart},
		{"a download without room", DownloadWaitsFor(DownloadWaits{State: DownloadQueued, NoRoom: true, NoMetadata: true}), WaitsForSpace},
		{"one without room that stalled before", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, NoRoom: true, Attention: fault.Stalled}), WaitsForSpace},
		{"one that is imported", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, Complete: true}), WaitsForImport},
		{"a failed import", DownloadWaitsFor(DownloadWaits{State: DownloadDownloading, Attention: fault.ImportFailed}), WaitsForImport},
		{"a cancelled one that is missing", DownloadWaitsFor(DownloadWaits{State: DownloadQueued, Ending: true, Missing: true}), WaitsForQBittorrent},
		{"a completed download", DownloadWaitsFor(DownloadWaits{State: DownloadCompleted, Complete: true}), ""},
		{"a canceled download", DownloadWaitsFor(DownloadWaits{State: DownloadCanceled, Ending: true}), ""},
	} {
		if c.got != c.want {
			t.Errorf("%s waits for %q, want %q", c.name, c.got, c.want)
		}
	}
}
