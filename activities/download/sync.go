package download

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/temporalio"
)

// SyncStore is the part of the record that the watcher uses.
type SyncStore interface {
	OnlySync(ctx context.Context, loop func(context.Context) error) (held bool, err error)
	NotePoll(ctx context.Context, restarted bool, gap time.Duration) error
	NotePollFailure(ctx context.Context, code string) error

	Watched(ctx context.Context, after int64, limit int) ([]download.WatchedDownload, error)
	Ended(ctx context.Context, ids []int64) ([]download.EndedDownload, error)
	SaveProgress(ctx context.Context, seen []download.Progress) (written int64, err error)
	NoteRoom(ctx context.Context, id int64, place int, noRoom bool) error
	AnyWithoutRoom(ctx context.Context) (bool, error)
	NoteTrouble(ctx context.Context, id int64, code fault.Code) error
}

// Sync watches all active downloads: it polls qBittorrent with one request for all of them, records their progress, and
// signals the workflows whose torrents have changed state.
type Sync struct {
	Store    SyncStore
	Alerts   Alerts
	Torrents *qbittorrent.Client
	Temporal temporalio.Signaler
	Metrics  metrics.Download
	Log      *slog.Logger
	Settings SyncSettings
	Space    Space
	OnPoll   func(Poll) // called after each poll; may be nil

	// The state of the one loop that holds the lock; another loop of this process may be about to end.
	looping  sync.Mutex
	sessions int64
	failing  bool
	failed   time.Time // the first unanswered poll since the last answered one
	polled   time.Time
	present  map[int64]bool // the active jobs, and whether qBittorrent has shown their torrent since it started
	tagsLeft bool           // that tidy does not find
	tidied   bool           // the last poll found no torrent for tidy
	seeded   time.Time      // the last check for torrents that were seeded enough
	noRoom   *bool          // whether a download waited for disk space at the last poll; nil: unknown
	sent     map[int64]sent // the last signal to each job whose record does not show it yet
}

type SyncSettings struct {
	Every        time.Duration // between two polls
	PollGap      time.Duration // a longer interval between two polls counts as an outage
	StalledAfter time.Duration // without progress; 0: never
	NextAfter    time.Duration // without progress, while another source can be tried; 0: never
	AlertAfter   time.Duration // without an answer
	Seeds        SeedRules
}

// Poll is the result of one poll.
type Poll struct {
	Jobs     int           // active ones
	Torrents int           // in the active category
	Written  int64         // rows
	Notified int           // workflows
	Took     time.Duration // of the complete poll
	Err      error         // qBittorrent, or the record, was unreachable: no job was touched
}

const (
	watchPage    = 1000 // jobs read at a time
	watchBatch   = 100  // jobs written at a time
	notifyAtOnce = 8
	repeatAfter  = 10 * time.Minute // for a signal that changes nothing in the record
	tidyDeletes  = 10               // torrents that one poll may remove
)

// SyncDownloads polls until the activity's time is nearly over; the workflow then starts it anew. A lock in the record
// keeps two workers from polling at once, even if Temporal runs the activity twice.
func (s *Sync) SyncDownloads(ctx context.Context) error {
	ctx, stop := temporalio.WithWatchdog(ctx)
	defer stop()

	deadline := activity.GetInfo(ctx).Deadline.Add(-2 * s.Settings.Every)
	for time.Now().Before(deadline) {
		_, err := s.Store.OnlySync(ctx, func(held context.Context) error { return s.loop(held, deadline) })
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("watching downloads failed", "error", err)
		}
		if !temporalio.LoopWait(ctx, time.After(s.Settings.Every)) { // another process has the lock, or it was lost
			return temporalio.LoopOutcome(ctx)
		}
	}

	return nil
}

// loop polls while the lock is held.
func (s *Sync) loop(ctx context.Context, deadline time.Time) error {
	s.looping.Lock()
	defer s.looping.Unlock()

	temporalio.Progressed(ctx)
	ticker := time.NewTicker(s.Settings.Every)
	defer ticker.Stop()

	for time.Now().Before(deadline) {
		began := time.Now()
		poll := s.poll(ctx)
		poll.Took = time.Since(began)
		if poll.Err == nil {
			s.sweepTags(ctx)
			s.sweepSeeds(ctx)
		}
		s.report(ctx, poll)
		if !temporalio.LoopWait(ctx, ticker.C) {
			return nil
		}
	}

	return nil
}

func (s *Sync) report(ctx context.Context, poll Poll) {
	switch {
	case ctx.Err() != nil:
		return
	case poll.Err != nil:
		s.Metrics.PollErrors.Inc()
	default:
		s.Metrics.Poll.Observe(poll.Took.Seconds())
		s.Metrics.Watched.Set(float64(poll.Jobs))
	}

	if s.OnPoll != nil {
		s.OnPoll(poll)
	}
}

