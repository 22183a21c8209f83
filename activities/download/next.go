package download

import (
	"context"
	"slices"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// NextSource moves a job to another source: the next untried one, or one whose torrent is complete. The abandoned
// source's torrent stays in qBittorrent until the job has ended. Idempotent: repeated and late calls change nothing and
// return the record.
func (d *Activities) NextSource(ctx context.Context, by lifecycle.DownloadSwitch) (lifecycle.DownloadRecord, error) {
	job, err := d.Store.Switch(ctx, by)
	return answer(ctx, job, err)
}

// removeAll removes the torrents of all of a job's sources, or leaves them to other jobs that hold them.
func (d *Activities) removeAll(ctx context.Context, job download.Download) error {
	for _, tag := range job.Tags() {
		v1, v2 := job.InfohashV1, job.InfohashV2
		if tag != job.Tag() { // an abandoned source's torrent without its tag is not known to be the job's
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

// completed returns a job's source whose torrent is complete while the current one's is not; 0: none. One without a
// file of the medium does not count.
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

// stopLeft stops the torrents of abandoned sources where qBittorrent queues torrents: one without peers would keep its
// place in the queue from all others.
func (s *Sync) stopLeft(ctx context.Context, index *torrentIndex, jobs []download.WatchedDownload) {
	places := make(map[int64]int, len(jobs))
	for _, job := range jobs {
		places[job.ID] = job.Place
	}

	var left []qbittorrent.Torrent
	for _, job := range jobs {
		for _, p := range index.byJob[job.ID] {
			needed := slices.ContainsFunc(download.TaggedBy(p.torrent.Tags), func(named download.Tagged) bool {
				place, watched := places[named.Job]
				return !watched || named.Place >= place // a later one may have become current meanwhile
			})
			if !needed && !p.torrent.Stopped() && p.torrent.State != qbittorrent.Complete {
				left = append(left, *p.torrent)
			}
		}
	}
	if len(left) == 0 {
		return
	}

	err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
		queues, err := s.Torrents.Queues(ctx)
		if err != nil || !queues {
			return err
		}
		return s.Torrents.Stop(ctx, left)
	})
	if err != nil && ctx.Err() == nil { // the next poll sees them again
		s.Log.Warn("torrents of previous sources not stopped", "error", err)
	}
}

// seeks are the states in which a torrent is looking for peers. One that waits in qBittorrent's own queue, or that a
// person has paused, is not stalled.
var seeks = map[string]bool{
	"downloading": true, "forcedDL": true, "stalledDL": true, "metaDL": true, "forcedMetaDL": true,
}
