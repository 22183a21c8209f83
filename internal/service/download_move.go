package service

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// Move writes a transition and returns the job as the record has it. A repeated or late call changes nothing. A
// download that completes without having begun begins first; one whose book is gone fails instead of completing.
func (c *Downloads) Move(ctx context.Context, move lifecycle.DownloadMove) (download.Download, error) {
	return c.change(ctx, move, "", nil)
}

// Complete is the move of a download whose files have just been put into a folder of the library folder.
func (c *Downloads) Complete(
	ctx context.Context, job download.Download, folder string, files []download.LibraryFile,
) (download.Download, error) {
	move := lifecycle.DownloadMove{JobID: job.ID, Action: lifecycle.DownloadActionComplete, Place: job.SourcePlace}
	return c.change(ctx, move, folder, files)
}

func (c *Downloads) change(
	ctx context.Context, move lifecycle.DownloadMove, folder string, files []download.LibraryFile,
) (download.Download, error) {
	before := lifecycle.DownloadState("")
	job, err := c.Store.Downloads.Change(ctx, move.JobID, func(walk *download.DownloadWalk) error {
		before, walk.Row.Folder, walk.Row.Brought = walk.Row.State, folder, files
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

// moveDownload applies the move that the workflow has decided to a locked job.
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

// RetryImport repeats the failed import of a download's files. INVALID_TRANSITION: it has not failed.
func (c *Downloads) RetryImport(ctx context.Context, user account.User, jobID int64) (download.Download, error) {
	job, err := c.Get(ctx, user, jobID)
	if err != nil {
		return download.Download{}, err
	}

	job, err = c.Store.Downloads.Change(ctx, jobID, func(walk *download.DownloadWalk) error {
		return walk.Take(download.DownloadStep{
			Action: lifecycle.DownloadActionRetryImport, Roles: rolesOf(user, job.UserID), Actor: &user.ID,
		})
	})
	if err != nil {
		return job, err
	}

	// When the workflow cannot be told now, the watcher tells it: the record's new version makes the torrent news.
	again := lifecycle.Observation{JobID: jobID, Place: job.SourcePlace, State: lifecycle.ObservedComplete}
	err = temporalio.SignalRunning(ctx, c.Temporal, job.WorkflowID(), lifecycle.DownloadObservedSignal, again)
	if err != nil {
		c.Log.Warn("the workflow will learn later that an import is to be repeated", "download", jobID, "error", err)
	}
	return job, nil
}