// poll reads all jobs and torrents once. The jobs are read before the torrents: a job recorded as added was in
// qBittorrent before the query, so a torrent absent from the answer is really missing.
func (s *Sync) poll(ctx context.Context) (poll Poll) {
	var jobs []download.WatchedDownload
	if jobs, poll.Err = s.jobs(ctx); poll.Err != nil {
		s.Log.Warn("poll of downloads failed", "error", poll.Err)
		return poll
	}

	var torrents []qbittorrent.Torrent
	if torrents, poll.Err = s.listTorrents(ctx); poll.Err != nil {
		return poll
	}

	temporalio.Progressed(ctx)
	poll.Jobs, poll.Torrents = len(jobs), len(torrents)
	index := indexTorrents(torrents)
	present := make(map[int64]bool, len(jobs))
	held := s.admit(ctx, index, jobs, torrents)
	temporalio.Progressed(ctx)

	for batch := range slices.Chunk(jobs, watchBatch) {
		for _, job := range batch {
			present[job.ID] = s.present[job.ID] || index.of(job) != nil
		}
		written, notified := s.batch(ctx, index, slices.DeleteFunc(batch, func(job download.WatchedDownload) bool { return held[job.ID] }))
		temporalio.Progressed(ctx)
		poll.Written += written
		poll.Notified += notified
	}

	s.tagsLeft = s.tagsLeft || s.present == nil
	for id := range s.present {
		if _, goesOn := present[id]; !goesOn && index.byJob[id] == nil { // it ended, and its torrent is not in the answer
			s.tagsLeft = true
		}
	}
	s.present = present
	s.reportRoom(ctx)
	maps.DeleteFunc(s.sent, func(id int64, _ sent) bool { _, live := present[id]; return !live })
	s.stopLeft(ctx, index, jobs)
	s.tidy(ctx, torrents)
	return poll
}

// jobs reads all active jobs that were added to qBittorrent.
func (s *Sync) jobs(ctx context.Context) (jobs []download.WatchedDownload, err error) {
	for after := int64(0); ; after = jobs[len(jobs)-1].ID {
		page, err := s.Store.Watched(ctx, after, watchPage)
		temporalio.Progressed(ctx)
		if jobs = append(jobs, page...); err != nil || len(page) < watchPage {
			return jobs, err
		}
	}
}

// listTorrents queries qBittorrent for the torrents in the active category, and records whether it answered.
func (s *Sync) listTorrents(ctx context.Context) (torrents []qbittorrent.Torrent, err error) {
	err = temporalio.LoopStep(ctx, func(ctx context.Context) (err error) {
		torrents, err = s.Torrents.List(ctx)
		return err
	})
	if err == nil {
		return torrents, s.noteAnswer(ctx)
	}

	if ctx.Err() == nil {
		s.noteFailure(ctx, temporalio.FaultOf(err))
	}
	return nil, err
}

// noteFailure records that qBittorrent does not answer. The administrators are alerted at once to what only they can
// fix, and to any other failure if it lasts.
func (s *Sync) noteFailure(ctx context.Context, problem *fault.Error) {
	if !s.failing {
		s.Log.Warn("qBittorrent unavailable, downloads left unchanged", "code", problem.Code, "cause", problem.Cause)
		s.failing, s.failed = true, time.Now()
	}

	kind, atOnce := alerts[problem.Code]
	if !atOnce {
		kind = notice.AlertDownloadsAway
	}

	if atOnce || time.Since(s.failed) >= s.Settings.AlertAfter {
		_ = s.Alerts.RaiseAlert(ctx, kind) // the next poll raises it again
	}

	if err := s.Store.NotePollFailure(ctx, string(problem.Code)); err != nil {
		s.Log.Warn("poll not recorded", "error", err)
	}
}

// noteAnswer records that qBittorrent has answered. What qBittorrent showed before a restart, or before an interval
// without polls, no longer counts.
func (s *Sync) noteAnswer(ctx context.Context) error {
	sessions := s.Torrents.Sessions()
	restarted := s.sessions != 0 && sessions != s.sessions
	if restarted || s.failing || time.Since(s.polled) > s.Settings.PollGap {
		s.present = nil
	}

	if s.failing {
		s.Log.Info("qBittorrent available again")
	}

	// Another process may have raised them.
	if s.failing || s.polled.IsZero() {
		for _, kind := range []string{notice.AlertDownloadsAway, notice.AlertDownloadsLogin} {
			if err := s.Alerts.ResolveAlert(ctx, kind); err != nil {
				return err
			}
		}
	}

	if err := s.Store.NotePoll(ctx, restarted, s.Settings.PollGap); err != nil {
		return err
	}

	s.sessions, s.failing, s.polled = sessions, false, time.Now()
	return nil
}

// batch records what was seen of some jobs, and notifies their workflows. What cannot be written or sent now is seen
// again by the next poll.
func (s *Sync) batch(
	ctx context.Context, index *torrentIndex, jobs []download.WatchedDownload,
) (written int64, notified int) {
	var seen []download.Progress
	var pending []notification
	for _, job := range jobs {
		torrent := index.of(job)
		if progress, changed := progressOf(job, torrent); changed {
			seen = append(seen, progress)
		}
		earlier := index.completed(job, torrent)
		switch {
		case earlier != 0:
			complete := lifecycle.Observation{JobID: job.ID, State: lifecycle.ObservedComplete, Place: earlier}
			pending = append(pending, notification{job, complete})
			continue
		case !job.Added:
			continue
		}
		if observation, isNew := s.observe(job, torrent); isNew {
			pending = append(pending, notification{job, observation})
		} else {
			delete(s.sent, job.ID)
		}
	}

	if len(seen) > 0 {
		written = s.save(ctx, seen)
		temporalio.Progressed(ctx)
	}
	return written, s.notify(ctx, pending)
}

// save writes a batch. If the record rejects it, save writes row by row, so that one bad job never stops the others.
func (s *Sync) save(ctx context.Context, seen []download.Progress) (written int64) {
	written, err := s.Store.SaveProgress(ctx, seen)
	if err == nil || ctx.Err() != nil || len(seen) == 1 || fault.CodeOf(err) == fault.StoreUnavailable {
		if err != nil && ctx.Err() == nil {
			s.Log.Warn("progress not recorded", "download", seen[0].ID, "jobs", len(seen), "error", err)
		}
		return written
	}

	for i := range seen {
		written += s.save(ctx, seen[i:i+1])
		temporalio.Progressed(ctx)
	}
	return written
}
