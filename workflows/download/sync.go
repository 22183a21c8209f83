package download

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/download"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

var downloadSync *activities.Sync

// Sync lets one activity watch over all downloads for an hour, then continues as new: its history stays small however
// long it runs.
func Sync(ctx workflow.Context) error {
	watching := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    30 * time.Second, // how long nobody watches when a worker dies; longer than one call may take
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             "watch over all downloads",
	})

	record.ShowDetails(
		ctx, lifecycle.DownloadSyncTitle,
		"Polls qBittorrent for all active downloads at once; see the worker's log for outages.",
	)
	if err := workflow.ExecuteActivity(watching, downloadSync.SyncDownloads).Get(ctx, nil); err != nil {
		return err
	}

	return workflow.NewContinueAsNewError(ctx, lifecycle.DownloadSyncType)
}
