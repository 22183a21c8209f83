package e2e

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/downloads"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/download"
)

// TestDownloads runs downloads through all events with the simulator: first single downloads in parallel, then events
// that affect all at once.
func TestDownloads(t *testing.T) {
	t.Parallel()
	runDownloads(t, newStandIn(t))
}

// TestNightDownloads is TestDownloads with the real qBittorrent, if it is installed.
func TestNightDownloads(t *testing.T) {
	t.Parallel()
	night.Only(t)
	runDownloads(t, newRealServer(t))
}

func runDownloads(t *testing.T, torrents torrents) {
	l := newLibrary(t, torrents, nil)
	l.startWorker()
	l.parts(t, night.Cases(t, map[string]func(*library){
		"file":              fromFile,
		"magnet":            fromMagnet,
		"hybrid magnet":     fromHybridMagnet,
		"hybrid both ways":  hybridBothWays,
		"version 2":         fromVersion2,
		"there already":     thereAlready,
		"files gone":        filesGone,
		"twice":             askedTwice,
		"two readers":       sharedByTwo,
		"cancel":            canceled,
		"cancel and keep":   canceledAndKept,
		"cancel at once":    canceledAtOnce,
		"cancel hybrid":     canceledHybrid,
		"removed by hand":   removedByHand,
		"put back by hand":  putBackByHand,
		"foreign":           alreadyForeign,
		"no torrent":        noTorrent,
		"bad path":          badPath,
		"cancel at the end": canceledAtTheEnd,
	}, "file", "magnet", "two readers", "cancel hybrid", "removed by hand"))

	l.wantTidy()
	for _, storm := range []struct {
		name string
		part func(*library)
	}{
		{"qBittorrent is away", qbittorrentAway},
		{"qBittorrent is killed in the middle", qbittorrentKilled},
		{"qBittorrent loses a torrent", torrentLost},
		{"wrong password", wrongPassword},
		{"full disk", fullDisk},
	} {
		if !night.Enabled() && storm.name != "qBittorrent is killed in the middle" {
			continue
		}
		t.Run(storm.name, func(t *testing.T) { storm.part(l.in(t)) })
	}

	l.wantTidy()
}

// fromFile downloads the content of a .torrent file, and checks its progress.
func fromFile(l *library) {
	made := l.torrent("from-file.epub", torrentsim.TorrentSpec{Size: 6 * seedSpeed})
	job := l.ask(l.reader(), made.URL)
	stand, steered := l.torrents.(*standIn)
	if steered {
		half, long := 0.5, time.Hour
		stand.change(l, made, torrentsim.TorrentChange{Progress: &half, Duration: &long})
	}

	job = l.becomes(job, "growing", func(d download.Download) bool {
		return d.Progress > 0.1 && d.Progress < 1 && d.Speed > 0 && d.State == lifecycle.DownloadDownloading
	})
	if job.Size != made.Size || *job.ExternalJobID != made.Hash() || job.InfohashV1 != made.InfohashV1 {
		l.Errorf("on the way: %+v", job)
	}

	if steered {
		l.torrents.release(l, made)
	}

	job = l.completes(job)
	l.wantStory(job, "enqueued", "started", "completed")
	l.wantContent(job, made)
}

// fromMagnet waits for the metadata first.
func fromMagnet(l *library) {
	made := l.unseeded("from-magnet.epub")
	job := l.added(l.ask(l.reader(), made.Magnet()))
	wait.Eventually(l, "it looks for the metadata", func() bool {
		there := l.tagged(job)
		return there != nil && there.State == "metaDL"
	})
	time.Sleep(3 * pollEvery)
	if job = l.now(job); job.State != lifecycle.DownloadQueued {
		l.Errorf("without metadata: %+v", job)
	}

	l.torrents.release(l, made)
	job = l.completes(job)
	l.wantStory(job, "enqueued", "started", "completed")
	l.wantContent(job, made)
}

