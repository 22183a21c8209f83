package reconciler

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// EnsureSchedules creates the schedules of sweeps, of comparisons, and of sweeps of media.
func EnsureSchedules(ctx context.Context, c client.Client) error {
	if err := ensure(ctx, c, ScheduleID, WorkflowType, Title, 20*time.Second); err != nil {
		return err
	}
	if err := ensure(ctx, c, ComparisonSchedule, ComparisonType, ComparisonTitle, time.Hour); err != nil {
		return err
	}
	return ensure(ctx, c, MediaSchedule, MediaType, MediaTitle, time.Hour)
}

// ensure creates the schedule of a workflow without input. A run that has not ended is not joined by another. What an
// outage has skipped is not made up for: the next sweep continues from the last one, and triggers a comparison after a
// long outage.
func ensure(ctx context.Context, c client.Client, id, workflowType, title string, every time.Duration) error {
	return temporalio.EnsureSchedule(ctx, c, client.ScheduleOptions{
		ID:   id,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: every}}},
		Action: &client.ScheduleWorkflowAction{
			ID: id, Workflow: workflowType, TaskQueue: lifecycle.MainQueue, StaticSummary: title,
		},
		Overlap:       enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: time.Minute,
	})
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
