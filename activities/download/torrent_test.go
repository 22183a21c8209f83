package download

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/fetch"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/qbittorrent"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/torrent"
)

// TestHandOver adds a magnet link and a .torrent file, which is fetched once however often it is added.
func TestHandOver(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	byLink := s.added(magnet(1))
	got := s.torrent(byLink.Tag())
	if got == nil || got.Category != "active" || got.SavePath != "/books/"+byLink.Tag() || byLink.AddedAt == nil || byLink.SavePath != got.SavePath {
		t.Fatalf("%+v, %+v", got, byLink)
	}

	content, err := s.seed.Add(torrentsim.TorrentSpec{Name: "a.bin", Size: 50_000, Kind: torrentsim.TorrentHybrid})
	s.must(err)
	byFile := s.job(content.URL)
	for range 3 {
		s.must(s.add(byFile))
		s.must(s.qb.Remove(byFile.Tag()))
	}

	fetched := 0
	for _, r := range s.seed.Requests() {
		if strings.HasSuffix(r.Path, ".torrent") {
			fetched++
		}
	}

	byFile = s.reload(byFile)
	if byFile.InfohashV1 != content.InfohashV1 || byFile.InfohashV2 != content.InfohashV2 || fetched != 1 {
		t.Errorf("%+v, fetched %d times", byFile, fetched)
	}
}

// TestHandOverOfATorrentOfOthers reports at once that qBittorrent has the torrent, and in which category, without
// touching it.
func TestHandOverOfATorrentOfOthers(t *testing.T) {
	t.Parallel()
	for _, category := range []string{"sonarr", ""} {
		s := newRig(t, torrentsim.QBittorrentOptions{})
		s.must(s.qb.Put(torrentsim.Torrent{InfohashV1: magnet(1)[20:], Name: "theirs", Size: 5, Category: category}))
		job := s.job(magnet(1))
		err := s.add(job)
		s.wantFailure(err, fault.TorrentElsewhere, false)
		if category != "" && strings.Contains(err.Error(), category) {
			t.Errorf("a category is in the history: %v", err)
		}
		now := s.reload(job)
		if now.LastError != "TORRENT_ELSEWHERE" || now.OtherCategory != category || now.AddedAt != nil || len(s.qb.Torrents()[0].Tags) > 0 {
			t.Errorf("%+v", now)
		}
	}
}