// fromHybridMagnet starts with one hash, and gets another one with the metadata.
func fromHybridMagnet(l *library) {
	job, made := l.hybrid("hybrid.epub")
	if id := *job.ExternalJobID; id != made.InfohashV1 || job.InfohashV2 != "" {
		l.Errorf("without metadata: %+v", job)
	}

	l.torrents.release(l, made)
	job = l.completes(job)
	there := l.tagged(job)
	if *job.ExternalJobID != there.Hash || job.InfohashV1 != made.InfohashV1 || job.InfohashV2 != there.InfohashV2 || there.Hash == made.InfohashV1 {
		l.Errorf("%+v, and the torrent %+v", job, there)
	}

	l.wantContent(job, made)
}

// hybrid requests a torrent with both kinds of hashes by a link that has only one of them.
func (l *library) hybrid(name string) (download.Download, *torrentsim.SeededTorrent) {
	l.Helper()
	made := l.torrent(name, torrentsim.TorrentSpec{NoSeed: true, Kind: torrentsim.TorrentHybrid})
	job := l.ask(l.reader(), "magnet:?xt=urn:btih:"+made.InfohashV1)
	job = l.becomes(job, "known by its hash", func(d download.Download) bool { return d.ExternalJobID != nil })
	return job, made
}

// hybridBothWays requests one torrent by a link with one of its hashes, and by its file, which gives it another id.
func hybridBothWays(l *library) {
	first, made := l.hybrid("both-ways.epub")
	second := l.added(l.ask(l.reader(), made.URL))
	l.torrents.release(l, made)
	first, second = l.completes(first), l.completes(second)
	if *first.ExternalJobID != *second.ExternalJobID || first.ContentPath != second.ContentPath {
		l.Errorf("%+v beside %+v", first, second)
	}
	l.wantContent(first, made)
}

func fromVersion2(l *library) {
	made := l.torrent("version-2.epub", torrentsim.TorrentSpec{Kind: torrentsim.TorrentV2, NoSeed: true})
	job := l.ask(l.reader(), made.URL)
	l.downloading(job)
	l.torrents.release(l, made)
	job = l.completes(job)
	if job.InfohashV1 != "" || job.InfohashV2 != made.InfohashV2 || *job.ExternalJobID != made.InfohashV2[:40] {
		l.Errorf("%+v", job)
	}
	l.wantContent(job, made)
}

// thereAlready requests content whose files exist already, and then the content of another job that has completed.
func thereAlready(l *library) {
	made := l.unseeded("there-already.epub")
	job := l.record(l.reader(), made.URL)
	if folder := l.torrents.downloads(); folder != "" {
		path := filepath.Join(folder, job.Tag())
		must(l, os.MkdirAll(path, 0o755))
		must(l, os.WriteFile(filepath.Join(path, made.Name), l.content(made.Name), 0o644))
		l.launch(job)
	} else {
		l.launch(job)
		l.torrents.release(l, made)
	}

	job = l.completes(job)
	l.wantStory(job, "enqueued", "started", "completed")

	again := l.completes(l.ask(l.reader(), made.Magnet()))
	l.wantStory(again, "enqueued", "started", "completed")
	if again.ContentPath != job.ContentPath {
		l.Errorf("it lies at %s and at %s", job.ContentPath, again.ContentPath)
	}
}

// filesGone requests content again that was completed and whose files were deleted since: it is complete when they
// exist again.
func filesGone(l *library) {
	made := l.torrent("files-gone.epub", torrentsim.TorrentSpec{Size: 100_000})
	first := l.ask(l.reader(), made.URL)
	stand, steered := l.torrents.(*standIn)
	if steered {
		stand.release(l, made)
	}

	first = l.completes(first)
	wait.Eventually(l, "it is done", func() bool {
		there := l.find(made)
		return there != nil && there.Category == doneCategory+"-"+first.MediaType
	})

	if steered {
		gone := true
		stand.change(l, made, torrentsim.TorrentChange{Gone: &gone})
	} else {
		must(l, os.Remove(first.ContentPath))
	}

	again := l.completes(l.ask(l.reader(), made.URL))
	l.wantStory(again, "enqueued", "started", "completed")
	l.wantContent(again, made)
}

