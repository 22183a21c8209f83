package download

import (
	"errors"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/torrent"
)

const mib = 1 << 20

// waitsForRoom reports whether a job's torrent is stopped and the record shows why.
func (w *watcher) waitsForRoom(job download.Download) bool {
	w.t.Helper()
	job = w.reload(job)
	stopped := false
	for _, t := range w.qb.Torrents() {
		stopped = stopped || t.Tags[0] == job.Tag() && t.State == "pausedDL"
	}
	if waits := job.WaitsFor() == lifecycle.WaitsForSpace; waits != stopped {
		w.t.Errorf("the torrent is stopped: %t; the record: %q", stopped, job.LastError)
	}
	return stopped
}

// TestRoomForMagnets stops the torrents that do not fit on the disk together once their size is known, and later
// resumes them automatically.
func TestRoomForMagnets(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{
		FreeSpace: 10 * mib, Plan: torrentsim.TorrentPlan{Size: 6 * mib, Duration: torrentsim.Never},
	})
	w.Sync.Space.MinFree = mib
	first, second := w.added(magnet(1)), w.added(magnet(2))
	w.pollOnce()
	w.pollOnce()
	if w.waitsForRoom(first) || !w.waitsForRoom(second) {
		t.Error("not the second one alone waits")
	}
	w.wantAlerts("no room", notice.Alert{Kind: notice.AlertDownloadsSpace, Begun: true})
	if _, heard := w.pollOnce(); len(heard) > 0 {
		t.Errorf("told again: %+v", heard)
	}

	w.must(w.qb.SetFreeSpace(13 * mib))
	if _, heard := w.pollOnce(); len(heard) != 1 || heard[0].JobID != second.ID || heard[0].NoRoom {
		t.Errorf("heard %+v", heard)
	}
	if w.waitsForRoom(second) {
		t.Error("it waits still")
	}
	w.wantAlerts("room", notice.Alert{Kind: notice.AlertDownloadsSpace, Over: true})
}

// TestMetadata notifies of a magnet link's metadata, even if its torrent then waits in qBittorrent's queue, and of too
// little disk space, until the workflow has received it: only then is it recorded.
func TestMetadata(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{
		FreeSpace: 10 * mib, Plan: torrentsim.TorrentPlan{Size: 6 * mib, Meta: torrentsim.Never, Duration: torrentsim.Never},
	})
	fits, full := w.added(magnet(1)), w.added(magnet(2))
	wantWaits := func(first, second string) {
		t.Helper()
		for job, want := range map[*download.Download]string{&fits: first, &full: second} {
			if got := w.reload(*job).WaitsFor(); got != want {
				t.Errorf("%d waits for %q, want %q", job.ID, got, want)
			}
		}
	}
	w.wantHeard("without metadata")
	wantWaits(lifecycle.WaitsForMetadata, lifecycle.WaitsForMetadata)

	none, queued := 0.0, "queuedDL"
	for _, job := range []download.Download{fits, full} {
		w.change(job, torrentsim.TorrentChange{Progress: &none, State: &queued})
	}
	w.ears.deaf = func(string) error { return errors.New("Temporal is away") }
	w.wantHeard("nobody hears it")
	wantWaits(lifecycle.WaitsForMetadata, lifecycle.WaitsForMetadata)

	w.ears.deaf = nil
	if _, heard := w.pollOnce(); len(heard) != 2 || heard[0].NoMetadata || heard[0].NoRoom || heard[1].NoMetadata || !heard[1].NoRoom {
		t.Errorf("heard %+v", heard)
	}
	w.wantHeard("it is known")
	wantWaits(lifecycle.WaitsForSlot, lifecycle.WaitsForSpace)
}

// TestWaitersBlockNobody decides each magnet, however many wait for disk space before it. Without space a
// magnet of unknown size is accepted nevertheless.
func TestWaitersBlockNobody(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{
		FreeSpace: 10 * mib, Plan: torrentsim.TorrentPlan{Size: 60 * mib, Duration: torrentsim.Never},
	})
	var jobs []download.Download
	for n := range maxApplicants + 5 {
		jobs = append(jobs, w.added(magnet(n)))
	}
	w.must(w.checkSpace(t.Context(), 0))
	for range 3 {
		w.pollOnce()
	}
	for _, job := range jobs {
		if !w.waitsForRoom(job) {
			t.Errorf("nobody has decided about %d", job.ID)
		}
	}
}

// TestRoomInTheLibrary counts the copies that the library folder must hold.
func TestRoomInTheLibrary(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Size: 6 * mib, Duration: torrentsim.Never}})
	w.Sync.Space.LibraryFree = func() int64 { return 10 * mib }
	first, second := w.added(magnet(1)), w.added(magnet(2))
	w.pollOnce()
	if w.waitsForRoom(first) || !w.waitsForRoom(second) {
		t.Error("not the second one alone waits")
	}
}

// TestRoomForFiles counts what the active torrents still need before a torrent is added.
func TestRoomForFiles(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{
		FreeSpace: 10 * mib, Plan: torrentsim.TorrentPlan{Size: 6 * mib, Duration: torrentsim.Never},
	})
	w.must(w.checkSpace(t.Context(), 6*mib))
	w.added(magnet(1))
	if err := w.checkSpace(t.Context(), 6*mib); fault.CodeOf(err) != fault.NoFreeSpace {
		t.Errorf("there is room: %v", err)
	}
	w.must(w.checkSpace(t.Context(), 4*mib))
}

// TestTooManyFilesInAMagnet ends the source whose metadata describes too much, and removes the torrent with its files.
func TestTooManyFilesInAMagnet(t *testing.T) {
	t.Parallel()
	w := newWatcher(t, torrentsim.QBittorrentOptions{Plan: torrentsim.TorrentPlan{Duration: torrentsim.Never}})
	job, other := w.added(magnet(1)), w.added(magnet(2))
	files := make([]torrentsim.TorrentFile, torrent.MaxFiles+1)
	for i := range files {
		files[i] = torrentsim.TorrentFile{Name: "a", Priority: 1}
	}
	w.must(w.qb.Change(job.Tag(), torrentsim.TorrentChange{Files: files}))
	w.must(w.qb.Change(other.Tag(), torrentsim.TorrentChange{Files: files[1:]}))

	_, heard := w.pollOnce()
	if len(heard) != 2 || heard[0].State != lifecycle.ObservedTooLarge || heard[1].State != lifecycle.ObservedDownloading {
		t.Errorf("heard %+v", heard)
	}
	if got := w.reload(job).LastError; got != string(fault.TorrentTooLarge) {
		t.Errorf("last error %q", got)
	}
	if gone := w.qb.Deletions(); len(gone) != 1 || gone[0].Tags[0] != job.Tag() || !gone[0].Files {
		t.Errorf("deleted %+v", gone)
	}
}