// TestHandOverFails has a case for each way it can fail.
func TestHandOverFails(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/page":
			fmt.Fprint(w, "<html>please log in")
		case "/big":
			_, _ = w.Write(make([]byte, 2<<20))
		case "/bomb": // 5.2 million empty files
			fmt.Fprint(w, "d4:infod5:filesl", strings.Repeat("de", 5_200_000), "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp", "ee")
		case "/many": // 10,001 empty files
			fmt.Fprint(w, "d4:infod5:filesl", strings.Repeat("d6:lengthi0e4:pathl1:aee", torrent.MaxFiles+1), "e4:name1:a12:piece lengthi16384e6:pieces20:pppppppppppppppppppp", "ee")
		case "/busy":
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))

	t.Cleanup(site.Close)
	again := map[fault.Code]bool{fault.ProviderUnavailable: true, fault.SourceUnavailable: true}
	for name, c := range map[string]struct {
		link  string
		set   func(*rig)
		codes []fault.Code // of consecutive attempts; empty: it succeeds
	}{
		"no such file":      {site.URL + "/none", nil, []fault.Code{fault.SourceRefused}},
		"a page":            {site.URL + "/page", nil, []fault.Code{fault.SourceNotTorrent}},
		"too big":           {site.URL + "/big", nil, []fault.Code{fault.SourceNotTorrent}},
		"a bomb":            {site.URL + "/bomb", nil, []fault.Code{fault.SourceNotTorrent}},
		"the site is busy":  {site.URL + "/busy", nil, []fault.Code{fault.SourceUnavailable, fault.SourceUnavailable}},
		"many files":        {site.URL + "/many", nil, []fault.Code{fault.TorrentTooLarge}},
		"a private address": {site.URL + "/none", func(s *rig) { s.Fetcher = fetch.New(fetch.Options{}) }, []fault.Code{fault.SourceForbidden}},
		"refused while it starts": {magnet(1), func(s *rig) {
			s.qb.AddFault(sim.Fault{Match: "torrents/add", Kind: "fails", Times: 2})
		}, []fault.Code{fault.ProviderRejected, fault.ProviderRejected, ""}},
		"away": {magnet(1), func(s *rig) {
			s.qb.AddFault(sim.Fault{Kind: "503", Times: 2})
		}, []fault.Code{fault.ProviderUnavailable, fault.ProviderUnavailable, ""}},
		"the answer is lost": {magnet(1), func(s *rig) {
			s.qb.AddFault(sim.Fault{Match: "torrents/add", Kind: "lost_answer", Times: 1})
		}, []fault.Code{fault.ProviderUnavailable, ""}},
		"there, but not ours": {magnet(1), func(s *rig) {
			s.must(s.qb.Put(torrentsim.Torrent{InfohashV1: magnet(1)[20:], Name: "x", Size: 5, Category: "films"}))
		}, []fault.Code{fault.TorrentElsewhere}},
		"the book is gone": {magnet(1), func(s *rig) { s.exec(`DELETE FROM books`) }, []fault.Code{fault.BookGone}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newRig(t, torrentsim.QBittorrentOptions{})
			job := s.job(c.link)
			if c.set != nil {
				c.set(s)
			}

			for i, code := range c.codes {
				err := s.add(job)
				if got := s.reload(job); got.LastError != string(code) || (got.AddedAt != nil) != (code == "") {
					t.Errorf("attempt %d: the record says %q, added at %v", i, got.LastError, got.AddedAt)
				}

				if code == "" {
					s.must(err)
					if n := len(s.qb.Torrents()); n != 1 {
						t.Errorf("%d torrents", n)
					}
					continue
				}
				s.wantFailure(err, code, again[code] || i < len(c.codes)-1)
			}
		})
	}
}

// TestNothingToHandOver leaves alone jobs that have ended, or are about to.
func TestNothingToHandOver(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	over, ending := s.job(magnet(1)), s.job(magnet(2))
	s.end(over, lifecycle.DownloadActionFail)
	s.cancel(ending, false)

	for job, want := range map[*download.Download]lifecycle.DownloadRecord{
		&over:   {Status: "failed", Reason: fault.ProviderError, Place: 1, ChangedAt: s.reload(over).UpdatedAt.UTC()},
		&ending: {Status: "queued", CancelRequested: true, Place: 1},
	} {
		value, err := s.env.ExecuteActivity(s.AddTorrent, job.ID)
		s.must(err)
		var got lifecycle.DownloadRecord
		s.must(value.Get(&got))
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}

	if len(s.qb.Torrents()) > 0 {
		t.Errorf("%+v", s.qb.Torrents())
	}

	_, err := s.env.ExecuteActivity(s.AddTorrent, int64(99))
	s.wantFailure(err, fault.DownloadNotFound, false)
}

// TestFullDisk makes new jobs wait, alerts the administrators, and continues once there is space.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{FreeSpace: 1000})
	s.Space.MinFree = 5000
	job := s.job(magnet(1))
	s.wantFailure(s.add(job), fault.NoFreeSpace, true)
	s.wantFailure(s.awaitSpace(job), fault.NoFreeSpace, true)

	s.wantAlerts("no room", notice.Alert{Kind: notice.AlertDownloadsSpace, Begun: true})
	if got := s.reload(job).LastError; got != string(fault.NoFreeSpace) {
		t.Errorf("last error %q", got)
	}

	canceled := s.job(magnet(3))
	s.cancel(canceled, false)
	s.must(s.awaitSpace(canceled)) // a job about to end does not wait

	s.must(s.qb.SetFreeSpace(9000))
	s.must(s.awaitSpace(job))
	s.must(s.add(job))
	s.must(s.qb.SetFreeSpace(-1)) // unknown: no reason to wait
	s.must(s.add(s.job(magnet(2))))

	// An already admitted torrent keeps its place: it does not wait when it must be re-added.
	s.must(s.qb.Remove(job.Tag()))
	s.must(s.qb.SetFreeSpace(1000))
	s.must(s.add(job))
}

