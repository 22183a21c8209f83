package download

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/metrics"
	"stagecoach/internal/store"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// ears record the notifications of workflows.
type ears struct {
	client.Client
	mu    sync.Mutex
	heard []lifecycle.Observation
	deaf  func(workflowID string) error
}

func (e *ears) SignalWorkflow(_ context.Context, workflowID, _, name string, arg any) error {
	e.mu.Lock()
	defer e.mu.Unlock()

	if e.deaf != nil {
		if err := e.deaf(workflowID); err != nil {
			return err
		}
	}

	switch name {
	case lifecycle.DownloadObservedSignal, lifecycle.DownloadEarlierSignal:
		e.heard = append(e.heard, arg.(lifecycle.Observation))
	default:
		return fmt.Errorf("signal %s", name)
	}
	return nil
}

// watcher polls on request.
type watcher struct {
	*rig
	*Sync
	Store *store.Store // rig's
	ears  *ears
}

func newWatcher(t *testing.T, o torrentsim.QBittorrentOptions) *watcher {
	t.Helper()
	w := &watcher{rig: newRig(t, o), ears: &ears{}}
	w.Store = w.rig.Store
	w.Sync = &Sync{
		Store: w.rig.Store.Downloads, Alerts: w.rig.Store.Notices, Torrents: w.rig.Torrents,
		Temporal: w.ears, Metrics: metrics.New().Download(),
		Log: slog.New(slog.DiscardHandler),
		Settings: SyncSettings{
			Every: time.Second, PollGap: time.Minute, StalledAfter: time.Hour, AlertAfter: time.Hour,
		},
	}
	return w
}

// pollOnce polls once, updates the record as the workflows would, and returns the notifications.
func (w *watcher) pollOnce() (poll Poll, heard []lifecycle.Observation) {
	w.t.Helper()
	w.ears.heard = nil
	w.within(func(ctx context.Context) { poll = w.poll(ctx) })
	slices.SortFunc(w.ears.heard, func(a, b lifecycle.Observation) int { return int(a.JobID - b.JobID) })
	w.follow(w.ears.heard)
	return poll, w.ears.heard
}

// follow writes what workflows write on these notifications, except the end of a job.
func (w *watcher) follow(heard []lifecycle.Observation) {
	w.t.Helper()
	var ids []int64
	var states []string
	var stalled, stopped []bool
	for _, o := range heard {
		ids, states = append(ids, o.JobID), append(states, o.State)
		stalled, stopped = append(stalled, o.Stalled), append(stopped, o.Stopped)
	}

	w.exec(`UPDATE download_jobs d SET status = now_status, first_not_found_at_utc = CASE WHEN missing THEN now() END,
		attention = now_attention, row_version = row_version + 1
		FROM (SELECT d.id AS job, CASE WHEN state = 'downloading' THEN state ELSE status END AS now_status,
			state = 'absent' OR state = '' AND first_not_found_at_utc IS NOT NULL AS missing,
			CASE WHEN stalled THEN 'stalled' WHEN stopped THEN 'TORRENT_STOPPED' ELSE '' END AS now_attention
			FROM unnest($1::bigint[], $2::text[], $3::bool[], $4::bool[]) AS h (id, state, stalled, stopped) JOIN download_jobs d USING (id)) AS known
		WHERE d.id = job AND (status, first_not_found_at_utc IS NOT NULL, attention) <> (now_status, missing, now_attention)`,
		ids, states, stalled, stopped)
}

// wantHeard polls, and compares the notified states, job by job.
func (w *watcher) wantHeard(when string, want ...string) Poll {
	w.t.Helper()
	poll, heard := w.pollOnce()
	w.must(poll.Err)
	got := []string{}

	for _, o := range heard {
		text := o.State
		for _, mark := range []struct {
			text string
			set  bool
		}{{" restarted", o.Restarted}, {" resumed", o.Resumed}, {" stalled", o.Stalled}, {" stopped", o.Stopped}, {" next", o.Next}} {
			if mark.set {
				text += mark.text
			}
		}
		got = append(got, text)
	}

	if fmt.Sprint(got) != fmt.Sprint(want) {
		w.t.Errorf("%s: told %q, want %q", when, got, want)
	}
	return poll
}

func (w *watcher) change(job download.Download, c torrentsim.TorrentChange) {
	w.t.Helper()
	w.must(w.qb.Change(job.Tag(), c))
}

func state(s string) torrentsim.TorrentChange { return torrentsim.TorrentChange{State: &s} }

