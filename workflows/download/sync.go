package download

import (
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

var downloadSync *activities.Sync

// Sync runs one activity that watches all downloads.
func Sync(ctx workflow.Context) error {
	watching := record.Watching(ctx, lifecycle.MainQueue, "watch over all downloads")
	record.ShowDetails(
		ctx, lifecycle.DownloadSyncTitle,
		"Polls qBittorrent for all active downloads at once; see the worker's log for outages.",
	)
	if err := workflow.ExecuteActivity(watching, downloadSync.SyncDownloads).Get(ctx, nil); err != nil {
		return err
	}

	return workflow.NewContinueAsNewError(ctx, lifecycle.DownloadSyncType)
}
