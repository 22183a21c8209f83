package download

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	qbt "github.com/autobrr/go-qbittorrent"

	"stagecoach/dev/servers"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// several is a job with this many sources, whose first torrent qBittorrent has: magnet(first) and those after it.
func (s *rig) several(first, sources int) download.Download {
	s.t.Helper()
	wanted := download.Download{
		UserID: s.user().ID, BookID: s.book.ID, MediaType: "text", Source: "test", SourceURL: magnet(first),
	}
	for n := range sources {
		wanted.Sources = append(wanted.Sources, download.JobSource{
			Place: n + 1, Source: download.Source{SourceURL: magnet(first + n), Infohash: magnet(first + n)[20:]},
		})
	}
	job, _, err := s.Store.Downloads.Create(s.t.Context(), wanted, core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	s.must(s.add(job))
	return s.reload(job)
}

// next switches a job's source, and adds the next one's torrent.
func (s *rig) next(job download.Download, to int) download.Download {
	s.t.Helper()
	by := lifecycle.DownloadSwitch{JobID: job.ID, From: s.reload(job).SourcePlace, To: to, Outcome: fault.Stalled}
	value, err := s.env.ExecuteActivity(s.NextSource, by)
	s.must(err)
	var record lifecycle.DownloadRecord
	s.must(value.Get(&record))
	job = s.reload(job)
	if record.Place != job.SourcePlace || record.Sources != len(job.Sources) || record.Left != (job.SourcesLeft > 0) || record.Added != (to != 0) {
		s.t.Errorf("%+v of %+v", record, job)
	}
	if to == 0 {
		s.must(s.add(job))
	}
	return s.reload(job)
}

func (s *rig) tags() (tags []string) {
	for _, t := range s.qb.Torrents() {
		tags = append(tags, fmt.Sprint(t.InfohashV1[39:], t.Tags))
	}
	slices.Sort(tags)
	return tags
}

// TestReportsOtherSources notifies of an overdue source while others are left, and of another source's completion.
func TestReportsOtherSources(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	w.Sync.Settings.NextAfter = 10 * time.Minute
	job := w.several(1, 2)
	w.wantHeard("at first", "downloading")
	idle := func() {
		w.exec(`UPDATE download_jobs SET progress_at = now() - interval '11 minutes'`)
	}

	idle()
	for _, waits := range []string{"queuedDL", "checkingDL"} {
		w.change(job, state(waits))
		w.wantHeard(waits)
	}
	w.change(job, state("pausedDL"))
	w.wantHeard("paused", " stopped")
	w.change(job, state("stalledDL"))
	w.wantHeard("stalled", "downloading next")
	if heard := w.ears.heard; heard[0].Place != 1 {
		t.Errorf("%+v", heard)
	}

	job = w.next(job, 0)
	if got := fmt.Sprint(w.tags()); got != "[1[job-1] 2[job-1.2]]" || job.Tag() != "job-1.2" || job.SavePath != "/books/job-1.2" {
		t.Errorf("%s, %+v", got, job)
	}
	w.wantHeard("the metadata of the second one", "downloading")
	idle()
	w.wantHeard("none is left") // the second one has made no progress either
	full, done := 1.0, "stalledUP"
	w.must(w.qb.Change("job-1", torrentsim.TorrentChange{Progress: &full, State: &done}))
	_, heard := w.pollOnce()
	if len(heard) != 1 || heard[0] != (lifecycle.Observation{JobID: job.ID, Place: 1, State: lifecycle.ObservedComplete}) {
		t.Errorf("%+v", heard)
	}

	w.exec(`UPDATE download_jobs SET added_at = NULL, row_version = row_version + 1`) // the second one is not there yet
	if _, heard := w.pollOnce(); len(heard) != 1 || heard[0].Place != 1 {
		t.Errorf("%+v", heard)
	}

	job = w.next(job, 1)
	if _, heard := w.pollOnce(); len(heard) != 1 || heard[0].Place != 1 || heard[0].State != lifecycle.ObservedComplete {
		t.Errorf("%+v", heard)
	}
	if job = w.reload(job); job.ContentPath == "" || job.Progress != 1 || job.InfohashV1 != magnet(1)[20:] {
		t.Errorf("%+v", job)
	}
}

// TestLeftSourcesAreStopped stops an abandoned source's torrent if qBittorrent queues torrents, unless another download
// waits for it: it would keep its place in the queue forever.
func TestLeftSourcesAreStopped(t *testing.T) {
	t.Parallel()
	for name, queues := range map[string]bool{"with a queue": true, "without one": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWatcher(t, torrentsim.QBittorrentOptions{Version: "5.2.0", Queues: queues, Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
			job := w.several(1, 3)
			w.several(1, 2) // waits for the same first torrent
			w.pollOnce()
			w.next(job, 0)
			w.pollOnce()
			if got := w.torrent("job-1").State; got != "stalledDL" {
				t.Errorf("a torrent that another download waits for is %s", got)
			}

			job = w.next(job, 0)
			want := map[string]string{"job-1": "stalledDL", "job-1.2": "stalledDL", job.Tag(): "stalledDL"}
			if queues {
				want["job-1.2"] = "stoppedDL"
			}
			_, heard := w.pollOnce()
			for tag, state := range want {
				if got := w.torrent(tag).State; got != state {
					t.Errorf("%s is %s, want %s", tag, got, state)
				}
			}
			for _, o := range heard {
				if o.Stopped {
					t.Errorf("the job is told of its own stop: %+v", o)
				}
			}
		})
	}
}

// TestStoppedByOthers notifies of a torrent stopped by someone other than this service, in all versions, and of its
// resumption. The record shows why the download waits.
func TestStoppedByOthers(t *testing.T) {
	t.Parallel()
	for _, shown := range []string{"pausedDL", "stoppedDL"} {
		w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
		job := w.added(magnet(1))
		w.wantHeard("at first", "downloading")
		w.change(job, state(shown))
		w.wantHeard("right after it was added")

		w.exec(`UPDATE download_jobs SET added_at = now() - interval '2 hours', progress_at = NULL`)
		w.wantHeard("stopped", " stopped")
		w.wantHeard("stopped still")
		if now := w.reload(job); now.WaitsFor() != lifecycle.WaitsForStart {
			t.Errorf("%s waits for %q: %+v", shown, now.WaitsFor(), now)
		}
		w.change(job, state("downloading"))
		w.Settings().StalledAfter = 0
		w.wantHeard("started", "downloading")
		if now := w.reload(job); now.Attention != "" {
			t.Errorf("%+v", now)
		}
	}
}

// TestAQueueWithADeadSource runs a download on the real qBittorrent with room for one active torrent: its first source
// has no peers.
func TestAQueueWithADeadSource(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("runs qBittorrent")
	}
	server, err := servers.StartQBittorrent(t.Context(), servers.QBittorrentOptions{Dir: t.TempDir()})
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = server.Stop() })

	w := newWatcher(t, torrentsim.QBittorrentOptions{})
	torrents := qbittorrent.New(qbittorrent.Options{
		URL: server.URL, Username: server.Username, Password: server.Password, Timeout: 5 * time.Second,
		ActiveCategory: "active", DoneCategory: "done", Media: download.MediaTypes,
	})
	w.Activities.Torrents, w.Sync.Torrents, w.Activities.Settings.SavePath = torrents, torrents, server.Downloads
	admin := qbt.NewClient(qbt.Config{Host: server.URL, Username: server.Username, Password: server.Password, RetryAttempts: 1})
	w.must(admin.SetPreferencesCtx(t.Context(), map[string]any{
		"queueing_enabled": true, "max_active_downloads": 1, "max_active_torrents": 1, "max_active_uploads": 1,
	}))

	good, err := w.seed.Add(torrentsim.TorrentSpec{Name: "good.bin", Size: 50_000})
	w.must(err)
	job := w.several(1, 2)
	w.exec(`UPDATE download_sources SET source_url = $1 WHERE place = 2`, good.URL)
	shows := func(tag string, states ...string) bool {
		w.pollOnce()
		found, err := torrents.Find(t.Context(), tag, "", "")
		return err == nil && found != nil && slices.Contains(states, found.Shown)
	}
	until := func(what string, holds func() bool) {
		for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	until("the dead source does not begin", func() bool { return shows("job-1", "metaDL", "forcedMetaDL") })
	job = w.next(job, 0)
	until("the dead source keeps its place", func() bool { return shows("job-1", "pausedDL", "stoppedDL") })
	until("the good source is not downloaded", func() bool { return shows(job.Tag(), "uploading", "stalledUP", "queuedUP", "pausedUP", "stoppedUP") })
}

