package download

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// several is a job with so many sources, whose first torrent qBittorrent has: magnet(first) and those after it.
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

// next leaves a job's source, and adds the torrent of the next one.
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

// TestTellsOfOtherSources tells of a source that is overdue while others are left, and of the completion of another one.
func TestTellsOfOtherSources(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	w.Sync.Settings.NextAfter = 10 * time.Minute
	job := w.several(1, 2)
	w.wantHeard("at first", "downloading")
	idle := func() {
		w.exec(`UPDATE download_jobs SET progress_at = now() - interval '11 minutes'`)
	}

	idle()
	for _, waits := range []string{"queuedDL", "pausedDL", "checkingDL"} {
		w.change(job, state(waits))
		w.wantHeard(waits)
	}
	w.change(job, state("stalledDL"))
	w.wantHeard("stalled", "downloading next")
	if heard := w.ears.heard; heard[0].Place != 1 {
		t.Errorf("%+v", heard)
	}

	job = w.next(job, 0)
	if got := fmt.Sprint(w.tags()); got != "[1[job-1] 2[job-1.2]]" || job.Tag() != "job-1.2" || job.SavePath != "/books/job-1.2" {
		t.Errorf("%s, %+v", got, job)
	}
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

// TestUnsuitableStaysLeft never returns to a source without files of the medium, though its torrent is complete.
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
	gone := w.next(w.several(5, 2), 0) // the torrent of its first source is removed by hand
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

// TestRemoveAllSources removes the torrents of all of a job's sources when it is cancelled, except one of another job.
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
