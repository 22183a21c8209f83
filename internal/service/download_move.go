package service

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// Move writes a transition and returns the job as the record has it. A repeated or late call changes nothing. A
// download that completes without having begun begins first; one whose book is gone fails instead of completing.
func (c *Downloads) Move(ctx context.Context, move lifecycle.DownloadMove) (download.Download, error) {
	before := lifecycle.DownloadState("")
	job, err := c.Store.Downloads.Change(ctx, move.JobID, func(walk *download.DownloadWalk) error {
		before = walk.Row.State
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