// TestUnsuitableStaysLeft never returns to a source without files of the medium, even if its torrent is complete.
func TestUnsuitableStaysLeft(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	full, done := 1.0, "stalledUP"
	completes := func(tag string) {
		w.must(w.qb.Change(tag, torrentsim.TorrentChange{Progress: &full, State: &done}))
	}
	job := w.several(1, 3)
	completes("job-1")

	for _, by := range []lifecycle.DownloadSwitch{{From: 1, Outcome: fault.MediumUnsuitable}, {From: 2, To: 1}} {
		by.JobID = job.ID
		_, err := w.env.ExecuteActivity(w.NextSource, by)
		w.must(err)
		if job = w.reload(job); job.SourcePlace != 2 || job.Sources[0].Outcome != string(fault.MediumUnsuitable) {
			t.Errorf("%+v", job)
		}
		w.wantHeard("the second one is not there yet")
	}

	w.must(w.add(job))
	w.wantHeard("the second one is there", "downloading")
	w.next(job, 0)
	w.wantHeard("the metadata of the third one", "downloading")
	completes("job-1.2")
	if _, heard := w.pollOnce(); len(heard) != 1 || heard[0].Place != 2 {
		t.Errorf("%+v", heard)
	}
}

// TestTidyOfSources removes what a completed job does not need, and keeps what another job holds.
func TestTidyOfSources(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	job := w.next(w.next(w.several(1, 3), 0), 0)
	gone := w.next(w.several(5, 2), 0) // its first source's torrent is removed by hand
	w.must(w.qb.Remove(magnet(5)[20:]))
	other := w.added(magnet(2))
	failed := w.next(w.several(7, 2), 0)
	for range 2 {
		w.pollOnce()
		w.within(w.sweepTags)
	}
	if got := fmt.Sprint(w.tags()); got != "[1[job-1] 2[job-1.2 job-3] 3[job-1.3] 6[job-2.2] 7[job-4] 8[job-4.2]]" {
		t.Error(got)
	}

	w.end(job, lifecycle.DownloadActionComplete)
	w.end(gone, lifecycle.DownloadActionComplete)
	w.end(failed, lifecycle.DownloadActionFail)
	for range 3 {
		w.pollOnce()
		w.within(w.sweepTags)
	}
	if got := fmt.Sprint(w.tags()); got != "[2[job-1.2 job-3] 3[job-1.3] 6[job-2.2] 7[] 8[]]" {
		t.Error(got)
	}
	if got := fmt.Sprint(w.qb.Tags()); got != "[job-1.2 job-1.3 job-2.2 job-3]" {
		t.Error(got)
	}
	w.end(other, lifecycle.DownloadActionCancel)
	w.pollOnce()
	if got := fmt.Sprint(w.tags()); got != "[3[job-1.3] 6[job-2.2] 7[] 8[]]" {
		t.Error(got)
	}
}

