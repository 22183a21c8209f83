package downloads

import (
	"context"
	"errors"
	"strconv"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// downloadWorkload implements Workload for downloads.
type downloadWorkload struct{ *Service }

// Workload returns the downloads as the operations see them.
func (c *Service) Workload() service.Workload {
	return downloadWorkload{c}
}

func (downloadWorkload) Name() string { return lifecycle.WorkloadDownload }

func (downloadWorkload) WorkflowType() string { return lifecycle.DownloadType }

// Prepare makes sure that the watcher of all downloads is running, and sends files that workflows left unsent, for
// example one terminated after its job completed.
func (w downloadWorkload) Prepare(ctx context.Context) error {
	unsent, err := w.Store.Downloads.Unsent(ctx, unsentAfter, mostUnsent)
	for _, id := range unsent {
		if err := temporalio.LoopStep(ctx, func(ctx context.Context) error { return w.SendWished(ctx, id) }); err != nil {
			w.Log.Warn("unsent files of a download not sent", "download", id, "error", err)
			continue
		}
		w.Log.Info("sent the unsent files of a download", "download", id)
	}
	return errors.Join(err, w.StartSync(ctx))
}

const (
	unsentAfter = time.Minute // workflows send at once
	mostUnsent  = 20          // per sweep
)

func (w downloadWorkload) Live(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Downloads.Live(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w downloadWorkload) Unstarted(ctx context.Context, age time.Duration, after int64, limit int) ([]service.LiveRow, error) {
	page, err := w.Store.Downloads.Unstarted(ctx, age, after, limit)
	return service.RowsOf(page, err, w.row)
}

func (w downloadWorkload) LiveOf(ctx context.Context, age time.Duration, entities []string) ([]service.LiveRow, error) {
	jobs, err := w.Store.Downloads.LiveOf(ctx, age, entities)
	return service.RowsOf(jobs, err, w.row)
}

func (w downloadWorkload) row(job download.Download) liveDownload {
	return liveDownload{job: job, downloads: w.Service}
}

func (w downloadWorkload) Driven(ctx context.Context, keys []string) (core.DrivenRows, error) {
	return w.Store.Downloads.Driven(ctx, keys)
}

// Release signals the workflows of a user's active downloads to end: the record has the request already.
func (w downloadWorkload) Release(ctx context.Context, user account.User) error {
	return service.EachLive(func(before int64, limit int) ([]download.Download, error) {
		return w.Store.Downloads.List(ctx, download.Filter{UserID: user.ID, Active: true, Before: before, Limit: limit})
	}, func(job download.Download) (int64, error) { return job.ID, w.TellCancel(ctx, job) })
}

type liveDownload struct {
	service.Always
	job       download.Download
	downloads *Service
}

func (d liveDownload) About() service.Row {
	return service.Row{
		ID: d.job.ID, Entity: strconv.FormatInt(d.job.ID, 10), WorkflowID: d.job.WorkflowID(), State: string(d.job.State),
		NeverStarted: d.job.WorkflowStartedAt == nil, Resumes: true, Replaceable: true,
	}
}

func (d liveDownload) Refresh(ctx context.Context) error { return d.downloads.Refresh(ctx, d.job) }

// Start waits a limited time for the previous job's workflow, which has the same id.
func (d liveDownload) Start(ctx context.Context) error { return d.downloads.Launch(ctx, d.job) }

func (d liveDownload) Restart(ctx context.Context) error { return d.downloads.Restart(ctx, d.job) }

func (d liveDownload) End(ctx context.Context, loss service.Loss) (restarted bool, err error) {
	_, err = d.downloads.Move(ctx, lifecycle.DownloadMove{
		JobID: d.job.ID, Action: lifecycle.DownloadActionFail, Reason: loss.Reason(),
	})
	return false, err
}

func (d liveDownload) Restore(ctx context.Context) (unknown bool, err error) {
	return false, d.Restart(ctx)
}

// StartSync makes sure that the watcher of all downloads is running, unless downloads are off.
func (c *Service) StartSync(ctx context.Context) error {
	if c.Off {
		return nil
	}
	return temporalio.StartSingleton(
		ctx, c.Temporal, lifecycle.DownloadSyncType, lifecycle.DownloadSyncID, lifecycle.DownloadSyncTitle,
	)
}
