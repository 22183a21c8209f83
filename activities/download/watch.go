package download

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// torrentIndex finds the torrents of jobs in one answer of qBittorrent.
type torrentIndex struct {
	byJob  map[int64][]placed
	byHash map[string]*qbittorrent.Torrent
}

func indexTorrents(torrents []qbittorrent.Torrent) *torrentIndex {
	index := &torrentIndex{
		byJob:  make(map[int64][]placed, len(torrents)),
		byHash: make(map[string]*qbittorrent.Torrent, len(torrents)),
	}

	for i := range torrents {
		t := &torrents[i]
		for _, named := range download.TaggedBy(t.Tags) {
			index.byJob[named.Job] = append(index.byJob[named.Job], placed{named.Place, t})
		}
		for _, hash := range []string{t.V1, t.V2} {
			if hash != "" {
				index.byHash[hash] = t
			}
		}
	}

	return index
}

// of returns the torrent of a job's source: by its tag, otherwise by an infohash; nil: it is not there.
func (x *torrentIndex) of(job download.WatchedDownload) *qbittorrent.Torrent {
	for _, p := range x.byJob[job.ID] {
		if p.place == job.Place {
			return p.torrent
		}
	}
	return cmp.Or(x.byHash[job.InfohashV1], x.byHash[job.InfohashV2])
}

// progressOf returns the values that the record should have for a job, and whether they differ from the recorded ones.
func progressOf(job download.WatchedDownload, t *qbittorrent.Torrent) (p download.Progress, changed bool) {
	p = download.Progress{
		ID: job.ID, Place: job.Place, Size: job.Size, Progress: job.Progress, ExternalJobID: job.ExternalJobID, InfohashV1: job.InfohashV1,
		InfohashV2: job.InfohashV2, ContentPath: job.ContentPath,
	}

	before := p
	before.Speed, before.ETA = job.Speed, job.ETA
	if t != nil {
		p.ExternalJobID = clean(t.ID, job.ExternalJobID)
		p.InfohashV1, p.InfohashV2 = hash(t.V1, 40, job.InfohashV1), hash(t.V2, 64, job.InfohashV2)
		if t.Size > 0 {
			p.Size = t.Size
		}

		if !math.IsNaN(t.Progress) {
			p.Progress = min(max(t.Progress, 0), 1)
		}

		if t.State == qbittorrent.Complete {
			p.ContentPath = clean(t.ContentPath, job.ContentPath)
		} else {
			p.Speed, p.ETA = t.Speed, t.ETA
		}
	}

	sameETA := p.ETA == before.ETA || p.ETA != nil && before.ETA != nil && *p.ETA == *before.ETA
	compared := p
	compared.ETA = before.ETA
	return p, compared != before || !sameETA
}

// clean returns a text that PostgreSQL accepts, otherwise the previous text.
func clean(text, before string) string {
	if text == "" || strings.ContainsRune(text, 0) {
		return before
	}
	return strings.ToValidUTF8(text, "�")
}

// hash returns an infohash with this number of digits, otherwise the previous one.
func hash(text string, digits int, before string) string {
	if len(text) != digits || strings.Trim(text, "0123456789abcdef") != "" {
		return before
	}
	return text
}

// settling is how long a resumed torrent may still show its error, or as stopped.
const settling = 5 * time.Second

// observe returns what a job's workflow should know about its torrent, and whether the record shows that it does not. A
// waiting torrent is not a change, unless it was missing.
func (s *Sync) observe(
	job download.WatchedDownload, t *qbittorrent.Torrent,
) (o lifecycle.Observation, isNew bool) {
	o.JobID, o.Place, o.NoRoom, o.NoMetadata = job.ID, job.Place, job.NoRoom, job.NoMetadata && (t == nil || t.Size == 0)
	if t == nil {
		o.State, o.Restarted = lifecycle.ObservedAbsent, !s.present[job.ID]
		return o, !job.Missing
	}

	if job.Missing {
		o.State, isNew = lifecycle.ObservedPresent, true
	}

	progresses := true // progress can be expected
	switch t.State {
	case qbittorrent.Active:
		o.State, isNew = lifecycle.ObservedDownloading, isNew || job.Status == lifecycle.DownloadQueued
	case qbittorrent.Complete:
		o.State, isNew, progresses = lifecycle.ObservedComplete, isNew || !job.ImportFailed, false
	case qbittorrent.Broken:
		if job.Resumed == nil || *job.Resumed > settling {
			o.State, o.Resumed = lifecycle.ObservedBroken, job.Resumed != nil
			isNew, progresses = true, false
		}
	case qbittorrent.Lost:
		o.State, isNew, progresses = lifecycle.ObservedLost, true, false
	case qbittorrent.Unknown:
		s.Log.Warn("unknown torrent state", "download", job.ID, "state", t.Shown)
	case qbittorrent.Waiting, qbittorrent.Checking:
	}

	o.Stopped = t.Stopped() && !job.NoRoom && job.Idle > settling
	progresses = progresses && !job.NoRoom && !o.Stopped

	idle := job.Idle > s.Settings.StalledAfter
	if s.present == nil { // right after an interval without polls: nothing is known, and a job stays as it was
		idle = job.Stalled
	}
	o.Stalled = progresses && idle && s.Settings.StalledAfter > 0 && t.Progress == job.Progress
	// Only time in which qBittorrent answers counts.
	o.Next = progresses && job.Left && s.Settings.NextAfter > 0 && job.Idle > s.Settings.NextAfter && s.present != nil &&
		seeks[t.Shown] && t.Progress == job.Progress
	return o, isNew || o.Stalled != job.Stalled || o.Stopped != job.Stopped || o.Next
}

// notification is a signal to one workflow.
type notification struct {
	job         download.WatchedDownload
	observation lifecycle.Observation
}

// sent is a signal accepted by Temporal.
type sent struct {
	observation lifecycle.Observation
	rowVersion  int64 // of the job at that time
	at          time.Time
}

// notify signals workflows, and returns how many signals succeeded. A workflow that is not running is left to the
// reconciler.
func (s *Sync) notify(ctx context.Context, pending []notification) (notified int) {
	if s.sent == nil {
		s.sent = map[int64]sent{}
	}
	pending = slices.DeleteFunc(pending, s.taken)

	var mutex sync.Mutex
	group := errgroup.Group{}
	group.SetLimit(notifyAtOnce)

	for _, n := range pending {
		group.Go(func() error {
			if !s.signal(ctx, n) {
				return nil
			}

			mutex.Lock()
			defer mutex.Unlock()

			notified++
			s.sent[n.job.ID] = sent{n.observation, n.job.RowVersion, time.Now()}
			return nil
		})
	}

	_ = group.Wait() // nothing fails
	return notified
}

// taken reports whether a workflow may still have to process the same signal.
func (s *Sync) taken(n notification) bool {
	last := s.sent[n.job.ID]
	return last.observation == n.observation && last.rowVersion == n.job.RowVersion && time.Since(last.at) < repeatAfter
}

// signal notifies one workflow of its torrent, and reports whether that succeeded.
func (s *Sync) signal(ctx context.Context, n notification) bool {
	name := lifecycle.DownloadObservedSignal
	if n.observation.Place != n.job.Place {
		name = lifecycle.DownloadEarlierSignal
	}

	err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
		return s.Temporal.SignalWorkflow(ctx, n.job.WorkflowID(), "", name, n.observation)
	})
	if err != nil && !temporalio.IsNotFound(err) && ctx.Err() == nil {
		s.Log.Warn("workflow of download not notified", "download", n.job.ID, "error", err)
	}
	return err == nil
}
