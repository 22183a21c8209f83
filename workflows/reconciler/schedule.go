package reconciler

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/temporalio"
)

// EnsureSchedules creates or updates the schedules of sweeps, comparisons and media sweeps. Runs skipped by an outage
// are not made up for: the next sweep continues from the last one, and triggers a comparison after a long outage.
func EnsureSchedules(ctx context.Context, schedules temporalio.Schedules) error {
	for _, schedule := range []temporalio.Schedule{
		{ID: ScheduleID, WorkflowType: WorkflowType, Title: Title, Every: time.Minute, Input: []any{time.Hour}, AtOnce: true},
		{ID: ComparisonSchedule, WorkflowType: ComparisonType, Title: ComparisonTitle, Every: time.Hour},
		{ID: MediaSchedule, WorkflowType: MediaType, Title: MediaTitle, Every: time.Hour},
	} {
		schedule.CatchUp = time.Minute
		if err := schedules.Ensure(ctx, schedule); err != nil {
			return err
		}
	}
	return nil
}

// Trigger starts a comparison now, unless one is running or an operator has paused the schedule.
func Trigger(ctx context.Context, c client.Client) error {
	schedule := c.ScheduleClient().GetHandle(ctx, ComparisonSchedule)
	about, err := schedule.Describe(ctx)
	if err != nil || about.Schedule.State.Paused {
		return err
	}
	return schedule.Trigger(ctx, client.ScheduleTriggerOptions{Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP})
}