// askedTwice requests one torrent for two books, and again for the first of them.
func askedTwice(l *library) {
	ann, made := l.reader(), l.unseeded("asked-twice.epub")
	first := l.added(l.ask(ann, made.URL))
	second := l.added(l.ask(ann, made.Magnet()))
	again, created, err := l.downloads.Start(
		l.Context(), ann, downloads.Ask{BookID: first.BookID, MediaType: download.MediaText, SourceURL: made.URL},
	)
	if err != nil || created || again.ID != first.ID {
		l.Errorf("asked again: %+v, %v", again, err)
	}
	if there := l.find(made); there == nil || !slices.Contains(tagsOf(*there), first.Tag()) || !slices.Contains(tagsOf(*there), second.Tag()) {
		l.Errorf("the torrent is %+v", there)
	}

	l.torrents.release(l, made)
	first, second = l.completes(first), l.completes(second)
	if first.ContentPath != second.ContentPath {
		l.Errorf("it lies at %s and at %s", first.ContentPath, second.ContentPath)
	}

	anew, created, err := l.downloads.Start(
		l.Context(), ann, downloads.Ask{BookID: first.BookID, MediaType: download.MediaText, SourceURL: made.URL},
	)
	if err != nil || !created {
		l.Fatalf("after the end: %+v, %v", anew, err)
	}

	l.over(anew)
}

// sharedByTwo requests one torrent for two readers: one cancels, the other keeps it.
func sharedByTwo(l *library) {
	ann, bob, made := l.reader(), l.reader(), l.unseeded("shared.epub")
	hers := l.downloading(l.ask(ann, made.URL))
	his := l.downloading(l.ask(bob, made.URL))
	if _, err := l.downloads.Cancel(l.Context(), bob, hers.ID, false, ""); fault.CodeOf(err) != fault.DownloadNotFound {
		l.Errorf("a cancel of somebody else's: %v", err)
	}

	l.cancel(ann, hers, false)
	if there := l.tagged(his); there == nil || slices.Contains(tagsOf(*there), hers.Tag()) {
		l.Errorf("the torrent is %+v", there)
	}

	l.torrents.release(l, made)
	his = l.completes(his)
	l.wantContent(his, made)
	if his.SavePath == hers.SavePath {
		l.Errorf("both would lie at %s", his.SavePath)
	}
}

// askToCancel cancels a job like a person who repeats requests that no worker accepts in time.
func (l *library) askToCancel(user account.User, job download.Download, keepFiles bool) (got download.Download, err error) {
	l.Helper()
	key := nonce()
	l.soon(func() bool {
		got, err = l.downloads.Cancel(l.Context(), user, job.ID, keepFiles, key)
		return fault.CodeOf(err) != fault.TemporalUnavailable
	})
	return got, err
}

// cancel ends a job and checks it.
func (l *library) cancel(user account.User, job download.Download, keepFiles bool) download.Download {
	l.Helper()
	got, err := l.askToCancel(user, job, keepFiles)
	if err != nil || got.State != lifecycle.DownloadCanceled {
		l.Fatalf("cancel of download %d: %s, %v", job.ID, got.State, err)
	}
	return l.ends(got, lifecycle.DownloadCanceled, "")
}

func canceled(l *library) {
	ann, job, made := l.growing("canceled.epub")
	l.wantFiles(job, made, true)
	job = l.cancel(ann, job, false)
	l.wantStory(job, "enqueued", "started", "canceled")
	l.wantFiles(job, made, false)
	if there := l.find(made); there != nil {
		l.Errorf("the torrent is there: %+v", there)
	}
	if _, err := l.downloads.Cancel(l.Context(), ann, job.ID, false, ""); fault.CodeOf(err) != fault.InvalidTransition {
		l.Errorf("once more: %v", err)
	}
}

