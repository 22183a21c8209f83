package activities

import (
	"context"
	"strconv"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// DownloadKeeper is how the reconciler mends downloads.
type DownloadKeeper interface {
	// Launch starts a job's workflow.
	Launch(ctx context.Context, job store.Download) error
	// Move writes the end of one whose workflow is lost.
	Move(ctx context.Context, move lifecycle.DownloadMove) (store.Download, error)
	// TellCancel tells a job's workflow that it is to end.
	TellCancel(ctx context.Context, job store.Download) error
	// Refresh lets a job's workflow take over what the record has.
	Refresh(ctx context.Context, job store.Download) error
}

// downloads settles every live download whose workflow does not run, and every workflow that runs without a live download. It tells
// those that have missed a wish to end them. The watcher of all of them runs again when somebody has ended it.
func (s *sweeper) downloads(ctx context.Context) error {
	if s.EnsureDownloadSync != nil {
		if err := s.EnsureDownloadSync(ctx); err != nil {
			return err
		}
	}
	v, err := s.view(ctx, lifecycle.WorkloadDownload, "Download")
	if err != nil {
		return err
	}
	err = sweep(ctx, func(after int64) ([]store.Download, error) {
		return s.Records.Store.LiveDownloads(ctx, settled, after, pageLimit)
	}, func(job store.Download) int64 {
		s.sweep.Live[v.workload]++
		if err := s.download(ctx, v, job); err != nil {
			s.Log.Warn("download not reconciled", "download", job.ID, "error", err) // one bad job never stops the others
		}
		return job.ID
	})
	if err != nil {
		return err
	}
	return s.strays(ctx, v)
}

// download settles one live job. A workflow that Temporal has forgotten starts from the record: nothing of the job is lost.
func (s *sweeper) download(ctx context.Context, v *workflowView, job store.Download) error {
	id := job.WorkflowID()
	f := store.Finding{Workload: v.workload, Entity: strconv.FormatInt(job.ID, 10), WorkflowID: id}
	launch := func() (string, error) { return store.DoneStarted, s.Downloads.Launch(ctx, job) }
	listed, runs := v.meet(id)
	switch {
	case job.WorkflowStartedAt == nil: // what runs under its id may be the job before, which is waited for
		progressed(ctx)
		f.Finding = store.FindingNotStarted
		return s.mend(ctx, f, launch)
	case runs && job.CancelRequestedAt != nil && job.CancelToldAt == nil:
		return s.Downloads.TellCancel(ctx, job)
	case runs:
		return s.refresh(ctx, v, f, listed, string(job.State), func() error { return s.Downloads.Refresh(ctx, job) })
	}
	now, err := s.describe(ctx, id)
	if err != nil || now.alive() {
		return err
	}
	f.RunID, f.Finding = now.runID, now.finding()
	if f.Finding == store.FindingMissing || now.long {
		return s.mend(ctx, f, launch)
	}
	reason := fault.WorkflowLost
	if f.Finding == store.FindingTerminated {
		reason = fault.TerminatedByOperator
	}
	return s.mend(ctx, f, func() (string, error) {
		_, err := s.Downloads.Move(ctx, lifecycle.DownloadMove{JobID: job.ID, Action: lifecycle.DownloadActionFail, Reason: reason})
		return store.DoneEnded, err
	})
}