// TestSharedTorrent lets jobs of three readers share one torrent: each removes only its own tag, the last one the
// torrent.
func TestSharedTorrent(t *testing.T) {
	t.Parallel()
	for _, keep := range []bool{false, true} {
		t.Run(fmt.Sprint("keep files ", keep), func(t *testing.T) {
			t.Parallel()
			s := newRig(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
			first, second, third := s.added(magnet(1)), s.added(magnet(1)), s.added(magnet(1))
			failed := s.added(magnet(1)) // no longer holds anything, although its tag is there
			s.end(failed, lifecycle.DownloadActionFail)
			if got := s.qb.Torrents(); len(got) != 1 || len(got[0].Tags) != 4 {
				t.Fatalf("%+v", got)
			}

			for _, job := range []download.Download{first, second} {
				s.must(s.remove(job))
				s.must(s.remove(job))
				s.end(job, lifecycle.DownloadActionCancel)
				if got := s.torrent(third.Tag()); got == nil || slices.Contains(got.Tags, job.Tag()) || slices.Contains(s.qb.Tags(), job.Tag()) {
					t.Fatalf("%+v", s.qb.Torrents())
				}
			}

			s.cancel(third, keep)
			s.must(s.remove(third))
			deletions := s.qb.Deletions()
			if len(s.qb.Torrents()) != 0 || len(deletions) != 1 || deletions[0].Files == keep || slices.Contains(s.qb.Tags(), third.Tag()) {
				t.Errorf("%+v, %+v", s.qb.Torrents(), deletions)
			}
		})
	}

	t.Run("completed by another", func(t *testing.T) {
		t.Parallel()
		s := newRig(t, torrentsim.QBittorrentOptions{})
		first := s.added(magnet(1))
		s.end(first, lifecycle.DownloadActionComplete)
		s.must(s.Torrents.Finish(t.Context(), s.active(), ""))
		second := s.added(magnet(1)) // back into the active category, otherwise the watcher would not see it
		if got := s.torrent(second.Tag()); got == nil || got.Category != "active" {
			t.Fatalf("%+v", got)
		}

		s.must(s.remove(second))
		if got := s.torrent(first.Tag()); got == nil || len(s.qb.Deletions()) > 0 {
			t.Error("what another has completed was deleted")
		}
	})
}

// TestFilesGone requests a torrent that completed long ago and whose files someone has deleted: it is not complete
// until they are back. What another job has just completed is not rechecked.
func TestFilesGone(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: time.Hour}})
	gone, full, long := true, 1.0, 2*time.Hour
	rechecks := func() (n int) {
		for _, r := range w.qb.Requests() {
			if strings.HasSuffix(r.Path, "/recheck") {
				n++
			}
		}
		return n
	}

	first := w.added(magnet(1))
	w.change(first, torrentsim.TorrentChange{Progress: &full})
	w.wantHeard("complete", "complete")
	twin := w.added(magnet(1))
	w.wantHeard("of two", "complete")
	if rechecks() != 0 {
		t.Error("rechecked at once")
	}

	w.end(first, lifecycle.DownloadActionComplete)
	w.end(twin, lifecycle.DownloadActionComplete)
	w.wantHeard("tidied")
	for _, lost := range []torrentsim.TorrentChange{{Gone: &gone}, state("missingFiles")} {
		lost.Duration = &long
		w.change(first, lost)
		again := w.added(magnet(1))
		w.wantHeard("files gone", "downloading")
		w.change(again, torrentsim.TorrentChange{Progress: &full})
		w.wantHeard("there again", "complete")
		w.end(again, lifecycle.DownloadActionComplete)
		w.wantHeard("tidied again")
	}

	if rechecks() != 2 {
		t.Errorf("%d rechecks", rechecks())
	}
}

