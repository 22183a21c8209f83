// Package reconciler keeps the record and Temporal agreeing: one workflow of a fixed id that runs for ever.
package reconciler

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/activities"
	"stagecoach/workflows/lifecycle"
)

// Names that operators use.
const (
	WorkflowType = "Reconciler"
	WorkflowID   = "reconciler"
)

var reconciler *activities.Reconciler

// Run lets one activity look for an hour, then continues as new: its history stays small however long it runs.
func Run(ctx workflow.Context) error {
	looking := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: time.Hour,
		HeartbeatTimeout:    30 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 15 * time.Second},
		Summary:             "compare the record with Temporal",
	})
	workflow.SetCurrentDetails(ctx, "Compares live rows with running workflows; see the worker's log for what it mended.")
	if err := workflow.ExecuteActivity(looking, reconciler.Reconcile).Get(ctx, nil); err != nil {
		return err
	}
	return workflow.NewContinueAsNewError(ctx, Run)
}