// TestTold follows one torrent: workflows are notified of changes, and of nothing else.
func TestTold(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Meta: torrentsim.Never}})
	job := w.added(magnet(1))
	w.wantHeard("metadata")

	for _, step := range []struct {
		state string
		told  []string
	}{
		{"queuedDL", nil},
		{"downloading", []string{"downloading"}},
		{"stalledDL", nil},
		{"queuedDL", nil},
		{"pausedDL", nil},
		{"forcedDL", nil},
		{"checkingUP", nil},
		{"moving", nil},
		{"unknown", nil},
		{"stalledUP", []string{"complete"}},
		{"uploading", nil},
		{"missingFiles", []string{"lost"}},
	} {
		w.change(job, state(step.state))
		for range 2 {
			w.wantHeard(step.state, step.told...)
			step.told = nil
		}
	}

	got := w.reload(job)
	if got.ContentPath == "" || got.Progress != 1 || *got.ExternalJobID != magnet(1)[20:] || got.InfohashV1 != magnet(1)[20:] {
		t.Errorf("%+v", got)
	}
}

// TestMissingAndBack reports torrents that disappear and return, and whether a restart may be the cause.
func TestMissingAndBack(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	byHand, never := w.added(magnet(1)), w.added(magnet(2))
	w.must(w.qb.Remove(never.Tag()))
	w.wantHeard("one never seen", "downloading", "absent restarted")
	w.must(w.qb.Remove(byHand.Tag()))
	w.wantHeard("one removed", "absent")
	w.wantHeard("again")
	w.must(w.add(byHand))
	w.change(byHand, state("queuedDL"))
	w.wantHeard("back", "present")
	w.change(byHand, state("downloading"))
	w.wantHeard("and active, as the record has it")
	w.must(w.qb.Remove(byHand.Tag()))
	w.wantHeard("removed again", "absent")

	lost := w.added(magnet(3))
	w.wantHeard("a third one", "downloading")
	w.must(w.qb.Restart(1))
	w.wantHeard("lost in a restart", "absent restarted")
	if got := w.reload(lost); got.Speed != 0 {
		t.Errorf("%+v", got)
	}
}

// TestOutage touches no job while qBittorrent is unavailable; what is missing afterwards may have been lost meanwhile.
func TestOutage(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	ctx, job := t.Context(), w.added(magnet(1))
	w.wantHeard("at first", "downloading")
	before := w.reload(job)
	w.must(w.qb.Remove(job.Tag()))
	w.qb.AddFault(sim.Fault{Kind: "503"})

	for range 3 {
		poll, heard := w.pollOnce()
		if fault.CodeOf(poll.Err) != fault.ProviderUnavailable || len(heard) > 0 || poll.Written+int64(poll.Notified) > 0 {
			t.Errorf("%+v, told %+v", poll, heard)
		}
	}

	if sync, err := w.Store.Downloads.Polls(ctx); err != nil || sync.Failure != string(fault.ProviderUnavailable) {
		t.Errorf("%+v, %v", sync, err)
	}
	if after := w.reload(job); !after.UpdatedAt.Equal(before.UpdatedAt) {
		t.Errorf("touched: %+v", after)
	}

	w.qb.ClearFaults()
	w.wantHeard("afterwards", "absent restarted")
	if sync, err := w.Store.Downloads.Polls(ctx); err != nil || sync.Failure != "" {
		t.Errorf("%+v, %v", sync, err)
	}

	// The administrators are alerted to a refused login once.
	w.qb.AddFault(sim.Fault{Kind: "401"})
	w.pollOnce()
	w.pollOnce()
	alerts, err := w.Store.Notices.TakeUnsentAlerts(ctx, 0)
	if err != nil || len(alerts) != 1 || alerts[0].Kind != notice.AlertDownloadsLogin {
		t.Errorf("%+v, %v", alerts, err)
	}
}

