package record

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// Watching returns the options of an activity that watches something for an hour. Its workflow then continues as new,
// so that its history stays small however long it runs.
func Watching(ctx workflow.Context, queue, summary string) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           queue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    30 * time.Second, // the gap when a worker dies; longer than one call may take
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             summary,
	})
}
