package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"stagecoach/dev/night"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// troubled is one round of TestNightDownloadFaults: some downloads and their faults.
type troubled struct {
	*library
	*rapid.T
	stand    *standIn
	made     []*torrentsim.SeededTorrent
	jobs     []download.Download
	reader   account.User
	restarts *workerRestarts
	log      []string
}

// workerRestarts counts the worker's restarts over all rounds.
type workerRestarts struct{ stops, kills int }

// maxKills bounds the time of the test: the loss of a killed worker is only noticed after seconds.
const maxKills = 2

// TestNightDownloadFaults draws random sequences of faults: qBittorrent is unavailable, restarts, loses torrents,
// responds with errors or not at all; torrents fail, or are removed by hand; users cancel; the worker is restarted or
// killed. Then all faults end. Every download reaches one final state, on which record, Temporal and qBittorrent agree,
// and nothing else is changed. STAGECOACH_FAULTS_TIME sets the duration.
func TestNightDownloadFaults(t *testing.T) {
	t.Parallel()
	night.Only(t)
	stand := newStandIn(t)
	l := newLibrary(t, stand, nil)
	l.careless = true
	l.startWorker()
	lasts := 30 * time.Second

	if text := os.Getenv("STAGECOACH_FAULTS_TIME"); text != "" {
		var err error
		lasts, err = time.ParseDuration(text)
		must(t, err)
	}

	deadline := time.Now().Add(lasts)
	rounds, ends, restarts := 0, map[string]int{}, &workerRestarts{}
	rapid.Check(t, func(r *rapid.T) {
		if time.Now().After(deadline) {
			return
		}

		rounds++
		round := &troubled{library: l, T: r, stand: stand, reader: l.reader(), restarts: restarts}
		for i := range rapid.IntRange(1, 3).Draw(r, "torrents") {
			kind := rapid.SampledFrom([]torrentsim.TorrentKind{
				torrentsim.TorrentV1, torrentsim.TorrentV2, torrentsim.TorrentHybrid,
			}).Draw(r, "kind")
			round.made = append(
				round.made,
				l.torrent(
					fmt.Sprintf("round-%d-%d.epub", rounds, i), torrentsim.TorrentSpec{NoSeed: true, Kind: kind, Size: 1 << 16},
				),
			)
		}

		for range rapid.IntRange(1, 4).Draw(r, "downloads") {
			round.ask()
		}

		for range rapid.IntRange(5, 20).Draw(r, "steps") {
			round.step()
		}

		round.heal()
		var troubles []string
		for _, job := range round.jobs {
			job = l.over(job)
			troubles = append(troubles, round.disagreements(job)...)
			ends[fmt.Sprintf("%s %s", job.State, reasonOf(job))]++
		}

		if trouble := round.leftOver(); trouble != "" {
			troubles = append(troubles, trouble)
		}

		if len(troubles) > 0 {
			r.Fatalf("%s\nafter: %s", strings.Join(troubles, "\n"), strings.Join(round.log, ", "))
		}
	})

	t.Logf("%d rounds, %d worker restarts, %d kills: %v", rounds, restarts.stops, restarts.kills, ends)
}

func reasonOf(job download.Download) string {
	if job.FailureReason == nil {
		return ""
	}
	return *job.FailureReason
}

