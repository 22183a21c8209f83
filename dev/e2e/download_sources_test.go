package e2e

import (
	"slices"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// impatient makes a stalled source give way to the next one soon.
var impatient = map[string]string{"STAGECOACH_DOWNLOAD_NEXT_AFTER": "5s"}

// TestLongDownloadSources downloads from several sources with the simulator.
func TestLongDownloadSources(t *testing.T) {
	night.Only(t)
	t.Parallel()
	runDownloadSources(t, newStandIn(t))
}

// TestNightDownloadSources is TestLongDownloadSources with the real qBittorrent, if it is installed.
func TestNightDownloadSources(t *testing.T) {
	t.Parallel()
	night.Only(t)
	runDownloadSources(t, newRealServer(t))
}

func runDownloadSources(t *testing.T, torrents torrents) {
	l := newLibrary(t, torrents, impatient)
	l.startWorker()
	l.parts(t, map[string]func(*library){
		"next":          nextSource,
		"earlier":       earlierSource,
		"not begun":     refusedSource,
		"fails through": noSourceLeft,
		"cancel":        canceledAtTheSecond,
	})
	l.wantTidy()
	t.Run("worker lost", func(t *testing.T) { sourceWithoutWorker(l.in(t)) })
}

// askOf requests a download of several sources.
func (l *library) askOf(links ...string) download.Download {
	l.Helper()
	user := l.reader()
	ask := downloads.Ask{BookID: l.book(user).ID, MediaType: download.MediaText, SourceURL: links[0]}
	for _, link := range links {
		ask.Sources = append(ask.Sources, download.Source{SourceURL: link})
	}
	job, _, err := l.downloads.Start(l.Context(), user, ask)
	must(l, err)
	return job
}

// at waits until a job tries a source, and qBittorrent has its torrent.
func (l *library) at(job download.Download, place int) download.Download {
	l.Helper()
	return l.becomes(job, "at another source", func(d download.Download) bool {
		return d.SourcePlace == place && d.AddedAt != nil
	})
}

// nextSource has a first source without seeds; the second one completes, and the first one's torrent is removed.
func nextSource(l *library) {
	dead, good := l.unseeded("dead.epub"), l.unseeded("good.epub")
	first := l.added(l.askOf(dead.URL, good.URL))
	l.at(first, 2)
	if there := l.find(dead); there == nil {
		l.Error("the first torrent has gone before the second one was complete")
	}

	l.torrents.release(l, good)
	job := l.completes(first)
	l.wantStory(job, "enqueued", "started", "next_source", "completed")
	l.wantContent(job, good)
	if job.SourceURL != good.URL || job.InfohashV1 != good.InfohashV1 || job.Sources[0].Outcome != "stalled" {
		l.Errorf("%+v", job)
	}
	wait.Eventually(l, "the first torrent is gone", func() bool { return l.find(dead) == nil })
	l.wantFiles(first, dead, false)

	seen := download.Source{SourceURL: "https://example.org/the-same", Infohash: dead.InfohashV1}
	failed, err := l.store.Downloads.Failed(l.Context(), job.UserID, job.BookID, job.MediaType, []download.Source{{SourceURL: dead.URL}, seen, {SourceURL: good.URL}})
	must(l, err)
	if !slices.Equal(failed, []bool{true, true, false}) {
		l.Errorf("remembered: %v", failed)
	}
}

// earlierSource completes the first source while the second one is tried.
func earlierSource(l *library) {
	slow, dead := l.unseeded("slow.epub"), l.unseeded("dead-too.epub")
	job := l.at(l.added(l.askOf(slow.Magnet(), dead.URL)), 2)
	l.torrents.release(l, slow)
	job = l.completes(job)
	if story := l.story(job); story[len(story)-2] != "earlier_source" && story[len(story)-3] != "earlier_source" {
		l.Errorf("%v", story)
	}
	l.wantContent(job, slow)
	wait.Eventually(l, "the second torrent is gone", func() bool { return l.find(dead) == nil })
}

// refusedSource has a first source that is not a torrent.
func refusedSource(l *library) {
	good := l.unseeded("good-second.epub")
	job := l.at(l.askOf(l.seed.URL+"/none.torrent", good.URL), 2)
	l.torrents.release(l, good)
	job = l.completes(job)
	l.wantStory(job, "enqueued", "next_source", "started", "completed")
	if job.Sources[0].Outcome != "SOURCE_REFUSED" {
		l.Errorf("%+v", job.Sources)
	}
}

// noSourceLeft fails with its last source.
func noSourceLeft(l *library) {
	job := l.ends(l.askOf(l.seed.URL+"/a.torrent", l.seed.URL+"/b.torrent", l.seed.URL+"/c.torrent"), lifecycle.DownloadFailed, "enqueue_failed")
	l.wantStory(job, "enqueued", "next_source", "next_source", "failed")
}

// canceledAtTheSecond removes the torrents of both sources.
func canceledAtTheSecond(l *library) {
	one, two := l.unseeded("canceled-1.epub"), l.unseeded("canceled-2.epub")
	job := l.at(l.askOf(one.URL, two.URL), 2)
	job = l.cancel(account.User{ID: job.UserID}, job, false)
	l.wantStory(job, "enqueued", "started", "next_source", "canceled")
	if l.find(one) != nil || l.find(two) != nil {
		l.Errorf("left: %s", l.shown())
	}
}

// sourceWithoutWorker loses the worker while sources are switched, and again before the second one completes.
func sourceWithoutWorker(l *library) {
	dead, good := l.unseeded("dead-3.epub"), l.unseeded("good-3.epub")
	job := l.added(l.askOf(dead.URL, good.URL))
	l.becomes(job, "at the second source", func(d download.Download) bool { return d.SourcePlace == 2 })
	l.worker.kill()
	l.startWorker()
	l.at(job, 2)
	l.worker.kill()
	l.torrents.release(l, good)
	l.startWorker()
	job = l.completes(job)
	l.wantContent(job, good)
	wait.Eventually(l, "the first torrent is gone", func() bool { return l.find(dead) == nil })
	l.wantTidy() // its worker ends with this part
}
