package download

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/torrent"
)

const (
	refusals   = 3           // of one torrent by qBittorrent, until it is believed
	spacePause = time.Minute // between two looks at the disk
)

// AddTorrent hands a job's torrent to qBittorrent, also when it has to be done again. Nothing is done for a job that is
// over, or that somebody wants to end: the answer tells. Once it makes no sense to go on the error's type is the
// reason: enqueue_failed, enqueue_unavailable or book_not_found; the record has the details.
func (d *Activities) AddTorrent(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	defer temporalio.SendHeartbeats(ctx)()
	job, err := d.Store.DownloadByID(ctx, jobID)
	if err != nil || lifecycle.Download.Terminal(job.State) || job.CancelRequestedAt != nil {
		return answer(ctx, job, err)
	}

	err = d.handOver(ctx, job)
	if err == nil && !d.welcome.Load() {
		if err = d.Store.ResolveAlert(ctx, notice.AlertDownloadsLogin); err == nil {
			d.welcome.Store(true)
		}
	}

	if err == nil {
		err = d.Store.MarkDownloadAdded(ctx, jobID)
	}

	if err != nil {
		return lifecycle.DownloadRecord{}, d.notAdded(ctx, job, err)
	}
	return recordOf(job), nil
}

func (d *Activities) handOver(ctx context.Context, job download.Download) error {
	if job.BookTitle == "" {
		return fault.New(fault.BookGone, "the book is gone")
	}

	wanted, identity, err := d.torrent(ctx, job)
	if err != nil {
		return err
	}

	if job.AddedAt == nil { // what is added once more was let in before, and has its grace only
		if err := d.checkSpace(ctx); err != nil {
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
	case there == nil: // it is not a torrent to qBittorrent, or the start of qBittorrent is not finished
		return fault.New(fault.ProviderRejected, "qBittorrent does not take the torrent").Retry()
	default:
		return d.Torrents.Adopt(ctx, *there, job.Tag())
	}
}

// torrent gives what is to be added: a magnet link as it is, or the file behind an address. FetchTorrent has fetched
// that, but for workflows that began with release 0.1.0.
func (d *Activities) torrent(
	ctx context.Context, job download.Download,
) (wanted qbittorrent.NewTorrent, identity torrent.Identity, err error) {
	wanted.Tag = job.Tag()
	source, err := torrent.ParseSource(job.SourceURL)
	if err != nil {
		return wanted, identity, err
	}
	if source.Magnet {
		wanted.Magnet = job.SourceURL
		return wanted, source.Identity, nil
	}

	wanted.File, identity, err = d.file(ctx, job)
	return wanted, identity, err
}

// checkSpace lets a job wait while the disk is nearly full.
func (d *Activities) checkSpace(ctx context.Context) error {
	if d.Settings.MinFree == 0 {
		return nil
	}

	free, err := d.Torrents.FreeSpace(ctx)
	if err != nil {
		return err
	}
	if free < 0 || free >= d.Settings.MinFree {
		return d.Store.ResolveAlert(ctx, notice.AlertDownloadsSpace)
	}

	return fault.New(fault.NoFreeSpace, "%d bytes are free, %d are to stay so", free, d.Settings.MinFree).After(spacePause)
}

// place decides once where a job's files go: a folder of its own, because a torrent may be named like another.
func (d *Activities) place(ctx context.Context, job download.Download) (path string, err error) {
	if job.SavePath != "" {
		return job.SavePath, nil
	}
	if path = d.Settings.SavePath; path == "" {
		if path, err = d.Torrents.DefaultSavePath(ctx); err != nil {
			return "", err
		}
	}
	path = strings.TrimRight(path, "/") + "/" + job.Tag()
	return path, d.Store.PlaceDownload(ctx, job.ID, path)
}

// notAdded records why a job was not handed over, and tells Temporal whether to try again.
func (d *Activities) notAdded(ctx context.Context, job download.Download, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}

	problem := temporalio.FaultOf(err)
	if problem.Code == fault.StoreUnavailable {
		return temporalio.ActivityError(ctx, problem)
	}

	d.alert(ctx, problem.Code)
	d.Log.Warn("download not handed over", "download", job.ID, "code", problem.Code, "cause", problem.Cause)
	trouble, noteErr := d.Store.NoteDownloadTrouble(
		ctx, job.ID, string(problem.Code), problem.Code == fault.ProviderRejected,
	)
	if noteErr != nil {
		return temporalio.ActivityError(ctx, temporalio.FaultOf(noteErr))
	}
	if reason := d.giveUp(problem, trouble); reason != "" {
		return temporalio.ToTemporal(fault.New(reason, "the download was not begun: %s", problem.Code))
	}

	return temporalio.ActivityError(ctx, problem.Retry())
}

// giveUp gives the reason to fail a job that could not be handed over; "" as long as it may go well yet.
func (d *Activities) giveUp(problem *fault.Error, trouble download.DownloadTrouble) fault.Code {
	tooLong := trouble.For > d.Settings.EnqueuePatience
	reason, over := fault.EnqueueFailed, true
	switch problem.Code {
	case fault.BookGone:
		return fault.BookGone
	case fault.NoFreeSpace:
		return ""
	case fault.ProviderUnavailable, fault.ProviderUnauthorized:
		reason, over = fault.EnqueueUnavailable, tooLong
	case fault.ProviderRejected:
		over = !problem.Retryable || trouble.Refusals >= refusals
	case fault.SourceUnavailable, fault.Internal:
		over = tooLong
	}

	if !over {
		return ""
	}
	return reason
}

