package reconciler

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
)

// EnsureSchedule creates the schedule of comparisons, one an hour. An existing schedule stays as operators have set it.
// A comparison that is still running is not joined by another. What an outage has skipped is not made up for: a sweep
// triggers a comparison when the last one is too old.
func EnsureSchedule(ctx context.Context, c client.Client) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID:   ComparisonSchedule,
		Spec: client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: time.Hour}}},
		Action: &client.ScheduleWorkflowAction{
			ID: ComparisonSchedule, Workflow: ComparisonType, TaskQueue: lifecycle.MainQueue, StaticSummary: ComparisonTitle,
		},
		Overlap:       enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		CatchupWindow: time.Minute,
	})
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return nil
	}
	return err
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