func canceledAndKept(l *library) {
	ann, job, made := l.growing("kept.epub")
	l.cancel(ann, job, true)
	if there := l.find(made); there != nil {
		l.Errorf("the torrent is there: %+v", there)
	}
	l.wantFiles(job, made, true)
}

// growing is a download that has part of its content and never completes.
func (l *library) growing(name string) (account.User, download.Download, *torrentsim.SeededTorrent) {
	l.Helper()
	made, ann := l.torrent(name, torrentsim.TorrentSpec{Size: 24 * seedSpeed}), l.reader()
	job := l.ask(ann, made.URL)
	if stand, ok := l.torrents.(*standIn); ok {
		stand.pace(l, made, 5*time.Minute)
	}
	return ann, l.becomes(
		job, "growing", func(d download.Download) bool { return d.Progress > 0 && d.State == lifecycle.DownloadDownloading },
	), made
}

// canceledAtOnce cancels downloads while they are added to qBittorrent: nothing is left, in either order.
func canceledAtOnce(l *library) {
	ann := l.reader()
	torrents := map[string]*torrentsim.SeededTorrent{}
	var jobs []download.Download
	for i, name := range []string{"at-once-0.epub", "at-once-1.epub", "at-once-2.epub", "at-once-3.epub", "at-once-4.epub"} {
		torrents[name] = l.unseeded(name)
		job := l.ask(ann, torrents[name].URL)
		time.Sleep(time.Duration(i*i) * 10 * time.Millisecond)
		if _, err := l.askToCancel(ann, job, false); err != nil {
			l.Error(err)
		}
		jobs = append(jobs, job)
	}

	for _, job := range jobs {
		l.ends(job, lifecycle.DownloadCanceled, "")
	}

	for _, made := range torrents {
		if !l.soon(func() bool { return l.find(made) == nil }) {
			l.Errorf("the torrent is there: %+v", l.find(made))
		}
	}
}

// canceledHybrid cancels after the torrent has another id.
func canceledHybrid(l *library) {
	job, made := l.hybrid("canceled-hybrid.epub")
	l.torrents.release(l, made)
	l.completes(job)
	// adopted under an id that its link does not contain
	other := l.added(l.ask(l.reader(), "magnet:?xt=urn:btih:"+made.InfohashV1))
	if there := l.find(made); there == nil || !slices.Contains(tagsOf(*there), other.Tag()) {
		l.Errorf("the torrent is %+v", there)
	}
	l.completes(other)
}

// removedByHand removes a torrent: its job fails after the grace period.
func removedByHand(l *library) {
	made := l.unseeded("removed-by-hand.epub")
	job := l.downloading(l.ask(l.reader(), made.URL))
	must(l, l.torrents.web().DeleteTorrentsCtx(l.Context(), []string{made.Hash()}, true))
	l.becomes(job, "missing", func(d download.Download) bool { return d.FirstNotFoundAt != nil })
	job = l.ends(job, lifecycle.DownloadFailed, string(fault.MissingExternalJob))
	l.wantStory(job, "enqueued", "started", "went_missing", "failed")
	if missing := job.UpdatedAt.Sub(*job.FirstNotFoundAt); missing < grace {
		l.Errorf("it failed after %s", missing)
	}
}

// putBackByHand adds it again within the grace period, without our tag.
func putBackByHand(l *library) {
	made := l.unseeded("put-back-by-hand.epub")
	job := l.downloading(l.ask(l.reader(), made.URL))
	must(l, l.torrents.web().DeleteTorrentsCtx(l.Context(), []string{made.Hash()}, true))
	l.becomes(job, "missing", func(d download.Download) bool { return d.FirstNotFoundAt != nil })
	l.addByHand(made, map[string]string{"category": activeCategory, "savepath": job.SavePath, "tags": job.Tag()})
	l.becomes(job, "found", func(d download.Download) bool { return d.FirstNotFoundAt == nil })
	time.Sleep(grace + pollEvery)
	l.torrents.release(l, made)
	job = l.completes(job)
	l.wantStory(job, "enqueued", "started", "went_missing", "found_again", "completed")
}