func (r *troubled) note(format string, args ...any) {
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

// ask requests one of the round's torrents.
func (r *troubled) ask() {
	made := rapid.SampledFrom(r.made).Draw(r.T, "torrent")
	link := made.URL
	if rapid.Bool().Draw(r.T, "magnet") {
		link = made.Magnet()
	}
	job := r.library.ask(r.reader, link)
	r.jobs = append(r.jobs, job)
	r.note("ask %d for %s", job.ID, made.Name)
}

// step causes one fault, and lets some time pass.
func (r *troubled) step() {
	job := rapid.SampledFrom(r.jobs).Draw(r.T, "job")
	made := rapid.SampledFrom(r.made).Draw(r.T, "torrent")
	switch rapid.IntRange(0, 11).Draw(r.T, "what") { // the first ones are drawn most often
	case 0:
		r.note("remove %s by hand", made.Name)
		_ = r.stand.Remove(made.Name) // it may not exist
	case 1:
		state := rapid.SampledFrom([]string{
			"error", "missingFiles", "pausedDL", "checkingDL", "moving", "whatever",
		}).Draw(r.T, "state")
		r.note("%s shows %s", made.Name, state)
		_ = r.stand.Change(made.Name, torrentsim.TorrentChange{State: &state})
	case 2:
		// The foreign torrent was added first, and is never lost.
		r.stand.lose = min(rapid.IntRange(0, 2).Draw(r.T, "lost"), len(r.stand.Torrents())-1)
		r.note("restart without the last %d", r.stand.lose)
		r.away(0)
	case 3, 4:
		f := sim.Fault{
			Match: rapid.SampledFrom([]string{
				"/torrents/", "/torrents/info", "/torrents/add", "/torrents/delete", "/torrents/setCategory", "Tags", "/auth/login",
			}).Draw(r.T, "where"),
			Kind: rapid.SampledFrom([]string{
				"500", "503", "409", "403", "fails", "cut", "lost_answer", "timeout", "html_502",
			}).Draw(r.T, "fault"),
			Times: rapid.IntRange(1, 3).Draw(r.T, "times"),
		}
		if f.Match == "/auth/login" && (f.Kind == "403" || f.Kind == "fails") {
			f.Kind = "500" // a refused login is only retried after a minute
		}

		r.stand.AddFault(f)
		r.note("%s %s ×%d", f.Match, f.Kind, f.Times)
	case 5, 6:
		r.note("cancel %d", job.ID)
		hasty := *r.downloads
		hasty.CancelPatience = 0
		_, err := hasty.Cancel(r.rig.Context(), r.reader, job.ID, rapid.Bool().Draw(r.T, "keep"), "")
		if err != nil && !fault.As(err).Retryable && fault.CodeOf(err) != fault.InvalidTransition {
			r.Errorf("cancel of download %d: %v", job.ID, err)
		}
	case 7:
		r.note("away")
		r.away(time.Duration(rapid.IntRange(1, 15).Draw(r.T, "away")) * 100 * time.Millisecond)
	case 8:
		whole := 1.0
		r.note("%s is there", made.Name)
		_ = r.stand.Change(made.Name, torrentsim.TorrentChange{Progress: &whole})
	case 9:
		r.restartWorker()
	default:
		r.ask()
	}

	time.Sleep(time.Duration(rapid.IntRange(0, 6).Draw(r.T, "pause")) * 50 * time.Millisecond)
}

func (r *troubled) away(pause time.Duration) {
	r.stand.kill()
	time.Sleep(pause)
	r.stand.restart(r.TB)
}

func (r *troubled) restartWorker() {
	if rapid.Bool().Draw(r.T, "kill") && r.restarts.kills < maxKills {
		r.restarts.kills++
		r.note("kill the worker")
		r.worker.kill()
	} else {
		r.restarts.stops++
		r.note("stop the worker")
		r.worker.stop()
	}
	r.startWorker()
}

// heal ends all faults, and lets the existing torrents complete.
func (r *troubled) heal() {
	r.stand.ClearFaults()
	whole, goesOn := 1.0, ""
	deadline := time.Now().Add(wait.Patience)
	for {
		live := 0
		for _, job := range r.jobs {
			if job = r.now(job); !lifecycle.Download.Terminal(job.State) {
				live++
			}
		}

		if live == 0 {
			return
		}
		if time.Now().After(deadline) {
			r.Fatalf("%d downloads never end: %s", live, strings.Join(r.log, ", "))
		}

		for _, t := range r.stand.Torrents() {
			if t.Category != activeCategory {
				continue
			}
			if t.State != "error" && t.State != "missingFiles" { // the service must repair these itself
				_ = r.stand.Change(t.Hash, torrentsim.TorrentChange{State: &goesOn})
			}
			if t.Progress < 1 {
				_ = r.stand.Change(t.Hash, torrentsim.TorrentChange{Progress: &whole})
			}
		}

		time.Sleep(pollEvery)
	}
}

// leftOver checks what all rounds left behind.
func (r *troubled) leftOver() (trouble string) {
	if r.soon(func() bool { trouble = r.untidy(); return trouble == "" }) {
		return ""
	}
	return trouble
}
