package download

import (
	"context"
	"errors"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

// spacePause is the interval between two queries of the free space.
const spacePause = time.Minute

// AddTorrent adds a job's torrent to qBittorrent, or re-adds it. Does nothing for a job that has ended or whose cancel
// is requested; the result says so. The type of its error is the fault code, which is also recorded for people. An
// outage of the record and a stopping worker cost no attempt.
func (d *Activities) AddTorrent(ctx context.Context, jobID int64) (record lifecycle.DownloadRecord, err error) {
	defer temporalio.SendHeartbeats(ctx)()
	ctx, stop := temporalio.WithHandOver(ctx, d.Settings.HandOverAfter)
	defer stop()

	var job download.Download
	err = core.RetryWhileUnavailable(ctx, func() (err error) {
		job, err = d.addJob(ctx, jobID)
		return err
	})
	if err != nil {
		return record, d.notAdded(ctx, jobID, err)
	}
	return recordOf(job), nil
}

func (d *Activities) addJob(ctx context.Context, id int64) (download.Download, error) {
	job, err := d.Store.ByID(ctx, id)
	if err != nil || lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil {
		return job, err
	}

	err = d.handOver(ctx, job)
	if err == nil && !d.welcome.Load() {
		if err = d.Alerts.ResolveAlert(ctx, notice.AlertDownloadsLogin); err == nil {
			d.welcome.Store(true)
		}
	}

	if err == nil {
		err = d.Store.MarkAdded(ctx, id, job.SourcePlace)
	}
	if err != nil {
		return job, err
	}
	return d.Store.ByID(ctx, id)
}

func (d *Activities) handOver(ctx context.Context, job download.Download) error {
	if job.BookTitle == "" {
		return fault.New(fault.BookGone, "the book is gone")
	}

	wanted, identity, size, err := d.torrent(ctx, job)
	if err != nil {
		return err
	}

	if err := d.takeOutPrivate(ctx, job, &wanted); err != nil {
		return err
	}

	if job.AddedAt == nil { // a re-added torrent passed this check before, and has only its grace
		if err := d.checkSpace(ctx, size); err != nil {
			return err
		}
	}

	if wanted.SavePath, err = d.place(ctx, job); err != nil {
		return err
	}

	err = d.Torrents.Add(ctx, wanted)
	if fault.CodeOf(err) != fault.ProviderRejected {
		return err
	}

	there, lookErr := d.Torrents.FindContent(ctx, identity.V1, identity.V2)
	switch {
	case lookErr != nil:
		return lookErr
	case there == nil: // qBittorrent rejects it as a torrent, or is still starting
		return fault.New(fault.ProviderRejected, "qBittorrent rejected the torrent").Retry()
	case !d.Torrents.Ours(*there):
		if err := d.Store.NoteElsewhere(ctx, job.ID, clean(there.Category, "")); err != nil {
			return err
		}
		return fault.New(fault.TorrentElsewhere, "qBittorrent has the torrent in a category of another program")
	default:
		return d.Torrents.Adopt(ctx, *there, job.Tag())
	}
}

// torrent returns what to add: a magnet link as it is, or the file behind an address, fetched by FetchTorrent, and the
// size in bytes that it describes; 0: unknown.
func (d *Activities) torrent(
	ctx context.Context, job download.Download,
) (wanted qbittorrent.NewTorrent, identity torrent.Identity, size int64, err error) {
	wanted.Tag = job.Tag()
	source, err := torrent.ParseSource(job.SourceURL)
	if err != nil {
		return wanted, identity, 0, err
	}
	if source.Magnet {
		wanted.Magnet = job.SourceURL
		return wanted, source.Identity, 0, nil
	}

	file, identity, size, err := d.file(ctx, job)
	if isMagnet(file) {
		wanted.Magnet = string(file)
	} else {
		wanted.File = file
	}
	return wanted, identity, size, err
}

// checkSpace makes a job wait while a torrent of this size does not fit on the disk.
func (d *Activities) checkSpace(ctx context.Context, size int64) error {
	var active []qbittorrent.Torrent
	if size > 0 { // otherwise what others will use does not count before the size is known
		var err error
		if active, err = d.Torrents.List(ctx); err != nil {
			return err
		}
	}
	left, err := d.Space.left(ctx, d.Torrents, active)
	if err != nil || left.fits(size, size) {
		return err
	}
	return fault.New(fault.NoFreeSpace, "%d bytes are free, %d are needed", min(left.downloads, left.library), size).After(spacePause)
}

// AwaitSpace fails with NO_FREE_SPACE while a live job has to wait for disk space. Any other problem is left to
// AddTorrent.
func (d *Activities) AwaitSpace(ctx context.Context, jobID int64) error {
	defer temporalio.SendHeartbeats(ctx)()
	job, err := d.Store.ByID(ctx, jobID)
	if err != nil || lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil {
		return nil
	}

	_, _, size, err := d.torrent(ctx, job)
	if err == nil {
		err = d.checkSpace(ctx, size)
	}
	if fault.CodeOf(err) != fault.NoFreeSpace {
		return nil
	}

	d.alert(ctx, fault.NoFreeSpace)
	return temporalio.ActivityError(ctx, temporalio.FaultOf(err))
}

// place decides once where a job's files go: a folder of its own, because torrents may share a name.
func (d *Activities) place(ctx context.Context, job download.Download) (path string, err error) {
	if job.SavePath != "" {
		return job.SavePath, nil
	}
	if path = d.Settings.SavePath; path == "" {
		if path, err = d.Torrents.DefaultSavePath(ctx); err != nil {
			return "", err
		}
	}
	path = qbittorrent.Within(path, job.Tag())
	return path, d.Store.Place(ctx, job.ID, job.SourcePlace, path)
}

// notAdded records why a job was not added, and returns an error that determines whether Temporal retries.
func (d *Activities) notAdded(ctx context.Context, jobID int64, err error) error {
	if ctx.Err() != nil || temporalio.IsInterruption(err) {
		return temporalio.TryError(ctx, err)
	}

	problem := temporalio.FaultOf(err)
	d.alert(ctx, problem.Code)
	d.Log.Warn("torrent not added", "download", jobID, "code", problem.Code, "cause", problem.Cause)
	if noteErr := d.Store.NoteTrouble(ctx, jobID, problem.Code); noteErr != nil {
		return temporalio.TryError(ctx, noteErr)
	}

	if problem.Code == fault.ProviderUnauthorized || problem.Code == fault.Internal { // a person has to fix it
		problem = problem.Retry()
	}
	return temporalio.ActivityError(ctx, problem)
}

// alerts are the problems that only an administrator can fix.
var alerts = map[fault.Code]string{
	fault.ProviderUnauthorized: notice.AlertDownloadsLogin,
	fault.NoFreeSpace:          notice.AlertDownloadsSpace,
}

func (d *Activities) alert(ctx context.Context, code fault.Code) {
	if kind, ok := alerts[code]; ok {
		d.welcome.Store(false)
		if err := d.Alerts.RaiseAlert(ctx, kind); err != nil {
			d.Log.Error("alert not raised", "kind", kind, "error", err)
		}
	}
}

// ResumeTorrent resumes a torrent after an error. A torrent that is gone, or no longer ours, is soon reported missing
// by the watcher.
func (d *Activities) ResumeTorrent(ctx context.Context, jobID int64) error {
	defer temporalio.SendHeartbeats(ctx)()
	job, there, err := d.find(ctx, jobID)
	if err == nil && there != nil && d.Torrents.Ours(*there) {
		err = d.Torrents.Resume(ctx, *there)
	}
	if err == nil {
		err = d.Store.MarkResumed(ctx, job.ID)
	}
	return retryAlways(ctx, err)
}

// Requery is the result of a new query for a missing torrent.
type Requery struct {
	Found bool `json:"found,omitempty"`
	// Wait is the remaining grace; 0: it is over.
	Wait time.Duration `json:"wait,omitempty"`
}

// LookForTorrent queries whether a missing torrent is back, and otherwise returns its remaining grace. If none is left,
// it also deletes the tag that outlived the torrent.
func (d *Activities) LookForTorrent(ctx context.Context, jobID int64) (again Requery, err error) {
	defer temporalio.SendHeartbeats(ctx)()
	job, there, err := d.find(ctx, jobID)
	switch {
	case err != nil:
	case there != nil && d.Torrents.Ours(*there):
		again.Found = true
		err = d.Torrents.Activate(ctx, *there) // otherwise the watcher would not see it
	default:
		again.Wait, err = d.Store.GraceLeft(ctx, jobID, d.Settings.Grace, d.Settings.PollGap)
		if err == nil && again.Wait == 0 {
			err = d.Torrents.DeleteTags(ctx, job.Tag())
		}
	}

	return again, retryAlways(ctx, err)
}

// RemoveTorrent removes a job's torrents, or leaves them to other jobs that hold them, and succeeds only once that is
// done. It records a failure for the people waiting for the end. An ended job keeps its end, which the result returns.
// Its workflow may not know that end: when Temporal rejects a workflow task because a signal arrived at that moment,
// that task's write is in the record all the same.
func (d *Activities) RemoveTorrent(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	defer temporalio.SendHeartbeats(ctx)()
	if err := d.Store.BeginRemoval(ctx, jobID); err != nil {
		return lifecycle.DownloadRecord{}, retryAlways(ctx, err)
	}

	job, err := d.Store.ByID(ctx, jobID)
	if err != nil || lifecycle.Download.Terminal(job.State) {
		return recordOf(job), retryAlways(ctx, err)
	}

	err = d.removeAll(ctx, job)
	if err == nil {
		err = d.Torrents.DeleteTags(ctx, job.Tags()...)
	}

	note := ""
	if problem := fault.As(err); problem != nil {
		note = string(problem.Code)
	}

	if note != job.CancelError {
		err = errors.Join(err, d.Store.NoteCancelError(ctx, jobID, note))
	}
	return recordOf(job), retryAlways(ctx, err)
}

// letGo deletes a torrent with one of the job's tags unless another job holds it.
func (d *Activities) letGo(ctx context.Context, job download.Download, t qbittorrent.Torrent, tag string) error {
	var others []int64
	for _, named := range download.TaggedBy(t.Tags) {
		if named.Job != job.ID {
			others = append(others, named.Job)
		}
	}

	holding, err := d.Store.Holding(ctx, others)
	if err != nil || len(holding) > 0 {
		return err
	}
	if err := d.Torrents.Delete(ctx, t, job.KeepFiles); err != nil {
		return err
	}

	left, err := d.Torrents.Find(ctx, tag, t.V1, t.V2)
	if err == nil && left != nil {
		return fault.New(fault.ProviderUnavailable, "qBittorrent still has the torrent").Retry()
	}
	return err
}

func (d *Activities) find(
	ctx context.Context, jobID int64,
) (job download.Download, there *qbittorrent.Torrent, err error) {
	if job, err = d.Store.ByID(ctx, jobID); err == nil {
		there, err = d.Torrents.Find(ctx, job.Tag(), job.InfohashV1, job.InfohashV2)
	}
	return job, there, err
}

// retryAlways makes any failure retryable except a missing record.
func retryAlways(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}

	problem := temporalio.FaultOf(err)
	if problem.Code == fault.DownloadNotFound {
		return temporalio.ActivityError(ctx, problem)
	}
	return temporalio.ActivityError(ctx, problem.Retry())
}
