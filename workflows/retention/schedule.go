package retention

import (
	"context"
	"errors"
	"maps"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
)

// EnsureSchedule creates the schedule, at three in the morning UTC, or updates the policy of the existing one.
// Everything else of an existing schedule stays as operators have set it, such as a pause or another time.
func EnsureSchedule(ctx context.Context, c client.Client, policy operations.Retention) error {
	_, err := c.ScheduleClient().Create(ctx, client.ScheduleOptions{
		ID: ScheduleID,
		Spec: client.ScheduleSpec{Calendars: []client.ScheduleCalendarSpec{{
			Hour: []client.ScheduleRange{{Start: 3}},
		}}},
		Action: &client.ScheduleWorkflowAction{
			ID: ScheduleID, Workflow: WorkflowType, TaskQueue: lifecycle.MainQueue, Args: []any{policy},
			StaticSummary: title,
		},
		CatchupWindow: 24 * time.Hour, // after an outage of several days one run makes up for all
	})
	if !errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		return err
	}

	return c.ScheduleClient().GetHandle(ctx, ScheduleID).Update(ctx, client.ScheduleUpdateOptions{
		DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
			schedule := in.Description.Schedule
			action, ok := schedule.Action.(*client.ScheduleWorkflowAction)
			if !ok || has(action, policy) {
				return nil, temporal.ErrSkipScheduleUpdate
			}
			action.Args = []any{policy}
			return &client.ScheduleUpdate{Schedule: &schedule}, nil
		},
	})
}

// has says whether an action has this policy. An unreadable argument counts as another policy.
func has(action *client.ScheduleWorkflowAction, policy operations.Retention) bool {
	if len(action.Args) != 1 {
		return false
	}
	payload, ok := action.Args[0].(*commonpb.Payload)
	var there operations.Retention
	return ok && converter.GetDefaultDataConverter().FromPayload(payload, &there) == nil && maps.Equal(there, policy)
}