// TestRemove checks what is left of a removed torrent.
func TestRemove(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	job := s.added(magnet(1))
	s.qb.AddFault(sim.Fault{Kind: "503", Times: 2})

	for range 2 {
		s.wantFailure(s.remove(job), fault.ProviderUnavailable, true)
		if got := s.reload(job); got.CancelError != string(fault.ProviderUnavailable) || got.State != lifecycle.DownloadQueued {
			t.Errorf("%+v", got)
		}
	}

	s.must(s.remove(job))
	if got := s.reload(job); got.CancelError != "" || got.CancelRequestedAt == nil || len(s.qb.Torrents()) != 0 {
		t.Errorf("%+v, %+v", got, s.qb.Torrents())
	}

	s.qb.AddFault(sim.Fault{Match: "torrents/delete", Kind: "409", Times: 1})
	other := s.added(magnet(2))
	s.wantFailure(s.remove(other), fault.ProviderRejected, true) // it is retried forever
	s.must(s.remove(other))

	moved := s.added(magnet(3))
	s.must(s.qb.Remove(moved.Tag()))
	s.must(s.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(3)[20:], Name: "moved", Size: 5, Category: "films", Tags: []string{moved.Tag()},
	}))
	s.must(s.remove(moved))
	if got := s.qb.Torrents(); len(got) != 1 || got[0].Category != "films" || len(got[0].Tags) != 1 {
		t.Errorf("another's torrent: %+v", got)
	}
}

// TestRemovalAndCompletion serializes the two: the first one wins.
func TestRemovalAndCompletion(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	completed, removed := s.added(magnet(1)), s.added(magnet(2))
	s.exec(`UPDATE download_jobs SET content_path = '/x'`)
	s.move(completed, "complete", "")
	value, err := s.env.ExecuteActivity(s.RemoveTorrent, completed.ID)
	s.must(err)
	var record lifecycle.DownloadRecord
	s.must(value.Get(&record))
	if record.Status != lifecycle.DownloadCompleted || s.torrent(completed.Tag()) == nil {
		t.Errorf("%+v, %+v", record, s.qb.Torrents())
	}

	s.must(s.remove(removed))
	if got := s.move(removed, "complete", ""); got.Status != lifecycle.DownloadQueued {
		t.Errorf("%+v", got)
	}
	if got := s.move(removed, "cancel", ""); got.Status != lifecycle.DownloadCanceled {
		t.Errorf("%+v", got)
	}
}

// active lists the active category.
func (s *rig) active() (listed []qbittorrent.Torrent) {
	s.t.Helper()
	listed, err := s.Torrents.List(s.t.Context())
	s.must(err)
	return listed
}

// TestLook finds a torrent by its tag, by its hash, and in the done category, where it must not stay.
func TestLook(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	ctx, job := t.Context(), s.added(magnet(1))
	s.must(s.Store.Downloads.NotePoll(ctx, false, time.Hour))
	if again := s.requery(job); !again.Found {
		t.Errorf("%+v", again)
	}

	s.must(s.Torrents.Finish(ctx, s.active(), ""))
	if again := s.requery(job); !again.Found || len(s.active()) != 1 {
		t.Errorf("%+v, %+v", again, s.qb.Torrents())
	}

	s.must(s.qb.Remove(job.Tag()))
	if again := s.requery(job); again.Found || again.Wait == 0 || again.Wait > time.Minute {
		t.Errorf("%+v", again)
	}

	s.exec(`UPDATE download_jobs SET first_not_found_at_utc = now() - interval '61 seconds'`)
	s.exec(`UPDATE download_sync SET reachable_since = now() - interval '61 seconds'`)
	if again := s.requery(job); again != (Requery{}) || len(s.qb.Tags()) != 0 {
		t.Errorf("%+v, tags %v", again, s.qb.Tags())
	}

	s.must(s.qb.Put(torrentsim.Torrent{
		InfohashV1: magnet(1)[20:], Name: "x", Size: 5, Category: "films", Tags: []string{job.Tag()},
	}))
	if again := s.requery(job); again.Found {
		t.Error("found outside of our categories")
	}

	s.qb.AddFault(sim.Fault{Kind: "503", Times: 1})
	_, err := s.env.ExecuteActivity(s.LookForTorrent, job.ID)
	s.wantFailure(err, fault.ProviderUnavailable, true)
}

