package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/store/download"
)

// TestNightDownloadWorkers runs two workers on thirty downloads: one of them polls, with one request at a time whatever
// their number. When it freezes, and when it is killed, the other one takes over, and every download ends.
func TestNightDownloadWorkers(t *testing.T) {
	t.Parallel()
	night.Only(t)
	stand := newStandIn(t)
	l := newLibrary(t, stand, nil)
	workers := []*program{l.startWorker(), l.startWorker()}
	const jobs = 30
	ann := l.reader()
	var made []*torrentsim.SeededTorrent
	var all []download.Download
	for i := range jobs {
		made = append(made, l.unseeded(fmt.Sprintf("of-thirty-%d.epub", i)))
		all = append(all, l.ask(ann, made[i].URL))
	}

	for _, job := range all {
		l.downloading(job)
	}

	finish := func(some []*torrentsim.SeededTorrent, theirs []download.Download) {
		for _, torrent := range some {
			stand.release(l, torrent)
		}
		for _, job := range theirs {
			l.wantStory(l.completes(job), "enqueued", "started", "completed")
		}
	}

	began, start := len(stand.polls()), time.Now()
	wait.Eventually(t, "some more polls", func() bool { return len(stand.polls())-began >= 20 })
	polls := stand.polls()[began:]
	if window, most := time.Since(start), int(time.Since(start)/pollEvery)+2; len(polls) > most {
		t.Errorf("%d polls in %s, want at most %d", len(polls), window, most)
	}

	poller := workers[l.whoPolls(workers)]
	must(t, poller.Process.Signal(syscall.SIGSTOP))
	frozen := time.Now()
	finish(made[:10], all[:10])
	t.Logf("after the watcher froze, ten downloads were completed within %s", time.Since(frozen).Round(time.Second))
	must(t, poller.Process.Signal(syscall.SIGCONT))
	finish(made[10:20], all[10:20])

	doomed := l.whoPolls(workers)
	late := l.unseeded("asked-before-the-kill.epub")
	last := l.ask(ann, late.URL)
	workers[doomed].kill()
	killed := time.Now()
	stand.release(l, late)
	finish(append(made[20:], late), append(all[20:], last))
	t.Logf(
		"after the watcher was killed, eleven downloads were completed within %s", time.Since(killed).Round(time.Second),
	)
	l.wantTidy()
}

// polls lists the requests for all active torrents.
func (s *standIn) polls() (polls []sim.Request) {
	for _, request := range s.Requests() {
		if strings.HasSuffix(request.Path, "/torrents/info") && request.Query == "category="+activeCategory {
			polls = append(polls, request)
		}
	}
	return polls
}

// whoPolls freezes each worker for a moment and checks whether the polls continue. They stop without one worker only, or
// the machine was busy.
func (l *library) whoPolls(workers []*program) (poller int) {
	l.Helper()
	stand := l.torrents.(*standIn)
	wait.Eventually(l, "the polls stop without one of the workers", func() bool {
		quiet := 0
		for i, worker := range workers {
			must(l, worker.Process.Signal(syscall.SIGSTOP))
			time.Sleep(2 * pollEvery) // its last request has been answered
			before := len(stand.polls())
			time.Sleep(10 * pollEvery)
			if len(stand.polls()) == before {
				poller = i
				quiet++
			}
			must(l, worker.Process.Signal(syscall.SIGCONT))
		}
		return quiet == 1
	})
	return poller
}
