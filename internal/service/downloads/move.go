package downloads

import (
	"cmp"
	"context"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// Move records a transition and returns the job as recorded. Idempotent: repeated and late calls change nothing. A
// download that completes before it began begins first; one whose book is gone fails instead of completing.
func (c *Service) Move(ctx context.Context, move lifecycle.DownloadMove) (download.Download, error) {
	return c.change(ctx, move, func(*download.Download) {})
}

// Complete is the move of a download whose files were just imported into a folder of the library, except the job's
// LeftOut.
func (c *Service) Complete(
	ctx context.Context, job download.Download, folder string, files []download.LibraryFile,
) (download.Download, error) {
	move := lifecycle.DownloadMove{JobID: job.ID, Action: lifecycle.DownloadActionComplete, Place: job.SourcePlace}
	return c.change(ctx, move, func(row *download.Download) {
		row.Folder, row.Brought, row.LeftOut = folder, files, job.LeftOut
	})
}

func (c *Service) change(
	ctx context.Context, move lifecycle.DownloadMove, bring func(*download.Download),
) (download.Download, error) {
	before := lifecycle.DownloadState("")
	job, err := c.Store.Downloads.Change(ctx, move.JobID, func(walk *download.DownloadWalk) error {
		before = walk.Row.State
		bring(walk.Row)
		return moveDownload(walk, move)
	})
	if fault.CodeOf(err) == fault.BookNotFound {
		return c.Move(
			ctx, lifecycle.DownloadMove{JobID: move.JobID, Action: lifecycle.DownloadActionFail, Reason: fault.BookGone},
		)
	}

	if err != nil {
		return download.Download{}, err
	}

	if lifecycle.Download.Terminal(job.State) && job.State != before && c.OnEnded != nil {
		c.OnEnded(job.State)
	}
	return job, nil
}

// moveDownload applies the workflow's transition to a locked job.
func moveDownload(walk *download.DownloadWalk, move lifecycle.DownloadMove) error {
	job := walk.Row
	switch {
	case walk.Terminal(),
		move.Action == lifecycle.DownloadActionBegin && job.State == lifecycle.DownloadDownloading,
		move.Action == lifecycle.DownloadActionComplete && (job.RemovingAt != nil || job.SourcePlace != max(move.Place, 1)):
		return nil
	case move.Action == lifecycle.DownloadActionComplete && job.State == lifecycle.DownloadQueued:
		if err := walk.Take(download.DownloadStep{Action: lifecycle.DownloadActionBegin, Comment: string(move.Reason)}); err != nil {
			return err
		}
	}

	step := download.DownloadStep{Action: move.Action, Comment: string(move.Reason)}
	if move.Action == lifecycle.DownloadActionCancel {
		step.Actor = job.CancelRequestedBy
	}

	return walk.Take(step)
}

// Cancel ends an active job: its torrent is removed, with the downloaded files unless keepFiles, or left to other jobs
// that share it. It returns the job once the removal is confirmed. PROVIDER_UNAVAILABLE: the request is accepted and
// retried until the removal is confirmed; either removal is impossible now (the details name the reason's code) or it
// takes longer than CancelPatience. INVALID_TRANSITION: the job has ended, or ended otherwise meanwhile.
func (c *Service) Cancel(
	ctx context.Context, user account.User, jobID int64, keepFiles bool, key string,
) (download.Download, error) {
	in := lifecycle.DownloadInput{Actor: user.ID, JobID: jobID, KeepFiles: keepFiles}
	job, late, err := c.act(ctx, user, lifecycle.DownloadActionCancel, in, key)
	switch {
	case err != nil:
		return job, err
	case job.State == lifecycle.DownloadCanceled:
		return job, nil
	case lifecycle.Download.Terminal(job.State):
		wanted := lifecycle.DownloadRequest{Action: lifecycle.DownloadActionCancel, Roles: service.RolesOf(user, job.UserID)}
		_, err := lifecycle.Download.Decide(job.State, wanted, job.Facts())
		return job, err
	case late:
		return job, fault.New(fault.ProviderUnavailable, "the cancellation is requested, but the torrent is not removed yet: try again").Retry()
	default:
		return job, fault.New(
			fault.ProviderUnavailable, "the torrent cannot be removed now: this is tried again until it is confirmed",
		).Retry().With("reason", job.CancelError)
	}
}

// RetryImport retries a failed import of a download's files, and returns the job as it was before the retry.
// INVALID_TRANSITION: the import has not failed.
func (c *Service) RetryImport(ctx context.Context, user account.User, jobID int64, key string) (download.Download, error) {
	in := lifecycle.DownloadInput{Actor: user.ID, JobID: jobID}
	job, late, err := c.act(ctx, user, lifecycle.DownloadActionRetryImport, in, key)
	if late {
		err = temporalio.Unreachable(err)
	}
	return job, err
}

// act sends an update to a job's workflow and returns the job from its answer, or, if that is late, the job as last
// read. If the workflow has ended, the record decides.
func (c *Service) act(
	ctx context.Context, user account.User, action lifecycle.DownloadAction, in lifecycle.DownloadInput, key string,
) (job download.Download, late bool, err error) {
	if job, err = c.Get(ctx, user, in.JobID); err != nil {
		return job, false, err
	}

	asked := lifecycle.DownloadAsked{Action: action, In: in, RequestID: core.Request{UserID: user.ID, Key: key}.ID()}
	if lifecycle.Download.Terminal(job.State) {
		job, err = c.Request(ctx, asked)
		return job, false, err
	}
	if err := c.launchUnstarted(ctx, job); err != nil {
		return job, false, err
	}

	record, late, err := service.Update[lifecycle.DownloadRecord](ctx, c.Temporal, c.CancelPatience, client.UpdateWorkflowOptions{
		WorkflowID: job.WorkflowID(), UpdateID: asked.RequestID, UpdateName: string(action), Args: []any{in},
	})
	switch refusal := temporalio.RefusalIn(err); {
	case err == nil:
		return answered(job, record), false, nil
	case refusal != nil:
		return job, false, refusal
	case temporalio.IsNotFound(err):
		return c.requestWithoutWorkflow(ctx, asked)
	case late:
		job.CancelRequestedAt = cmp.Or(job.CancelRequestedAt, &job.Now)
		return job, true, nil
	default:
		return job, false, temporalio.Unreachable(err)
	}
}

// answered is a job as its workflow reported it in answer to an update.
func answered(job download.Download, now lifecycle.DownloadRecord) download.Download {
	job.State, job.UpdatedAt, job.CancelError = now.Status, now.ChangedAt, string(now.CancelError)
	if now.CancelRequested {
		job.CancelRequestedAt = cmp.Or(job.CancelRequestedAt, &job.UpdatedAt)
	}
	if reason := string(now.Reason); reason != "" {
		job.FailureReason = &reason
	}
	if now.Attention != fault.ImportFailed && job.Attention == string(fault.ImportFailed) {
		job.Attention, job.LastError = "", ""
	}
	if lifecycle.Download.Terminal(now.Status) {
		job.Speed, job.ETA, job.Attention = 0, nil, ""
	}
	return job
}

// requestWithoutWorkflow lets the record decide. An active job without a workflow means that someone ended the workflow
// by hand: its successor reads the request from the record.
func (c *Service) requestWithoutWorkflow(
	ctx context.Context, asked lifecycle.DownloadAsked,
) (job download.Download, late bool, err error) {
	job, err = c.Request(ctx, asked)
	late = err == nil && asked.Action == lifecycle.DownloadActionCancel && !lifecycle.Download.Terminal(job.State)
	return job, late, err
}

// Request decides a user's request once; the job's workflow then carries it out.
func (c *Service) Request(ctx context.Context, r lifecycle.DownloadAsked) (download.Download, error) {
	admin := false
	asked := core.Asked{
		ID: r.RequestID, Content: string(r.Action), More: core.ReadAdmin(r.In.Actor, &admin),
	}
	if r.In.KeepFiles {
		asked.Content += " keep"
	}
	return c.Store.Downloads.ChangeFor(ctx, r.In.JobID, asked, func(walk *download.DownloadWalk) error {
		job, roles := walk.Row, service.RolesOfActor(r.In.Actor, admin, walk.Row.UserID)
		if _, err := lifecycle.Download.Decide(job.State, lifecycle.DownloadRequest{Action: r.Action, Roles: roles}, job.Facts()); err != nil {
			return err
		}

		var actor *int64
		if r.In.Actor != 0 {
			actor = &r.In.Actor
		}
		if r.Action == lifecycle.DownloadActionRetryImport {
			return walk.Take(download.DownloadStep{Action: r.Action, Roles: roles, Actor: actor})
		}
		if job.CancelRequestedAt == nil {
			job.CancelRequestedAt, job.CancelRequestedBy = &job.Now, actor
		}
		job.KeepFiles, walk.Edited = job.KeepFiles || r.In.KeepFiles, true
		return nil
	})
}

// TellCancel signals a job's workflow to end, unless it is removing the torrent already: each signal adds an event to
// the history. A workflow that was never started is started first.
func (c *Service) TellCancel(ctx context.Context, job download.Download) error {
	if job.RemovingAt != nil {
		return nil
	}

	if err := c.launchUnstarted(ctx, job); err != nil {
		return err
	}

	err := c.Temporal.SignalWorkflow(ctx, job.WorkflowID(), "", lifecycle.CancelSignal, job.ID)
	// not found: it is ending now, or the reconciler repairs it
	if err != nil && !temporalio.IsNotFound(err) {
		return temporalio.Unreachable(err)
	}
	return nil
}

func (c *Service) launchUnstarted(ctx context.Context, job download.Download) error {
	if job.WorkflowStartedAt != nil {
		return nil
	}
	return c.Launch(ctx, job)
}
