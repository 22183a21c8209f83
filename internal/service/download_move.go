package service

import (
	"context"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// Move writes a transition. A repeated or late call changes nothing: the answer is the job as the record has it. What completes
// without having begun begins first; what completes for a book that is gone fails.
func (c *Downloads) Move(ctx context.Context, move lifecycle.DownloadMove) (store.Download, error) {
	before := lifecycle.DownloadState("")
	job, err := c.Store.ChangeDownload(ctx, move.JobID, func(job *store.Download) ([]store.Event, error) {
		before = job.State
		return downloadSteps(job, move)
	})
	if fault.CodeOf(err) == fault.BookNotFound {
		return c.Move(ctx, lifecycle.DownloadMove{JobID: move.JobID, Action: lifecycle.DownloadActionFail, Reason: fault.BookGone})
	}
	if err != nil {
		return store.Download{}, err
	}

	if lifecycle.Download.Terminal(job.State) && job.State != before && c.OnEnded != nil {
		c.OnEnded(job.State)
	}
	return job, nil
}

// downloadSteps walks a locked job through the rules and gives the events that this makes.
func downloadSteps(job *store.Download, move lifecycle.DownloadMove) (events []store.Event, err error) {
	switch {
	case lifecycle.Download.Terminal(job.State),
		move.Action == lifecycle.DownloadActionBegin && job.State == lifecycle.DownloadDownloading,
		move.Action == lifecycle.DownloadActionComplete && job.RemovingAt != nil:
		return nil, nil
	}
	actions := []lifecycle.DownloadAction{move.Action}
	if move.Action == lifecycle.DownloadActionComplete && job.State == lifecycle.DownloadQueued {
		actions = []lifecycle.DownloadAction{lifecycle.DownloadActionBegin, move.Action}
	}
	for _, action := range actions {
		rule, err := lifecycle.Download.Decide(job.State, lifecycle.Request[lifecycle.DownloadState, lifecycle.DownloadAction]{
			Action: action, Roles: []lifecycle.Role{lifecycle.System},
		}, job.Facts())
		if err != nil {
			return nil, err
		}
		event := store.Event{Type: rule.Event, From: string(job.State), To: string(rule.To), Comment: string(move.Reason)}
		if rule.To == lifecycle.DownloadCanceled {
			event.ActorID = job.CancelRequestedBy
		}
		events = append(events, event)
		job.State = rule.To
	}
	if lifecycle.Download.Terminal(job.State) {
		job.Speed, job.ETA, job.Attention = 0, nil, ""
	}
	switch job.State {
	case lifecycle.DownloadCompleted:
		job.CompletedAt, job.Progress, job.FirstNotFoundAt, job.LastError = &job.Now, 1, nil, ""
	case lifecycle.DownloadFailed:
		reason := string(move.Reason)
		job.FailureReason = &reason
	case lifecycle.DownloadQueued, lifecycle.DownloadDownloading, lifecycle.DownloadCanceled:
	}
	return events, nil
}
