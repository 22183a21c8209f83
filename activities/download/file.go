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

// LoadDownload reads a job from the record, and says whether its .torrent file has to be fetched.
func (d *Activities) LoadDownload(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	job, err := d.Store.ByID(ctx, jobID)
	record, err := answer(ctx, job, err)
	source, wrong := torrent.ParseSource(job.SourceURL)
	record.NeedsFile = wrong == nil && !source.Magnet
	return record, err
}

// FetchTorrent writes the .torrent file of a job into the record, where AddTorrent finds it on any worker. Temporal
// counts the attempts, including those of workers that were lost because of a file. What no later attempt repairs is
// enqueue_failed.
func (d *Activities) FetchTorrent(ctx context.Context, jobID int64) (record lifecycle.DownloadRecord, err error) {
	defer temporalio.SendHeartbeats(ctx)()
	var job download.Download
	err = core.RetryWhileUnavailable(ctx, func() (err error) { // an outage of the record costs no attempt
		job, err = d.Store.ByID(ctx, jobID)
		return err
	})
	if err != nil || lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil {
		return answer(ctx, job, err)
	}
	if _, _, err := d.file(ctx, job); err != nil {
		return lifecycle.DownloadRecord{}, d.notFetched(ctx, job, err)
	}

	return recordOf(job), nil
}

// file returns a job's .torrent file, which is fetched once, or the magnet link that its address leads to.
func (d *Activities) file(ctx context.Context, job download.Download) (file []byte, identity torrent.Identity, err error) {
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		file, err = d.Store.File(ctx, job.ID)
		return err
	})
	if err != nil {
		return nil, identity, err
	}
	if file != nil {
		identity, err = identify(file)
		return file, identity, err
	}

	file, err = d.Fetcher.Fetch(ctx, job.SourceURL)
	if magnet, leads := errors.AsType[fetch.ToMagnet](err); leads {
		file, err = []byte(magnet.Link), nil
	}
	if err != nil {
		return nil, identity, err
	}
	if identity, err = identify(file); err != nil {
		return nil, identity, err
	}

	return file, identity, core.RetryWhileUnavailable(ctx, func() error {
		return d.Store.SaveFile(ctx, job.ID, job.SourcePlace, file, identity.V1, identity.V2)
	})
}

// identify reads a .torrent file or a magnet link.
func identify(file []byte) (torrent.Identity, error) {
	if !isMagnet(file) {
		return torrent.Identify(file)
	}
	source, err := torrent.ParseSource(string(file))
	if err != nil {
		return torrent.Identity{}, fault.New(fault.SourceNotTorrent, "the address leads to a magnet link that names no torrent")
	}
	return source.Identity, nil
}

// isMagnet says whether a file is a magnet link instead: a .torrent file begins with a d.
func isMagnet(file []byte) bool { return bytes.HasPrefix(file, []byte("magnet:")) }

// notFetched records why a job has no file, and returns an error that says whether Temporal tries again.
func (d *Activities) notFetched(ctx context.Context, job download.Download, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}

	problem := temporalio.FaultOf(err)
	d.Log.Warn("torrent file not fetched", "download", job.ID, "code", problem.Code, "cause", problem.Cause)
	noteErr := core.RetryWhileUnavailable(ctx, func() error {
		return d.Store.NoteTrouble(ctx, job.ID, problem.Code)
	})

	switch {
	case noteErr != nil:
		return temporalio.ActivityError(ctx, temporalio.FaultOf(noteErr).Retry())
	case problem.Retryable || problem.Code == fault.Internal:
		return temporalio.ActivityError(ctx, problem.Retry())
	default:
		return temporalio.ToTemporal(fault.New(fault.EnqueueFailed, "the download was not begun: %s", problem.Code))
	}
}
