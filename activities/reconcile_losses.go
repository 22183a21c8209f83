package activities

import (
	"context"
	"errors"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// deliverActivity is the type of the activity that Courier.Deliver is.
const deliverActivity = "Deliver"

// losses reports the workers that were lost with a delivery, although no other worker has taken it yet. A row whose heartbeat is older
// than its time-out is only suspicious: Temporal is asked about that one activity. It alone begins the next attempt, by the retry
// policy; what is written here is for people. The attempt is counted by the record, once: whoever comes first of this
// report and the next claim finds the job held, and the other finds it QUEUED or under another claim.
func (s *sweeper) losses(ctx context.Context) error {
	return sweep(ctx, func(after int64) ([]store.SilentJob, error) {
		return s.Records.Store.SilentJobs(ctx, s.DeliveryHeartbeat, after, pageLimit)
	}, func(job store.SilentJob) int64 {
		if err := s.loss(ctx, job); err != nil {
			s.Log.Warn("a silent worker was not looked at", "job", job.ID, "error", err) // one bad job never stops the others
		}
		return job.ID
	})
}

func (s *sweeper) loss(ctx context.Context, job store.SilentJob) error {
	progressed(ctx)
	description, err := s.Temporal.DescribeWorkflowExecution(ctx, job.WorkflowID(), "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return nil // the sweep over the deliveries settles it
	}
	if err != nil {
		return err
	}

	attempt := givenUp(description.PendingActivities)
	if attempt == nil {
		return nil
	}
	written, changed, err := s.Records.Deliveries.Lose(ctx, job, s.DeliveryHeartbeat, s.receiptIn(attempt), nextOf(attempt))
	if err != nil || !changed {
		return err
	}
	s.Log.Info("a lost worker was reported", "job", job.ID, "state", written.State, "attempt", written.Attempt)

	if lifecycle.Delivery.Terminal(written.State) { // its workflow reads the end from the record, instead of waiting for a worker
		return s.EndDelivery(ctx, job.WorkflowID())
	}
	return s.TellDelivery(ctx, job.WorkflowID(), attemptOf(written))
}

// givenUp finds the activity of a held job that no worker has, in Temporal's view: it waits for its next attempt, or for an operator
// who has paused it. nil: there is none.
func givenUp(pending []*workflowpb.PendingActivityInfo) *workflowpb.PendingActivityInfo {
	for _, activity := range pending {
		switch activity.State {
		case enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, enumspb.PENDING_ACTIVITY_STATE_PAUSED:
			if activity.ActivityType.GetName() == deliverActivity {
				return activity
			}
		}
	}
	return nil
}

// nextOf is when the next attempt begins; nil: as soon as a worker is free.
func nextOf(attempt *workflowpb.PendingActivityInfo) *time.Time {
	if attempt.NextAttemptScheduleTime == nil {
		return nil
	}
	next := attempt.NextAttemptScheduleTime.AsTime()
	return &next
}

// receiptIn reads Telegram's receipt from the last heartbeat; 0: it has none.
func (s *sweeper) receiptIn(attempt *workflowpb.PendingActivityInfo) int64 {
	payloads := s.Payloads
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	var last progress
	if attempt.HeartbeatDetails == nil || payloads.FromPayloads(attempt.HeartbeatDetails, &last) != nil {
		return 0
	}
	return last.MessageID
}