// TestBroken reports an error once, and another one after the torrent was resumed, but not before it could take effect.
func TestBroken(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	job := w.added(magnet(1))
	w.change(job, state("error"))
	w.wantHeard("an error", "broken")
	w.wantHeard("still")
	_, err := w.env.ExecuteActivity(w.ResumeTorrent, job.ID)
	w.must(err)
	w.change(job, state("error"))
	w.exec(`UPDATE download_jobs SET resumed_at = resumed_at + interval '1 minute'`) // however slow this machine is
	w.wantHeard("just told to go on")
	w.exec(`UPDATE download_jobs SET resumed_at = now() - interval '6 seconds'`)
	w.wantHeard("another error", "broken resumed")
	w.wantHeard("still")

	// One that is no longer ours is left alone, and missing.
	w.must(w.qb.Remove(job.Tag()))
	w.must(w.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(1)[20:], Name: "theirs", Size: 5, Category: "films", Tags: []string{job.Tag()},
	}))
	_, err = w.env.ExecuteActivity(w.ResumeTorrent, job.ID)
	w.must(err)
	w.wantHeard("moved away", "absent")

	// A notification just before the torrent was resumed must not hide the next error.
	other := w.added(magnet(2))
	w.change(other, state("error"))
	w.ears.deaf = func(string) error {
		return w.Store.Downloads.MarkResumed(context.Background(), other.ID) // the workflow is fast
	}

	w.wantHeard("a quick workflow", "broken")
	w.ears.deaf = nil
	w.exec(`UPDATE download_jobs SET resumed_at = now() - interval '6 seconds'`)
	w.wantHeard("the next error", "broken resumed")
}

// TestStalled reports a torrent without progress, and new progress.
func TestStalled(t *testing.T) {
	t.Parallel()
	began := time.Now()
	w := newWatcher(
		t,
		torrentsim.QBittorrentOptions{
			Plan: torrentsim.TorrentPlan{Duration: time.Hour, Size: 1 << 20}, Now: func() time.Time { return began },
		},
	)

	job := w.added(magnet(1))
	w.wantHeard("at first", "downloading")
	w.exec(`UPDATE download_jobs SET progress_at = now() - interval '61 minutes'`)
	w.wantHeard("an hour without", "downloading stalled")
	w.wantHeard("longer")
	w.must(w.qb.Advance(10 * time.Minute))
	w.wantHeard("progress", "downloading")
	w.wantHeard("no more of it")
	if got := w.reload(job); got.Progress < 0.1 || got.Speed == 0 || got.ETA == nil || got.Size != 1<<20 {
		t.Errorf("%+v", got)
	}

	w.exec(`UPDATE download_jobs SET progress_at = now() - interval '2 hours'`)
	w.change(job, state("stalledDL"))
	w.pollOnce()
	w.exec(`UPDATE download_jobs SET progress_at = now() - interval '2 hours', attention = ''`)
	w.wantHeard("once more", "downloading stalled")
	w.Settings().StalledAfter = 0
	w.wantHeard("never mind", "downloading")
}

// TestOutageIsNoStandstill does not count the hours without polls as time without progress.
func TestOutageIsNoStandstill(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	w.added(magnet(1))
	w.wantHeard("at first", "downloading")
	outage := func() {
		w.qb.AddFault(sim.Fault{Kind: "503"})
		w.pollOnce()
		w.qb.ClearFaults()
		w.exec(`UPDATE download_sync SET polled_at = polled_at - interval '2 hours'`)
		w.exec(`UPDATE download_jobs SET progress_at = progress_at - interval '2 hours'`)
	}

	w.exec(`UPDATE download_jobs SET progress_at = progress_at - interval '30 minutes'`)
	outage()
	w.wantHeard("two hours later")
	w.wantHeard("and then")
	w.exec(`UPDATE download_jobs SET progress_at = progress_at - interval '31 minutes'`) // with the 30 before the outage
	w.wantHeard("an hour of polls that were answered", "downloading stalled")
	outage()
	w.wantHeard("it stands still as before")
	w.wantHeard("and does so yet")
}

// Settings are the watcher's.
func (w *watcher) Settings() *SyncSettings { return &w.Sync.Settings }

// TestUntold repeats failed notifications, and leaves jobs without a workflow alone.
func TestUntold(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	first, second, third := w.added(magnet(1)), w.added(magnet(2)), w.added(magnet(3))
	w.ears.deaf = func(id string) error {
		switch id {
		case first.WorkflowID():
			return errors.New("Temporal is away")
		case second.WorkflowID():
			return serviceerror.NewNotFound("no workflow")
		}
		return nil
	}

	if poll, heard := w.pollOnce(); len(heard) != 1 || heard[0].JobID != third.ID || poll.Notified != 1 {
		t.Errorf("%+v, %+v", poll, heard)
	}

	w.ears.deaf = nil
	if _, heard := w.pollOnce(); len(heard) != 2 || heard[0].JobID != first.ID || heard[1].JobID != second.ID {
		t.Errorf("%+v", heard)
	}

	w.wantHeard("at last")
}