// TestRemoveAllSources removes the torrents of all sources of a cancelled job, except one held by another job.
func TestRemoveAllSources(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	job := s.next(s.next(s.several(1, 4), 0), 0)
	s.added(magnet(2))
	s.must(s.remove(job))
	if got := fmt.Sprint(s.tags()); got != "[2[job-2]]" {
		t.Error(got)
	}
	if got := fmt.Sprint(s.qb.Tags()); got != "[job-2]" {
		t.Error(got)
	}
}

// TestPlanTidyOfSources sorts torrents of jobs with several sources.
func TestPlanTidyOfSources(t *testing.T) {
	t.Parallel()
	ended := map[int64]download.EndedDownload{
		1: {ID: 1, Status: lifecycle.DownloadCompleted, Place: 2},
		2: {ID: 2, Status: lifecycle.DownloadFailed, Place: 2},
		3: {ID: 3, Status: lifecycle.DownloadCanceled, Place: 2},
	}
	for tags, want := range map[string]string{
		"job-1": "1 0 0 [job-1]", "job-1.2": "0 0 1 []", "job-1.3": "1 0 0 [job-1.3]",
		"job-1 job-1.2": "0 0 1 [job-1]", "job-1 job-9": "0 0 0 []", "job-1 job-2": "0 1 1 [job-1 job-2]",
		"job-2": "0 1 1 [job-2]", "job-2.2": "0 1 1 [job-2.2]", "job-3.2": "1 0 0 [job-3.2]",
	} {
		plan := planTidy([]qbittorrent.Torrent{{Tags: strings.Fields(tags)}}, ended)
		if got := fmt.Sprint(len(plan.remove), len(plan.stop), len(plan.finish), plan.tags); got != want {
			t.Errorf("%s: %s, want %s", tags, got, want)
		}
	}
}
