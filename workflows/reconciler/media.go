package reconciler

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/workflows/record"
)

// Names used by operators. A run's id is the schedule's id followed by its start time.
const (
	MediaType     = "MediaSweep"
	MediaSchedule = "media"
	MediaTitle    = "Checks whether the files of all media are there"
)

var media *reconcile.MediaSweep

// SweepMedia checks all media once. After three attempts it waits for the next hour: the folder may not be mounted.
func SweepMedia(ctx workflow.Context) error {
	sweeping := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: 10 * time.Second, MaximumAttempts: 3},
		Summary:             "check the files of all media",
	})

	record.ShowDetails(ctx, MediaTitle, "Runs once an hour. Marks media as missing, and as available again.")
	return workflow.ExecuteActivity(sweeping, media.SweepMedia).Get(ctx, nil)
}
