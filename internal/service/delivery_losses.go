package service

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/converter"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/temporalio"
)

// lossesPage is how many silent jobs are read at a time.
const lossesPage = 1000

// reportLosses records that a worker was lost with a delivery, before another worker takes the job. A heartbeat older
// than its time-out is only a suspicion, so Temporal is asked about that one activity. Temporal alone starts the next
// attempt, by the retry policy; what is recorded here is for people. The record counts the attempt once: this report
// and the next claim exclude each other, because the first one finds the job held and the second one finds it QUEUED or
// under another claim.
func (c *Deliveries) reportLosses(ctx context.Context) error {
	for after := int64(0); ; {
		page, err := c.Store.SilentJobs(ctx, c.Heartbeat, after, lossesPage)
		if err != nil || len(page) == 0 {
			return err
		}

		for _, job := range page {
			temporalio.Progressed(ctx)
			if err := c.reportLoss(ctx, job); err != nil {
				// One bad job never stops the others.
				c.Log.Warn("a silent worker was not checked", "job", job.ID, "error", err)
			}
			after = job.ID
		}
	}
}

func (c *Deliveries) reportLoss(ctx context.Context, job delivery.LiveJob) error {
	description, err := c.Temporal.DescribeWorkflowExecution(ctx, job.WorkflowID(), "")
	if temporalio.IsNotFound(err) {
		return nil // the sweep over the live rows settles it
	}
	if err != nil {
		return err
	}

	attempt := abandonedAttempt(description.PendingActivities)
	if attempt == nil {
		return nil
	}

	written, changed, err := c.Lose(ctx, job, c.Heartbeat, c.receiptIn(attempt), nextOf(attempt))
	if err != nil || !changed {
		return err
	}

	c.Log.Info("a lost worker was reported", "job", job.ID, "state", written.State, "attempt", written.Attempt)

	// its workflow reads the end from the record instead of waiting for a worker
	if lifecycle.Delivery.Terminal(written.State) {
		return c.End(ctx, job.WorkflowID())
	}
	return c.Tell(ctx, job.WorkflowID(), AttemptOf(written))
}

// abandonedAttempt returns the activity of a held job that no worker has according to Temporal: it waits for its next
// attempt, or an operator has paused it. nil: there is none.
func abandonedAttempt(pending []*workflowpb.PendingActivityInfo) *workflowpb.PendingActivityInfo {
	for _, activity := range pending {
		switch activity.State {
		case enumspb.PENDING_ACTIVITY_STATE_SCHEDULED, enumspb.PENDING_ACTIVITY_STATE_PAUSED:
			if activity.ActivityType.GetName() == lifecycle.DeliverActivity {
				return activity
			}
		}
	}
	return nil
}

// nextOf returns when the next attempt begins; nil: as soon as a worker is free.
func nextOf(attempt *workflowpb.PendingActivityInfo) *time.Time {
	if attempt.NextAttemptScheduleTime == nil {
		return nil
	}
	next := attempt.NextAttemptScheduleTime.AsTime()
	return &next
}

// receiptIn returns Telegram's receipt from the last heartbeat; 0: there is none.
func (c *Deliveries) receiptIn(attempt *workflowpb.PendingActivityInfo) int64 {
	payloads := c.Payloads
	if payloads == nil {
		payloads = converter.GetDefaultDataConverter()
	}
	var last lifecycle.DeliveryHeartbeat
	if attempt.HeartbeatDetails == nil || payloads.FromPayloads(attempt.HeartbeatDetails, &last) != nil {
		return 0
	}
	return last.MessageID
}

// AttemptOf returns what the record says about a job's attempts.
func AttemptOf(job delivery.Job) lifecycle.Attempt {
	return lifecycle.Attempt{
		State: job.State, Failed: job.Attempt, Reason: fault.Code(job.LastError), NextAt: job.NextAttemptAt, Busy: job.Busy,
	}
}
