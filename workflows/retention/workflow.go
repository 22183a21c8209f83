// Package retention deletes old rows: a Temporal Schedule starts one short workflow a day. Operators pause and
// trigger it with `temporal schedule`.
package retention

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/cleanup"
	"stagecoach/internal/store/operations"
	"stagecoach/workflows/record"
)

// Names used by operators. A run's id is the schedule's id followed by its start time.
const (
	WorkflowType = "Retention"
	ScheduleID   = "retention"
)

const title = "Deletes old rows of the record"

var rows *cleanup.OldRows

// Run deletes what the policy does not keep, and returns the number of deleted rows of each kind. The policy does not
// decide between commands, so it may change.
func Run(ctx workflow.Context, policy operations.Retention) (map[string]int64, error) {
	deleting := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 6 * time.Hour,
		HeartbeatTimeout:    time.Minute,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: time.Minute},
		Summary:             "delete old rows",
	})

	record.ShowDetails(ctx, title, "Deletes what the retention policy does not keep, once a day.")
	var deleted map[string]int64
	err := workflow.ExecuteActivity(deleting, rows.DeleteOldRows, policy).Get(ctx, &deleted)
	return deleted, err
}
