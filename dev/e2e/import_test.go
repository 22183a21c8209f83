package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/sim/torrentsim"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

// imports is a library on the real qBittorrent, with a library folder.
type imports struct {
	*library
	dir    string
	worker *program
}

// TestLongImports puts downloads into the library folder, with the real qBittorrent: with hard links, also when a
// worker is killed while linking, and when the folder is repaired after it was unwritable.
func TestLongImports(t *testing.T) {
	night.Only(t)
	t.Parallel()
	server := newRealServer(t)
	dir := filepath.Join(t.TempDir(), "library")
	must(t, os.Mkdir(dir, 0o755))
	l := &imports{dir: dir, library: newLibrary(t, server, map[string]string{
		"STAGECOACH_LIBRARY_DIR": dir, "STAGECOACH_LIBRARY_TEMPLATE": "{author}/{id} {title}/{title}.{ext}",
	})}
	l.worker = l.startWorker()

	made := l.torrent("linked.epub", torrentsim.TorrentSpec{})
	linked := l.completes(l.ask(l.reader(), made.URL))
	l.wantFiles(linked, filepath.Join(linked.SavePath, "linked.epub"))

	made = l.torrent("several", torrentsim.TorrentSpec{Files: map[string]int64{"10.mp3": 70000, "9.mp3": 80000, "cover.jpg": 100}})
	book := l.record(l.reader(), made.URL) // an audiobook
	l.launch(book)
	book = l.completes(book)
	l.wantFiles(book, filepath.Join(book.SavePath, "several", "9.mp3"), filepath.Join(book.SavePath, "several", "10.mp3"))

	readme := l.torrent("readme.nfo", torrentsim.TorrentSpec{}) // a .txt would pass as a text
	made = l.torrent("second.epub", torrentsim.TorrentSpec{})
	second := l.completes(l.askOf(readme.URL, made.URL))
	l.wantFiles(second, filepath.Join(second.SavePath, "second.epub"))
	l.wantStory(second, "enqueued", "started", "next_source", "completed")
	if second.SourcePlace != 2 || second.Sources[0].Outcome != string(fault.MediumUnsuitable) {
		t.Errorf("%+v", second)
	}

	l.withoutFolder(func() {
		job := l.ask(l.reader(), l.torrent("killed.epub", torrentsim.TorrentSpec{}).URL)
		l.importing(job)
		l.worker.kill()
		l.worker = nil
		linked = job
	})
	l.worker = l.startWorker()
	killed := l.completes(linked)
	l.wantFiles(killed, filepath.Join(killed.SavePath, "killed.epub"))
	l.wantStory(killed, "enqueued", "started", "completed")

	var repeated, canceled download.Download
	owner := l.reader()
	l.withoutFolder(func() {
		repeated = l.ask(owner, l.torrent("repeated.epub", torrentsim.TorrentSpec{}).URL)
		canceled = l.ask(owner, l.torrent("canceled.epub", torrentsim.TorrentSpec{}).URL)
		for _, job := range []download.Download{repeated, canceled} {
			job = l.becomes(job, "failed to be imported", func(d download.Download) bool { return d.Attention != "" })
			if job.Attention != string(fault.ImportFailed) || job.WaitsFor() != lifecycle.WaitsForImport {
				l.Errorf("%+v", job)
			}
		}
		_, err := l.downloads.Cancel(t.Context(), owner, canceled.ID, false, "")
		must(t, err)
		l.ends(canceled, lifecycle.DownloadCanceled, "")
	})
	_, err := l.downloads.RetryImport(t.Context(), owner, repeated.ID, "")
	must(t, err)
	repeated = l.completes(repeated)
	l.wantFiles(repeated, filepath.Join(repeated.SavePath, "repeated.epub"))
	l.wantStory(repeated, "enqueued", "started", "import_failed", "import_retried", "completed")
	l.wantTidy()
}

