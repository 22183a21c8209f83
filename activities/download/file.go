package download

import (
	"bytes"
	"context"
	"errors"

	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

// LoadDownload reads a job from the record, and reports whether its .torrent file must be fetched.
func (d *Activities) LoadDownload(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	job, err := d.Store.ByID(ctx, jobID)
	record, err := answer(ctx, job, err)
	source, wrong := torrent.ParseSource(job.SourceURL)
	record.NeedsFile = wrong == nil && !source.Magnet
	return record, err
}

// FetchTorrent writes a job's .torrent file to the record, where AddTorrent finds it on any worker. Temporal counts the
// attempts, including those whose worker was lost because of a file. An outage of the record and a stopping worker do
// not count. What no later attempt can fix is enqueue_failed.
func (d *Activities) FetchTorrent(ctx context.Context, jobID int64) (record lifecycle.DownloadRecord, err error) {
	defer temporalio.SendHeartbeats(ctx)()
	ctx, stop := temporalio.WithHandOver(ctx, d.Settings.HandOverAfter)
	defer stop()

	var job download.Download
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		job, err = d.Store.ByID(ctx, jobID)
		return err
	})
	if err != nil {
		return record, temporalio.TryError(ctx, err)
	}
	if lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil {
		return recordOf(job), nil
	}

	if _, _, _, err := d.file(ctx, job); err != nil {
		return record, d.notFetched(ctx, job, err)
	}
	return recordOf(job), nil
}

// file returns a job's .torrent file, fetched once, and the size in bytes that it describes; or the magnet link to
// which its address leads.
func (d *Activities) file(
	ctx context.Context, job download.Download,
) (file []byte, identity torrent.Identity, size int64, err error) {
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		file, err = d.Store.File(ctx, job.ID)
		return err
	})
	if err != nil {
		return nil, identity, 0, err
	}
	if file != nil {
		identity, size, err = identify(file)
		return file, identity, size, err
	}

	file, err = d.Fetcher.Fetch(ctx, job.SourceURL)
	if magnet, leads := errors.AsType[fetch.ToMagnet](err); leads {
		file, err = []byte(magnet.Link), nil
	}
	if err != nil {
		return nil, identity, 0, err
	}
	if isMagnet(file) {
		file = []byte(torrent.Tidy(string(file)))
	}
	if identity, size, err = identify(file); err != nil {
		return nil, identity, 0, err
	}

	return file, identity, size, core.RetryWhileUnavailable(ctx, func() error {
		return d.Store.SaveFile(ctx, job.ID, job.SourcePlace, file, identity.V1, identity.V2)
	})
}

// identify reads a .torrent file, or a magnet link, whose size is unknown.
func identify(file []byte) (torrent.Identity, int64, error) {
	if !isMagnet(file) {
		return torrent.Identify(file)
	}
	source, err := torrent.ParseSource(string(file))
	if err != nil {
		return torrent.Identity{}, 0, fault.New(fault.SourceNotTorrent, "the address leads to a magnet link that names no torrent")
	}
	return source.Identity, 0, nil
}

// isMagnet reports whether a file is a magnet link instead: a .torrent file begins with a d.
func isMagnet(file []byte) bool { return bytes.HasPrefix(file, []byte("magnet:")) }

// notFetched records why a job has no file, and returns an error that determines whether Temporal retries.
func (d *Activities) notFetched(ctx context.Context, job download.Download, err error) error {
	if ctx.Err() != nil || temporalio.IsInterruption(err) {
		return temporalio.TryError(ctx, err)
	}

	problem := temporalio.FaultOf(err)
	d.Log.Warn("torrent file not fetched", "download", job.ID, "code", problem.Code, "cause", problem.Cause)
	noteErr := core.RetryWhileUnavailable(ctx, func() error {
		return d.Store.NoteTrouble(ctx, job.ID, problem.Code)
	})

	switch {
	case noteErr != nil:
		return temporalio.TryError(ctx, temporalio.FaultOf(noteErr).Retry())
	case problem.Retryable || problem.Code == fault.Internal:
		return temporalio.ActivityError(ctx, problem.Retry())
	default:
		return temporalio.ToTemporal(fault.New(fault.EnqueueFailed, "the download was not started: %s", problem.Code))
	}
}