// alerts are the troubles that only an administrator can repair.
var alerts = map[fault.Code]string{
	fault.ProviderUnauthorized: notice.AlertDownloadsLogin,
	fault.NoFreeSpace:          notice.AlertDownloadsSpace,
}

func (d *Activities) alert(ctx context.Context, code fault.Code) {
	if kind, ok := alerts[code]; ok {
		d.welcome.Store(false)
		if err := d.Store.RaiseAlert(ctx, kind); err != nil {
			d.Log.Error("alert not raised", "kind", kind, "error", err)
		}
	}
}

// ResumeTorrent lets a torrent go on after an error. One that is gone, or not ours any more, is missing to its watcher
// soon.
func (d *Activities) ResumeTorrent(ctx context.Context, jobID int64) error {
	defer temporalio.SendHeartbeats(ctx)()
	job, there, err := d.find(ctx, jobID)
	if err == nil && there != nil && d.Torrents.Ours(*there) {
		err = d.Torrents.Resume(ctx, *there)
	}
	if err == nil {
		err = d.Store.MarkDownloadResumed(ctx, job.ID)
	}
	return patient(ctx, err)
}

// Look is what a fresh look for a missing torrent has shown.
type Look struct {
	Found bool `json:"found,omitempty"`
	// Wait is what is left of the grace; 0: it is over.
	Wait time.Duration `json:"wait,omitempty"`
}

// LookForTorrent looks whether a torrent that was missing is there again, and else how much of its grace is left. When
// there is none, the tag that has outlived the torrent goes too.
func (d *Activities) LookForTorrent(ctx context.Context, jobID int64) (look Look, err error) {
	defer temporalio.SendHeartbeats(ctx)()
	job, there, err := d.find(ctx, jobID)
	switch {
	case err != nil:
	case there != nil && d.Torrents.Ours(*there):
		look.Found = true
		if err = d.Torrents.Activate(ctx, *there); err == nil { // else its watcher would not see it
			err = d.Store.MarkDownloadFound(ctx, jobID)
		}
	default:
		look.Wait, err = d.Store.GraceLeft(ctx, jobID, d.Settings.Grace, d.Settings.PollGap)
		if err == nil && look.Wait == 0 {
			err = d.Torrents.DeleteTags(ctx, job.Tag())
		}
	}

	return look, patient(ctx, err)
}

// RemoveTorrent removes a job's torrent, or leaves it to other jobs that hold it, and succeeds only once that is so. A
// failure is recorded, for whoever waits for the end. A job that is over already keeps what it has: the answer tells.
// Its workflow may not know: what it wrote in a task that Temporal did not take, because a signal came just then,
// stands in the record all the same.
func (d *Activities) RemoveTorrent(ctx context.Context, jobID int64) (lifecycle.DownloadRecord, error) {
	defer temporalio.SendHeartbeats(ctx)()
	if err := d.Store.BeginDownloadRemoval(ctx, jobID); err != nil {
		return lifecycle.DownloadRecord{}, patient(ctx, err)
	}

	job, err := d.Store.DownloadByID(ctx, jobID)
	if err != nil || lifecycle.Download.Terminal(job.State) {
		return recordOf(job), patient(ctx, err)
	}

	there, err := d.Torrents.Find(ctx, job.Tag(), job.InfohashV1, job.InfohashV2)
	if err == nil && there != nil && d.Torrents.Ours(*there) {
		err = d.letGo(ctx, job, *there)
	}

	if err == nil {
		err = d.Torrents.DeleteTags(ctx, job.Tag())
	}

	note := ""
	if problem := fault.As(err); problem != nil {
		note = string(problem.Code)
	}

	if note != job.CancelError {
		err = errors.Join(err, d.Store.NoteDownloadCancelError(ctx, jobID, note))
	}
	return recordOf(job), patient(ctx, err)
}

// letGo deletes a torrent unless another job holds it.
func (d *Activities) letGo(ctx context.Context, job download.Download, t qbittorrent.Torrent) error {
	var others []int64
	for _, id := range jobsOf(t.Tags) {
		if id != job.ID {
			others = append(others, id)
		}
	}

	holding, err := d.Store.DownloadsHolding(ctx, others)
	if err != nil || len(holding) > 0 {
		return err
	}
	if err := d.Torrents.Delete(ctx, t, job.KeepFiles); err != nil {
		return err
	}

	left, err := d.Torrents.Find(ctx, job.Tag(), t.V1, t.V2)
	if err == nil && left != nil {
		return fault.New(fault.ProviderUnavailable, "qBittorrent has the torrent still").Retry()
	}
	return err
}

// jobsOf lists the jobs whose tags these are.
func jobsOf(tags []string) (jobs []int64) {
	for _, tag := range tags {
		number, isJob := strings.CutPrefix(tag, download.DownloadTagPrefix)
		if id, err := strconv.ParseInt(number, 10, 64); isJob && err == nil && id > 0 {
			jobs = append(jobs, id)
		}
	}
	return jobs
}

func (d *Activities) find(
	ctx context.Context, jobID int64,
) (job download.Download, there *qbittorrent.Torrent, err error) {
	if job, err = d.Store.DownloadByID(ctx, jobID); err == nil {
		there, err = d.Torrents.Find(ctx, job.Tag(), job.InfohashV1, job.InfohashV2)
	}
	return job, there, err
}

// patient makes any failure but a missing record one to be tried again: what is to be done has to be done.
func patient(ctx context.Context, err error) error {
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
