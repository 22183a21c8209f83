package download

import (
	"context"
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
)

// NextSource leaves a job's source for another one: the next that was not tried, or one whose torrent is complete. The
// torrent of the source that is left stays in qBittorrent until the job has ended. A repeated or late call changes
// nothing and returns what the record has.
func (d *Activities) NextSource(ctx context.Context, by lifecycle.DownloadSwitch) (lifecycle.DownloadRecord, error) {
	job, err := d.Store.Switch(ctx, by)
	return answer(ctx, job, err)
}

// removeAll removes the torrents of all of a job's sources, or leaves them to other jobs that hold them.
func (d *Activities) removeAll(ctx context.Context, job download.Download) error {
	for _, tag := range job.Tags() {
		v1, v2 := job.InfohashV1, job.InfohashV2
		if tag != job.Tag() { // of those that were left, what has lost its tag is not known to be the job's
			v1, v2 = "", ""
		}
		there, err := d.Torrents.Find(ctx, tag, v1, v2)
		if err == nil && there != nil && d.Torrents.Ours(*there) {
			err = d.letGo(ctx, job, *there, tag)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// placed is a torrent of one of a job's sources.
type placed struct {
	place   int
	torrent *qbittorrent.Torrent
}

// completed gives the source of a job whose torrent is complete while that of the current one is not; 0: none. One that
// has no file of the medium does not count.
func (x *torrentIndex) completed(job download.WatchedDownload, current *qbittorrent.Torrent) int {
	if job.Added && current != nil && current.State == qbittorrent.Complete {
		return 0
	}
	for _, p := range x.byJob[job.ID] {
		if p.place != job.Place && p.torrent.State == qbittorrent.Complete && !slices.Contains(job.Unsuitable, p.place) {
			return p.place
		}
	}
	return 0
}

// seeks are the states in which a torrent looks for somebody who shares it. One that waits in qBittorrent's own queue,
// or that a person has paused, does not stand still.
var seeks = map[string]bool{
	"downloading": true, "forcedDL": true, "stalledDL": true, "metaDL": true, "forcedMetaDL": true,
}

// overdue says whether a torrent has stood still for so long that the job's next source is due. Only the time in which
// qBittorrent answers counts.
func (s *Sync) overdue(job download.WatchedDownload, t *qbittorrent.Torrent) bool {
	return job.Left && s.Settings.NextAfter > 0 && job.Idle > s.Settings.NextAfter && s.present != nil &&
		seeks[t.Shown] && t.Progress == job.Progress
}
