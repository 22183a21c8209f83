package deliveries

import (
	"context"
	"errors"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/temporalio"
)

// youngHeartbeat is the maximum age of a heartbeat whose worker may still be about to write.
const youngHeartbeat = 15 * time.Second

// deliveryWorkload implements Workload for deliveries.
type deliveryWorkload struct{ *Service }

// Workload returns the deliveries as the operations see them.
func (c *Service) Workload() service.Workload {
	return deliveryWorkload{c}
}

func (deliveryWorkload) Name() string { return lifecycle.WorkloadDelivery }

func (deliveryWorkload) WorkflowType() string { return lifecycle.DeliveryType }

// Prepare does nothing: deliveries need nothing in common.
func (deliveryWorkload) Prepare(context.Context) error { return nil }

func (w deliveryWorkload) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Deliveries.Live(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w deliveryWorkload) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Deliveries.Unstarted(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w deliveryWorkload) LiveOf(ctx context.Context, age time.Duration, entities []string) ([]service.LiveRow, error) {
	jobs, err := w.Store.Deliveries.LiveOf(ctx, age, entities)
	return service.RowsOf(jobs, err, w.row)
}

func (w deliveryWorkload) row(job delivery.LiveJob) liveDelivery {
	return liveDelivery{LiveJob: job, deliveries: w.Service}
}

func (w deliveryWorkload) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return w.Store.Deliveries.Driven(ctx, keys)
}

// Release signals the workflows of a user's live deliveries to end.
func (w deliveryWorkload) Release(ctx context.Context, user account.User) error {
	return service.EachLive(func(before int64, limit int) ([]delivery.Job, error) {
		return w.Store.Deliveries.List(ctx, delivery.Filter{UserID: user.ID, Live: true, Before: before, Limit: limit})
	}, func(job delivery.Job) (int64, error) { return job.ID, w.Stop(ctx, job) })
}

type liveDelivery struct {
	service.Always
	delivery.LiveJob
	deliveries *Service
}

func (d liveDelivery) About() service.Row {
	queued := d.State == lifecycle.DeliveryQueued
	return service.Row{
		ID: d.ID, Entity: strconv.FormatInt(d.ID, 10), WorkflowID: d.WorkflowID(), State: string(d.State),
		NeverStarted: d.WorkflowStartedAt == nil,
		Held:         !queued && d.HeartbeatAge != nil && *d.HeartbeatAge < youngHeartbeat.Seconds(),
		Resumes:      queued, // it only waits in the queue: nothing is lost
		Fleeting:     true,
	}
}

func (d liveDelivery) Refresh(ctx context.Context) error {
	return d.deliveries.Show(ctx, d.WorkflowID(), d.State)
}

func (d liveDelivery) Start(ctx context.Context) error {
	return d.deliveries.Start(ctx, d.ID, d.WorkflowID(), d.UserID)
}

// Restart only starts: a delivery's workflow that runs or has run is never replaced, because it may have sent.
func (d liveDelivery) Restart(ctx context.Context) error { return d.Start(ctx) }

func (d liveDelivery) End(ctx context.Context, loss service.Loss) (restarted bool, err error) {
	end := lifecycle.DeliveryEnd{JobID: d.ID, Action: lifecycle.DeliveryActionFail, Reason: loss.Reason()}
	if loss.Finding == operations.FindingEnded {
		if end, err = d.deliveries.endOfWorkflow(ctx, d.ID, d.WorkflowID()); err != nil {
			return false, err
		}
	}
	_, err = d.deliveries.Finish(ctx, end)
	return false, err
}

// endOfWorkflow reads a job's end from its ended workflow, after the record was restored to an earlier state. A file
// delivered since then is not delivered again. A workflow that was reset meanwhile is open, and has no result
// for a long time.
func (c *Service) endOfWorkflow(ctx context.Context, jobID int64, workflowID string) (lifecycle.DeliveryEnd, error) {
	end := lifecycle.DeliveryEnd{JobID: jobID, Action: lifecycle.DeliveryActionFail, Reason: fault.WorkflowLost}
	ctx, cancel := context.WithTimeout(ctx, resultPatience)
	defer cancel()

	var outcome lifecycle.DeliveryOutcome
	err := c.Temporal.GetWorkflow(ctx, workflowID, "").Get(ctx, &outcome)
	code := temporalio.CodeIn(err)

	switch {
	case err == nil && outcome.State == lifecycle.DeliveryDelivered:
		end.Action, end.Reason = lifecycle.DeliveryActionAcknowledge, ""
	case temporal.IsCanceledError(err):
		end.Action, end.Reason = lifecycle.DeliveryActionCancel, fault.CancelledByUser
	case code == fault.NotClaimedInTime:
		end.Action, end.Reason = lifecycle.DeliveryActionExpire, fault.NotClaimedInTime
	case code != "":
		end.Reason = code
	case err != nil:
		if _, ended := errors.AsType[*temporal.WorkflowExecutionError](err); !ended {
			return end, err // Temporal is unavailable
		}
	}

	return end, nil
}

// resultPatience bounds how long reading an ended workflow's result may take.
const resultPatience = 5 * time.Second

// Restore ends a delivery with an unknown outcome: it may have been sent since the moment to which the record or
// Temporal was restored. If its workflow has ended, the reconciler reads the outcome from that workflow.
func (d liveDelivery) Restore(ctx context.Context) (unknown bool, err error) {
	about, err := d.deliveries.Temporal.DescribeWorkflowExecution(ctx, d.WorkflowID(), "")
	gone := temporalio.IsNotFound(err)
	if err != nil && !gone {
		return false, err
	}
	if !gone && !maySend(about) {
		return false, nil
	}

	_, err = d.deliveries.Finish(ctx, lifecycle.DeliveryEnd{
		JobID: d.ID, Action: lifecycle.DeliveryActionFail, Reason: fault.OutcomeUnknown,
	})
	return true, err
}

// maySend reports whether a worker has ever held a running delivery.
func maySend(about *workflowservice.DescribeWorkflowExecutionResponse) bool {
	for _, attempt := range about.PendingActivities {
		if attempt.Attempt > 1 || attempt.LastStartedTime != nil || attempt.State != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED {
			return true
		}
	}
	return false
}