// TestMoves records transitions, each once, and completes through downloading.
func TestMoves(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	ctx, job := t.Context(), s.job(magnet(1))
	_, err := s.env.ExecuteActivity(s.MoveDownload, lifecycle.DownloadMove{JobID: job.ID, Action: "complete"})
	s.wantFailure(err, fault.MediaNotReady, true)
	s.exec(`UPDATE download_jobs SET content_path = '/x', speed = 5, eta_seconds = 5`)

	for range 2 {
		if got := s.move(job, "complete", ""); got.Status != lifecycle.DownloadCompleted {
			t.Errorf("%+v", got)
		}
	}

	if got := s.move(job, "cancel", ""); got.Status != lifecycle.DownloadCompleted {
		t.Errorf("%+v", got)
	}

	events, err := s.Store.Notices.EventsOf(ctx, "download", fmt.Sprint(job.ID))
	s.must(err)
	var steps []string
	for _, e := range events {
		steps = append(steps, e.From+">"+e.To)
	}

	got := s.reload(job)
	if fmt.Sprint(steps) != "[>queued queued>downloading downloading>completed]" || got.Progress != 1 || got.Speed != 0 || got.ETA != nil || got.CompletedAt == nil {
		t.Errorf("%v, %+v", steps, got)
	}

	gone := s.job(magnet(2))
	s.exec(`UPDATE download_jobs SET content_path = '/x'`)
	s.exec(`DELETE FROM books`)
	if got := s.move(gone, "complete", ""); got.Status != lifecycle.DownloadFailed || got.Reason != fault.BookGone {
		t.Errorf("%+v", got)
	}
}

// TestNotes records facts, each once.
func TestNotes(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	job := s.job(magnet(1))
	for _, note := range []string{"found_again", "went_missing", "went_missing", "stalled", "stalled", "found_again", "recovered", "recovered", "nonsense"} {
		_, err := s.env.ExecuteActivity(s.NoteDownload, Note{JobID: job.ID, Type: note})
		s.must(err)
		got := s.reload(job)
		if (got.FirstNotFoundAt != nil) != (note == "went_missing" || note == "stalled") || (got.Attention != "") != (note == "stalled" || note == "found_again" && got.RowVersion > 1) {
			t.Errorf("after %s: %+v", note, got)
		}
	}

	if got := s.reload(job); got.RowVersion != 5 || got.State != lifecycle.DownloadQueued {
		t.Errorf("%+v", got)
	}

	s.end(job, lifecycle.DownloadActionFail)
	_, err := s.env.ExecuteActivity(s.NoteDownload, Note{JobID: job.ID, Type: "stalled"})
	if err != nil || s.reload(job).Attention != "" {
		t.Error("a job that is over stalls", err)
	}
}

// TestCanceledHandOver stops while the source does not answer.
func TestCanceledHandOver(t *testing.T) {
	t.Parallel()
	s := newRig(t, torrentsim.QBittorrentOptions{})
	s.qb.AddFault(sim.Fault{Kind: "timeout"})
	job := s.job(magnet(1))
	s.within(func(ctx context.Context) {
		ctx, cancel := context.WithCancel(ctx)
		time.AfterFunc(50*time.Millisecond, cancel)
		if _, err := s.AddTorrent(ctx, job.ID); err != context.Canceled {
			t.Errorf("got %v", err)
		}
	})
}