// TestRepeated repeats a signal that changes nothing in the record, only after a delay, and to another watcher at once.
func TestRepeated(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	full := 1.0
	w.change(w.added(magnet(1)), torrentsim.TorrentChange{Progress: &full})
	w.wantHeard("at first", "complete")
	w.wantHeard("while the workflow may be busy")

	for id, last := range w.sent {
		last.at = last.at.Add(-repeatAfter)
		w.sent[id] = last
	}
	w.wantHeard("after a pause", "complete")

	w.sent = nil
	w.wantHeard("another process", "complete")
}

// TestMatching finds torrents that have lost their tag, by each of their hashes, and two jobs on one torrent.
func TestMatching(t *testing.T) {
	t.Parallel()
	w := newWatcher(
		t,
		torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{
			Meta: time.Minute, Duration: torrentsim.Never, Hybrid: true,
		}},
	)

	hybrid, twin := w.added(magnet(1)), w.added(magnet(1))
	w.wantHeard("metadata")
	before := *w.reload(hybrid).ExternalJobID
	w.must(w.qb.Advance(time.Hour))
	w.wantHeard("the id has changed", "downloading", "downloading")
	got := w.reload(hybrid)
	if *got.ExternalJobID == before || got.InfohashV2 == "" || got.InfohashV1 == "" || *w.reload(twin).ExternalJobID != *got.ExternalJobID {
		t.Errorf("%+v", got)
	}

	w.must(w.rig.Torrents.DeleteTags(t.Context(), hybrid.Tag(), twin.Tag()))
	w.wantHeard("without marks")
}

// TestOnePoll watches 1,050 jobs: one request, rows in batches, all jobs each time, and one bad job does not stop
// others.
func TestOnePoll(t *testing.T) {
	t.Parallel()
	const jobs = 1050
	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	w.exec(`INSERT INTO download_jobs (user_id, book_id, media_type, source, source_url, added_at, size)
		SELECT 1, 1000 + n, 'text', 'test', 'magnet:' || n, now(), 1 << 30 FROM generate_series(1, $1::int) AS n`, jobs)
	var torrents []torrentsim.Torrent

	for i := range jobs {
		torrents = append(torrents, torrentsim.Torrent{
			Name: fmt.Sprint("t", i), InfohashV1: magnet(i)[20:], Size: 1 << 30, Category: "active",
			Tags: []string{fmt.Sprint("job-", i+1)},
			Plan: torrentsim.TorrentPlan{Duration: 10 * time.Hour},
		})
	}

	w.must(w.qb.Put(torrents...))
	requests := func() (n int) {
		for _, r := range w.qb.Requests() {
			if !strings.HasSuffix(r.Path, "/login") {
				n++
			}
		}
		return n
	}

	first, heard := w.pollOnce()
	if first.Err != nil || first.Jobs != jobs || first.Torrents != jobs || first.Written != jobs || first.Notified != jobs || len(heard) != jobs || requests() != 1 {
		t.Errorf("%+v, %d told, %d requests", first, len(heard), requests())
	}

	w.must(w.qb.Advance(time.Hour))
	second, heard := w.pollOnce()
	if second.Written != jobs || len(heard) != 0 || requests() != 2 {
		t.Errorf("%+v, %d told, %d requests", second, len(heard), requests())
	}

	// Job 17 cannot be written: the others in its batch are, and its workflow is notified nevertheless.
	w.exec(`ALTER TABLE download_jobs ADD CHECK (id <> 17 OR progress < 0.15)`)
	w.must(w.qb.Advance(time.Hour))
	third, _ := w.pollOnce()
	if third.Written != jobs-1 || third.Err != nil {
		t.Errorf("%+v", third)
	}
	if bad, good := w.reload(download.Download{ID: 17}), w.reload(download.Download{ID: 18}); bad.Progress > 0.15 || good.Progress < 0.2 {
		t.Errorf("%v, %v", bad.Progress, good.Progress)
	}

	w.must(w.qb.Advance(24 * time.Hour))
	last, heard := w.pollOnce()
	if len(heard) != jobs || last.Notified != jobs || requests() != 4 {
		t.Errorf("%+v, %d told, %d requests", last, len(heard), requests())
	}
}