// TestLongSharedEnough removes a torrent of the real qBittorrent with its files once a peer has fetched it; the library
// folder is unaffected.
func TestLongSharedEnough(t *testing.T) {
	night.Only(t)
	t.Parallel()
	server := newRealServer(t)
	dir := t.TempDir()
	l := newLibrary(t, server, map[string]string{"STAGECOACH_LIBRARY_DIR": dir, "STAGECOACH_SEED_RATIO": "0.9"})
	worker := l.startWorker()
	made := l.torrent("shared.epub", torrentsim.TorrentSpec{})
	job := l.completes(l.ask(l.reader(), made.URL))
	l.wantContent(job, made)

	other, err := server.seeder()
	must(t, err)
	alone, err := server.source.Add(torrentsim.TorrentSpec{Name: made.Name, Size: made.Size, NoSeed: true}) // the same torrent
	must(t, err)
	from := webClient(other.URL, other.Username, other.Password)
	_, err = from.AddTorrentFromMemoryCtx(t.Context(), alone.File, map[string]string{})
	must(t, err)
	wait.Eventually(l, "somebody has fetched it", func() bool {
		_ = from.AddPeersForTorrentsCtx(t.Context(), []string{alone.Hash()}, []string{server.Peer}) // too early: dropped
		there := l.find(made)
		return there != nil && there.Ratio > 0.9
	})

	worker.stop()
	l.startWorker() // which checks at once, then every hour
	wait.Eventually(l, "the torrent is gone", func() bool { return l.find(made) == nil })
	l.wantFiles(job, made, false)
	book, err := l.store.Downloads.BookByID(t.Context(), job.BookID)
	must(t, err)
	kept, err := os.ReadFile(filepath.Join(dir, book.Media[0].Path))
	if sum := sha256.Sum256(kept); err != nil || hex.EncodeToString(sum[:]) != made.SHA256 {
		t.Errorf("the library has %d bytes, %v", len(kept), err)
	}
	l.wantTidy()
}

// withoutFolder runs do while a file replaces the library folder: root can write to any folder.
func (l *library) withoutFolder(do func()) {
	l.Helper()
	dir := l.env["STAGECOACH_LIBRARY_DIR"]
	must(l, os.Rename(dir, dir+".away"))
	must(l, os.WriteFile(dir, nil, 0o644))
	do()
	must(l, os.Remove(dir))
	must(l, os.Rename(dir+".away", dir))
}

// importing waits until an import is tried.
func (l *imports) importing(job download.Download) {
	l.Helper()
	wait.Eventually(l, "the import is tried", func() bool {
		described, err := l.client.DescribeWorkflowExecution(l.Context(), job.WorkflowID(), "")
		return err == nil && len(described.GetPendingActivities()) > 0 &&
			described.GetPendingActivities()[0].GetActivityType().GetName() == "ImportDownload"
	})
}

// wantFiles checks the files of a job's medium: each is a link to one of the torrent's, and there are no others.
func (l *imports) wantFiles(job download.Download, of ...string) {
	l.Helper()
	book, err := l.store.Downloads.BookByID(l.Context(), job.BookID)
	must(l, err)
	place := filepath.Join(l.dir, book.Media[0].Path)
	if !strings.HasPrefix(book.Media[0].Path, "Planted Author/") || !job.Imported {
		l.Errorf("%+v of %+v", book, job)
	}

	var lies []string
	must(l, filepath.WalkDir(filepath.Dir(place), func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			lies = append(lies, name)
		}
		return err
	}))
	slices.Sort(lies)
	if len(lies) != len(of) {
		l.Fatalf("%q, want %d files", lies, len(of))
	}

	for i := range of {
		theirs, err := os.Stat(of[i])
		must(l, err)
		mine, err := os.Stat(lies[i])
		must(l, err)
		if !os.SameFile(mine, theirs) {
			l.Errorf("%s is no link to %s", lies[i], of[i])
		}
	}
}

// TestRecordImportHistories saves the history of a download whose import fails and is retried, with the simulator.
func TestRecordImportHistories(t *testing.T) {
	version := testtemporal.Record(t)
	dir := t.TempDir()
	l := newLibrary(t, newStandIn(t), map[string]string{
		"STAGECOACH_LIBRARY_DIR": dir, "STAGECOACH_QBITTORRENT_SAVE_PATH": filepath.Join(dir, "downloads"),
	})
	l.startWorker()
	owner, made := l.reader(), l.unseeded("imported.epub")
	job := l.ask(owner, made.URL)
	l.torrents.release(l, made)
	job = l.becomes(job, "failed to be imported", func(d download.Download) bool { return d.Attention != "" })

	must(t, os.MkdirAll(job.SavePath, 0o755))
	must(t, os.WriteFile(filepath.Join(job.SavePath, made.Name), l.content(made.Name), 0o644))
	_, err := l.downloads.RetryImport(t.Context(), owner, job.ID, "")
	must(t, err)
	l.save(version, "import-repeated", l.completes(job))
}
