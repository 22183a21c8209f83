package retention

import (
	"context"
	"time"

	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// EnsureSchedule creates or updates the schedule: old rows are deleted at three in the morning UTC, by this policy.
func EnsureSchedule(ctx context.Context, schedules temporalio.Schedules, policy operations.Retention) error {
	return schedules.Ensure(ctx, temporalio.Schedule{
		ID: ScheduleID, WorkflowType: WorkflowType, Title: title, Input: []any{policy},
		Every: 24 * time.Hour, Offset: 3 * time.Hour,
		CatchUp: 24 * time.Hour, // after an outage of several days one run makes up for all
	})
}