// TestTidy checks torrents whose jobs have ended.
func TestTidy(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	jobs := map[string]download.Download{}
	for i, name := range []string{"active", "completed", "failed", "canceled", "kept"} {
		jobs[name] = w.added(magnet(i))
	}

	// failed beside an active one, canceled beside a completed one
	shared, sharedDone := w.added(magnet(0)), w.added(magnet(1))
	w.must(w.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(8)[20:], Name: "unknown", Size: 5, Category: "active", Tags: []string{"job-999"},
	}))
	w.must(w.qb.Put(torrentsim.Torrent{InfohashV1: magnet(9)[20:], Name: "by hand", Size: 5, Category: "active"}))
	w.cancel(jobs["kept"], true)
	w.end(jobs["completed"], lifecycle.DownloadActionComplete)
	for _, job := range []download.Download{jobs["failed"], shared} {
		w.end(job, lifecycle.DownloadActionFail)
	}

	for _, job := range []download.Download{jobs["canceled"], jobs["kept"], sharedDone} {
		w.end(job, lifecycle.DownloadActionCancel)
	}

	for range 2 {
		poll, _ := w.pollOnce()
		w.must(poll.Err)
	}

	at := map[string]string{}
	for _, torrent := range w.qb.Torrents() {
		at[torrent.InfohashV1[39:]] = fmt.Sprint(torrent.Category, " ", torrent.State, " ", torrent.Tags)
	}

	want := map[string]string{
		"0": fmt.Sprintf("active stalledDL [%s %s]", jobs["active"].Tag(), shared.Tag()),
		"1": fmt.Sprintf("done-text stalledDL [%s]", jobs["completed"].Tag()),
		"2": "done pausedDL []", "8": "active downloading [job-999]", "9": "active downloading []",
	}

	for hash, where := range want {
		if at[hash] != where && !strings.HasPrefix(hash, "8") && !strings.HasPrefix(hash, "9") {
			t.Errorf("torrent %s: %s, want %s", hash, at[hash], where)
		}
	}

	if len(at) != len(want) {
		t.Errorf("%v", at)
	}

	for _, deletion := range w.qb.Deletions() {
		if deletion.Files != (deletion.Hash == magnet(3)[20:]) {
			t.Errorf("%+v", deletion)
		}
	}
}

// TestTagsLeft removes torrents by hand while their jobs end: their tags are removed, and no others. If nothing ends
// unseen, no request is made.
func TestTagsLeft(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	sweep := func() (asked int) {
		before := len(w.qb.Requests())
		w.within(w.sweepTags)
		return len(w.qb.Requests()) - before
	}

	live, done, failed := w.added(magnet(1)), w.added(magnet(2)), w.added(magnet(3))
	w.must(w.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(4)[20:], Name: "films", Size: 5, Category: "films", Tags: []string{"films", "job-998"},
	}))
	w.must(w.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(5)[20:], Name: "unknown", Size: 5, Category: "active", Tags: []string{"job-999"},
	}))
	w.must(w.qb.Remove("unknown"))
	w.must(w.qb.Remove(magnet(1)[20:]))
	want := func(when string, jobs ...download.Download) {
		t.Helper()
		tags := []string{"films", "job-998", "job-999"}
		for _, job := range jobs {
			tags = append(tags, job.Tag())
		}
		slices.Sort(tags)
		if got := w.qb.Tags(); !slices.Equal(got, tags) {
			t.Errorf("%s: %v, want %v", when, got, tags)
		}
	}

	w.pollOnce()
	if sweep() == 0 || sweep() != 0 { // a new watcher does not know what was missed
		t.Error("a watcher that begins looks once")
	}

	want("at first", live, done, failed)
	w.end(done, lifecycle.DownloadActionComplete)
	w.end(failed, lifecycle.DownloadActionFail)
	w.must(w.qb.Remove(magnet(3)[20:]))
	w.pollOnce()
	if asked := sweep(); asked != 0 {
		t.Errorf("a torrent is tidied up, and %d requests are made", asked)
	}
	w.pollOnce()
	w.qb.AddFault(sim.Fault{Match: "deleteTags", Kind: "500", Times: 1})
	sweep()
	want("while it cannot be asked", live, done, failed)
	sweep()
	want("an end that nobody saw", live, done)

	halfway := w.added(magnet(6))
	w.pollOnce()
	w.end(halfway, lifecycle.DownloadActionFail)
	w.qb.AddFault(sim.Fault{Match: "deleteTags", Kind: "500", Times: 1})
	w.pollOnce()
	if got := w.torrent(halfway.Tag()); got == nil || got.Category != "done" {
		t.Errorf("%+v, want its tag on a torrent that is tidied up", got)
	}

	w.pollOnce()
	sweep()
	want("a tag that stayed on", live, done)
	w.pollOnce()
	if asked := sweep(); asked != 0 {
		t.Errorf("nothing has ended, and %d requests are made", asked)
	}
}
