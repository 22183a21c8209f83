package download

import (
	"context"
	"math"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/temporalio"
)

// stalledMark is put behind the state of a torrent that stalls, in the record's memory of what was told.
const stalledMark = "+stalled"

// remembered is an observation as the record keeps it.
func remembered(o lifecycle.Observation) string {
	if o.Stalled {
		return o.State + stalledMark
	}
	return o.State
}

// watch finds the torrents of jobs in one answer of qBittorrent.
type watch struct {
	byJob  map[int64]*qbittorrent.Torrent
	byHash map[string]*qbittorrent.Torrent
}

func newWatch(torrents []qbittorrent.Torrent) *watch {
	w := &watch{make(map[int64]*qbittorrent.Torrent, len(torrents)), make(map[string]*qbittorrent.Torrent, len(torrents))}
	for i := range torrents {
		t := &torrents[i]
		for _, job := range jobsOf(t.Tags) {
			w.byJob[job] = t
		}
		for _, hash := range []string{t.V1, t.V2} {
			if hash != "" {
				w.byHash[hash] = t
			}
		}
	}

	return w
}

// of gives a job's torrent: by its tag, else by an infohash; nil: it is not there.
func (w *watch) of(job download.WatchedDownload) *qbittorrent.Torrent {
	if t := w.byJob[job.ID]; t != nil {
		return t
	}
	if t := w.byHash[job.InfohashV1]; t != nil {
		return t
	}
	return w.byHash[job.InfohashV2]
}

// progressOf gives what the record should have of a job, and whether that differs from what it has.
func progressOf(job download.WatchedDownload, t *qbittorrent.Torrent) (p download.Progress, changed bool) {
	p = download.Progress{
		ID: job.ID, Size: job.Size, Progress: job.Progress, ExternalJobID: job.ExternalJobID, InfohashV1: job.InfohashV1,
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

// clean gives a text as PostgreSQL takes it, else what there was before.
func clean(text, before string) string {
	if text == "" || strings.ContainsRune(text, 0) {
		return before
	}
	return strings.ToValidUTF8(text, "�")
}

// hash gives an infohash of so many digits, else what there was before.
func hash(text string, digits int, before string) string {
	if len(text) != digits || strings.Trim(text, "0123456789abcdef") != "" {
		return before
	}
	return text
}

// settling is how long a torrent that was told to go on may still show its error.
const settling = 5 * time.Second

// observe says what a job's workflow should know of its torrent, and whether that is news to it. A torrent that waits
// says nothing new of a job, unless it was missing.
func (s *Sync) observe(
	job download.WatchedDownload, t *qbittorrent.Torrent,
) (o lifecycle.Observation, isNews bool) {
	told, stalls := strings.CutSuffix(job.Observed, stalledMark)
	o = lifecycle.Observation{JobID: job.ID, State: told}
	if t == nil {
		o.State, o.Restarted = lifecycle.ObservedAbsent, !s.present[job.ID]
		return o, remembered(o) != job.Observed
	}

	if told == lifecycle.ObservedAbsent {
		o.State = lifecycle.ObservedPresent
	}

	moving := true // there is progress to wait for
	switch t.State {
	case qbittorrent.Active:
		o.State = lifecycle.ObservedDownloading
	case qbittorrent.Complete:
		o.State, moving = lifecycle.ObservedComplete, false
	case qbittorrent.Broken:
		if job.Resumed == nil || *job.Resumed > settling {
			o.State, o.Resumed, moving = lifecycle.ObservedBroken, job.Resumed != nil, false
		}
	case qbittorrent.Lost:
		o.State, moving = lifecycle.ObservedLost, false
	case qbittorrent.Unknown:
		s.Log.Warn("qBittorrent shows a state that nobody knows", "download", job.ID, "state", t.Shown)
	case qbittorrent.Waiting, qbittorrent.Checking:
	}

	idle := job.Idle > s.Settings.StalledAfter
	if s.present == nil { // the job was read before a pause of the polls was known, and not held against it
		idle = stalls
	}

	if moving && idle && s.Settings.StalledAfter > 0 && t.Progress == job.Progress {
		o.Stalled, o.Cancel = true, s.Settings.StalledCancel
	}
	return o, remembered(o) != job.Observed
}

// news is what one workflow is to be told.
type news struct {
	job         download.WatchedDownload
	observation lifecycle.Observation
}

// tell signals workflows, and remembers what they were told once they were. A workflow that does not run is the
// reconciler's to see to.
func (s *Sync) tell(ctx context.Context, all []news) int {
	var mutex sync.Mutex
	var told []download.DownloadTold
	group := errgroup.Group{}
	group.SetLimit(tellAtOnce)

	for _, n := range all {
		group.Go(func() error {
			err := temporalio.LoopStep(ctx, func(ctx context.Context) error {
				return s.Temporal.SignalWorkflow(ctx, n.job.WorkflowID(), "", lifecycle.DownloadObservedSignal, n.observation)
			})
			if err != nil {
				if !temporalio.IsNotFound(err) && ctx.Err() == nil {
					s.Log.Warn("download not told", "download", n.job.ID, "error", err)
				}
				return nil
			}

			mutex.Lock()
			defer mutex.Unlock()

			told = append(told, download.DownloadTold{ID: n.job.ID, Before: n.job.Observed, Now: remembered(n.observation)})
			return nil
		})
	}

	_ = group.Wait() // nothing fails
	if len(told) == 0 {
		return 0
	}

	if err := s.Store.MarkDownloadsTold(ctx, told); err != nil && ctx.Err() == nil {
		s.Log.Warn("what downloads were told is not remembered: they are told again", "error", err)
	}
	return len(told)
}