// alreadyForeign requests a torrent that another installation has in qBittorrent: it is not changed.
func alreadyForeign(l *library) {
	made := l.unseeded("taken-by-somebody.epub")
	l.addByHand(made, map[string]string{"category": foreignCategory, "tags": "theirs"})
	wait.Eventually(l, "it is there", func() bool { return l.find(made) != nil })
	job := l.ends(l.ask(l.reader(), made.URL), lifecycle.DownloadFailed, string(fault.EnqueueFailed))
	l.wantStory(job, "enqueued", "failed")
	if there := l.find(made); there == nil || there.Category != foreignCategory || there.Tags != "theirs" {
		l.Errorf("the torrent is %+v", there)
	}
	must(l, l.torrents.web().DeleteTorrentsCtx(l.Context(), []string{made.Hash()}, true))
}

// noTorrent requests links that lead nowhere, or to something else.
func noTorrent(l *library) {
	for path, want := range map[string]fault.Code{"/torrents/nothing.torrent": fault.SourceRefused, "/_/requests": fault.SourceNotTorrent} {
		job := l.ends(l.ask(l.reader(), l.seed.URL+path), lifecycle.DownloadFailed, string(fault.EnqueueFailed))
		if job.LastError != string(want) {
			l.Errorf("%s: %s, want %s", path, job.LastError, want)
		}
	}
}

// badPath has an unwritable save path: one more attempt, then the job fails.
func badPath(l *library) {
	made := l.unseeded("bad-path.epub")
	if l.torrents.downloads() != "" { // it only fails with the first bytes
		made = l.torrent("bad-path.epub", torrentsim.TorrentSpec{})
	}

	job := l.record(l.reader(), made.URL)
	must(l, l.store.Downloads.Place(l.Context(), job.ID, 1, "/proc/nope/"+job.Tag()))
	l.launch(job)
	job = l.ends(job, lifecycle.DownloadFailed, string(fault.ProviderError))
	if job.ResumedAt == nil {
		l.Errorf("it was not tried again: %+v", job)
	}
	if !l.soon(func() bool {
		there := l.find(made)
		return there != nil && there.Category == doneCategory && there.Tags == ""
	}) {
		l.Errorf("the torrent is %+v", l.find(made))
	}
}

// canceledAtTheEnd cancels downloads at about the moment of their completion: each has one end, the one that its caller
// was told.
func canceledAtTheEnd(l *library) {
	const races = 20
	ann := l.reader()
	var racing sync.WaitGroup
	var canceled atomic.Int32

	for i := range races {
		racing.Go(func() {
			made := l.torrent(fmt.Sprintf("at-the-end-%d.epub", i), torrentsim.TorrentSpec{Size: seedSpeed / 2})
			job := l.ask(ann, made.URL)
			if stand, ok := l.torrents.(*standIn); ok {
				stand.pace(l, made, 500*time.Millisecond)
			}

			l.becomes(job, "nearly complete", func(d download.Download) bool {
				there := l.tagged(job)
				return d.State != lifecycle.DownloadQueued || there != nil && there.Progress > 0.5
			})
			time.Sleep(rand.N(3 * pollEvery))
			got, err := l.askToCancel(ann, job, false)
			job = l.over(job)
			for _, trouble := range l.disagreements(job) {
				l.Error(trouble)
			}

			if job.State == lifecycle.DownloadCanceled {
				canceled.Add(1)
				l.wantFiles(job, made, false)
			} else {
				l.wantContent(job, made)
			}

			if told := err == nil; told != (job.State == lifecycle.DownloadCanceled) || !told && fault.CodeOf(err) != fault.InvalidTransition {
				l.Errorf("download %d is %s, its caller was told %s, %v", job.ID, job.State, got.State, err)
			}
		})
	}

	racing.Wait()
	l.Logf("%d of %d were canceled", canceled.Load(), races)
}
