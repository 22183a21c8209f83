package activities

import (
	"context"
	"errors"
	"log/slog"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// Reconciler keeps the record and Temporal agreeing when an operator terminates or resets a workflow, or when a start
// was lost.
type Reconciler struct {
	Temporal client.Client
	Records  *Records
	Log      *slog.Logger
	// StartDelivery starts a job's workflow.
	StartDelivery func(ctx context.Context, jobID int64, workflowID string, ownerID int64) error
	Tasks         TaskKeeper
	// Downloads starts workflows and tells them; DownloadRecords writes the end of those that are lost.
	Downloads       DownloadKeeper
	DownloadRecords *Downloads
	// EnsureDownloadSync makes sure that the watcher runs; nil: downloads are off.
	EnsureDownloadSync func(ctx context.Context) error
	Every              time.Duration // between two looks
}

const (
	settled   = 5 * time.Second  // a younger job may still be on its way to Temporal
	silent    = 15 * time.Second // a worker whose heartbeat is younger may still be about to write
	pageLimit = 1000
)

// Reconcile looks again and again for rows whose workflow is gone, until the activity's time is nearly over; the
// workflow then starts it anew. One request lists all running workflows, whatever their number.
func (r *Reconciler) Reconcile(ctx context.Context) error {
	deadline := activity.GetInfo(ctx).Deadline.Add(-2 * r.Every)
	ticker := time.NewTicker(r.Every)
	defer ticker.Stop()
	for time.Now().Before(deadline) {
		activity.RecordHeartbeat(ctx)
		if err := errors.Join(r.deliveries(ctx), r.tasks(ctx), r.downloads(ctx)); err != nil && ctx.Err() == nil {
			r.Log.Warn("reconciler could not look", "error", err) // an outage: the next look sees all
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-activity.GetWorkerStopChannel(ctx): // the next worker goes on at once
			return nil
		case <-ticker.C:
		}
	}
	return nil
}

// deliveries settles every live job whose workflow does not run.
func (r *Reconciler) deliveries(ctx context.Context) error {
	running, err := r.running(ctx, "Delivery")
	if err != nil {
		return err
	}
	return sweep(ctx, func(after int64) ([]store.LiveJob, error) {
		return r.Records.Store.LiveJobs(ctx, settled, after, pageLimit)
	}, func(job store.LiveJob) int64 {
		if !running[job.WorkflowID()] {
			if err := r.delivery(ctx, job); err != nil {
				r.Log.Warn("job not reconciled", "job", job.ID, "error", err) // one bad job never stops the others
			}
		}
		return job.ID
	})
}

// sweep settles all live entities, a page at a time; settle gives the entity's id, after which the next page begins.
func sweep[E any](ctx context.Context, page func(after int64) ([]E, error), settle func(E) int64) error {
	for after := int64(0); ; {
		live, err := page(after)
		if err != nil || len(live) == 0 {
			return err
		}
		for _, entity := range live {
			after = settle(entity)
		}
		activity.RecordHeartbeat(ctx)
	}
}

// delivery settles one live job that the list of running workflows lacks; the list lags, so its workflow is asked.
func (r *Reconciler) delivery(ctx context.Context, job store.LiveJob) error {
	id := job.WorkflowID()
	if job.WorkflowStartedAt == nil {
		return r.StartDelivery(ctx, job.ID, id, job.UserID)
	}
	status, err := r.status(ctx, id)
	if err != nil || status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return err
	}
	if job.HeartbeatAge != nil && *job.HeartbeatAge < silent.Seconds() && job.State != store.JobQueued {
		return nil
	}
	reason := fault.WorkflowLost
	if status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
		reason = fault.TerminatedByOperator
	}
	outcome, err := r.Records.FinishJob(ctx, JobEnd{JobID: job.ID, Action: store.JobActionFail, Reason: reason})
	if err == nil {
		r.Log.Info("job reconciled", "job", job.ID, "state", outcome.State, "reason", outcome.Reason)
	}
	return err
}

// running lists the ids of all running workflows of a type.
func (r *Reconciler) running(ctx context.Context, workflowType string) (map[string]bool, error) {
	ids := map[string]bool{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Query: `WorkflowType = "` + workflowType + `" AND ExecutionStatus = "Running"`, PageSize: pageLimit,
	}
	for {
		page, err := r.Temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, err
		}
		for _, execution := range page.Executions {
			ids[execution.Execution.WorkflowId] = true
		}
		if len(page.NextPageToken) == 0 {
			return ids, nil
		}
		request.NextPageToken = page.NextPageToken
	}
}

// status asks how a workflow's newest run is; UNSPECIFIED when Temporal does not know it.
func (r *Reconciler) status(ctx context.Context, id string) (enumspb.WorkflowExecutionStatus, error) {
	description, err := r.Temporal.DescribeWorkflowExecution(ctx, id, "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, nil
	}
	if err != nil {
		return 0, err
	}
	return description.WorkflowExecutionInfo.Status, nil
}
