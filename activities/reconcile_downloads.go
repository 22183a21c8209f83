package activities

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// DownloadKeeper is how the reconciler mends downloads.
type DownloadKeeper interface {
	// Launch starts a job's workflow.
	Launch(ctx context.Context, job store.Download) error
	// TellCancel tells a job's workflow that it is to end.
	TellCancel(ctx context.Context, job store.Download) error
}

// downloads settles every live download whose workflow does not run, and tells those that have missed a wish to end them. The
// watcher of all of them runs again when somebody has ended it.
func (r *Reconciler) downloads(ctx context.Context) error {
	if r.EnsureDownloadSync != nil {
		if err := r.EnsureDownloadSync(ctx); err != nil {
			return err
		}
	}
	running, err := r.running(ctx, "Download")
	if err != nil {
		return err
	}
	return sweep(ctx, func(after int64) ([]store.Download, error) {
		return r.Records.Store.LiveDownloads(ctx, settled, after, pageLimit)
	}, func(job store.Download) int64 {
		var err error
		switch {
		case job.WorkflowStartedAt == nil: // what runs under its id may be the job before, which is waited for
			activity.RecordHeartbeat(ctx)
			err = r.Downloads.Launch(ctx, job)
		case !running[job.WorkflowID()]:
			err = r.download(ctx, job)
		case job.CancelRequestedAt != nil && job.CancelToldAt == nil:
			err = r.Downloads.TellCancel(ctx, job)
		}
		if err != nil {
			r.Log.Warn("download not reconciled", "download", job.ID, "error", err) // one bad job never stops the others
		}
		return job.ID
	})
}

// download settles one live job that the list of running workflows lacks; the list lags, so its workflow is asked. A workflow
// that Temporal has forgotten starts from the record: nothing of the job is lost.
func (r *Reconciler) download(ctx context.Context, job store.Download) error {
	status, err := r.status(ctx, job.WorkflowID())
	if err != nil {
		return err
	}
	reason := fault.WorkflowLost
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return nil
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED:
		return r.Downloads.Launch(ctx, job)
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		reason = fault.TerminatedByOperator
	default: // it has ended, and has not written how
	}
	record, err := r.DownloadRecords.MoveDownload(ctx, DownloadMove{JobID: job.ID, Action: store.DownloadActionFail, Reason: reason})
	if err == nil {
		r.Log.Info("download reconciled", "download", job.ID, "status", record.Status, "reason", record.Reason)
	}
	return err
}
