package e2e

import (
	"net/http"
	"strings"
	"time"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// unchanged fails the test if a job's row has changed.
func (l *library) unchanged(before download.Download) {
	l.Helper()
	after := l.now(before)
	before.Now = after.Now
	if !sameDownload(before, after) {
		l.Errorf("download %d was\n%+v, and is\n%+v", before.ID, before, after)
	}
}

// sameDownload compares the fields that writers change. The structs contain pointers and times, so == does not work.
func sameDownload(a, b download.Download) bool {
	return a.RowVersion == b.RowVersion && a.State == b.State && a.UpdatedAt.Equal(b.UpdatedAt) && a.Progress == b.Progress &&
		a.LastError == b.LastError && (a.FirstNotFoundAt == nil) == (b.FirstNotFoundAt == nil)
}

// noted waits until the watcher knows whether qBittorrent answers.
func (l *library) noted(answers bool) {
	l.Helper()
	wait.Eventually(l, "the watcher knows whether qBittorrent answers", func() bool {
		state, err := l.store.Downloads.Polls(l.Context())
		return err == nil && (state.Failure == "") == answers && state.PolledAt != nil
	})
}

// qbittorrentAway is an outage longer than the grace period: no job is changed, and new requests wait.
func qbittorrentAway(l *library) {
	ann := l.reader()
	stays, goes, late := l.unseeded("stays.epub"), l.unseeded("goes.epub"), l.unseeded("late.epub")
	staying, going := l.downloading(l.ask(ann, stays.URL)), l.downloading(l.ask(ann, goes.URL))
	l.torrents.kill()
	l.noted(false)
	before := l.now(staying)
	waiting := l.ask(ann, late.URL)
	waiting = l.becomes(
		waiting, "waiting for qBittorrent",
		func(d download.Download) bool { return d.LastError == string(fault.ProviderUnavailable) },
	)

	if got, err := l.downloads.Cancel(l.Context(), ann, going.ID, false, ""); fault.CodeOf(err) != fault.ProviderUnavailable || got.State != lifecycle.DownloadDownloading {
		l.Errorf("a cancel meanwhile: %s, %v", got.State, err)
	}

	time.Sleep(grace + 3*pollEvery)
	l.unchanged(before)
	if now := l.now(waiting); now.State != lifecycle.DownloadQueued {
		l.Errorf("what was asked meanwhile: %+v", now)
	}

	l.torrents.restart(l)
	l.noted(true)
	l.ends(going, lifecycle.DownloadCanceled, "")
	for _, made := range []*torrentsim.SeededTorrent{stays, late} {
		l.torrents.release(l, made)
	}

	for _, job := range []download.Download{staying, waiting} {
		l.completes(job)
	}
}

// qbittorrentKilled kills qBittorrent when part of the content is downloaded; that part is kept.
func qbittorrentKilled(l *library) {
	made := l.torrent("killed.epub", torrentsim.TorrentSpec{Size: 6 * seedSpeed})
	job := l.ask(l.reader(), made.URL)
	if stand, ok := l.torrents.(*standIn); ok {
		stand.pace(l, made, 6*time.Second)
	}

	l.becomes(job, "a third done", func(d download.Download) bool { return d.Progress > 0.3 })
	l.torrents.kill()
	l.seed.SetSpeed(0)
	defer l.seed.SetSpeed(seedSpeed)

	l.torrents.restart(l)
	job = l.completes(job)
	l.wantContent(job, made)
	if story := l.story(job); story[len(story)-1] != "completed" {
		l.Errorf("events %v", story)
	}
}

// torrentLost kills qBittorrent before it has saved a new torrent, which is then added again.
func torrentLost(l *library) {
	made := l.unseeded("lost.epub")
	job := l.added(l.ask(l.reader(), made.URL))
	if stand, ok := l.torrents.(*standIn); ok {
		l.downloading(job)
		stand.lose = 1
	}

	l.torrents.kill()
	l.torrents.restart(l)
	wait.Eventually(l, "it is there again", func() bool { return l.tagged(job) != nil })
	l.torrents.release(l, made)
	job = l.completes(job)
	story := l.story(job)
	l.Logf("events %v", story)
	if _, ok := l.torrents.(*standIn); ok {
		l.wantStory(job, "enqueued", "started", "went_missing", "found_again", "completed")
	}
}

// wrongPassword gives the worker a wrong password: jobs wait, and qBittorrent does not ban this address.
func wrongPassword(l *library) {
	ann := l.reader()
	running, late := l.unseeded("running.epub"), l.unseeded("while-locked-out.epub")
	first := l.downloading(l.ask(ann, running.URL))
	l.whole.worker.stop()
	before := l.now(first)
	l.env["STAGECOACH_QBITTORRENT_PASSWORD"] = "wrong"
	locked := time.Now()
	l.whole.startWorker()
	second := l.ask(ann, late.URL)
	second = l.becomes(
		second, "waiting for the password",
		func(d download.Download) bool { return d.LastError == string(fault.ProviderUnauthorized) },
	)

	l.noted(false)
	time.Sleep(grace + 5*pollEvery)
	l.unchanged(before)
	if second = l.now(second); second.State != lifecycle.DownloadQueued {
		l.Errorf("without a login: %+v", second)
	}

	if stand, ok := l.torrents.(*standIn); ok { // the worker tries again after a minute
		if refused, most := stand.logins(before.UpdatedAt), 1+int(time.Since(locked)/time.Minute); refused < 1 || refused > most {
			l.Errorf("%d tries to log in with the wrong password, want 1 to %d", refused, most)
		}
	}

	if err := webClient(l.torrents.login()).LoginCtx(l.Context()); err != nil { // from the same address
		l.Errorf("the right password: %v", err)
	}

	l.whole.worker.stop()
	_, _, l.env["STAGECOACH_QBITTORRENT_PASSWORD"] = l.torrents.login()
	l.whole.startWorker()
	l.torrents.release(l, running)
	l.completes(first)
	l.added(second)
	l.torrents.release(l, late)
	l.completes(second)
}

// logins counts login attempts since a point in time.
func (s *standIn) logins(since time.Time) (n int) {
	for _, request := range s.Requests() {
		if request.Method == http.MethodPost && strings.HasSuffix(request.Path, "/auth/login") && request.At.After(since) {
			n++
		}
	}
	return n
}

// fullDisk fills the disk during downloads: each torrent is resumed once, then its job fails.
func fullDisk(l *library) {
	stand, ok := l.torrents.(*standIn)
	if !ok {
		l.Skip("no disk to fill")
	}

	made := l.unseeded("full-disk.epub")
	job := l.downloading(l.ask(l.reader(), made.URL))
	must(l, stand.SetFreeSpace(0))
	defer func() {
		goesOn := ""
		must(l, stand.SetFreeSpace(100<<30))
		must(l, stand.Change(l.foreign.Name, torrentsim.TorrentChange{State: &goesOn}))
	}()

	job = l.ends(job, lifecycle.DownloadFailed, string(fault.ProviderError))
	if job.ResumedAt == nil {
		l.Errorf("it was not tried again: %+v", job)
	}
}
