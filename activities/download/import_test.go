package download

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"stagecoach/dev/sim/torrentsim"
	"stagecoach/internal/fault"
	"stagecoach/internal/library"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
)

// shelf is a rig with a folder of downloads and a library folder on one file system.
type shelf struct {
	*rig
	downloads, library string
	torrents           int
}

const epub = "PK\x03\x04 a book"

func newShelf(t *testing.T) *shelf {
	t.Helper()
	dir := t.TempDir()
	s := &shelf{rig: newRig(t, torrentsim.QBittorrentOptions{}), downloads: filepath.Join(dir, "downloads"), library: filepath.Join(dir, "library")}
	s.must(os.Mkdir(s.library, 0o755))
	template, err := library.ParseTemplate(library.DefaultTemplate)
	s.must(err)
	s.Activities.Library = Library{Dir: s.library, Template: template, Link: os.Link}
	s.Activities.Settings.SavePath = s.downloads
	return s
}

// complete is a job whose torrent is complete, with these files.
func (s *shelf) complete(medium string, files map[string]string) download.Download {
	s.t.Helper()
	return s.completeOf(s.user(), s.book, medium, files)
}

func (s *shelf) completeOf(owner account.User, book download.Book, medium string, files map[string]string) download.Download {
	s.t.Helper()
	s.torrents++
	job, _, err := s.Store.Downloads.Create(s.t.Context(), download.Download{
		UserID: owner.ID, BookID: book.ID, MediaType: medium, Source: "test", SourceURL: magnet(s.torrents),
	}, core.Event{Type: "enqueued", To: "queued"})
	s.must(err)
	s.must(s.add(job))

	state, listed := "stalledUP", []torrentsim.TorrentFile{}
	for name, text := range files {
		s.write(filepath.Join(s.downloads, job.Tag(), name), text)
		listed = append(listed, torrentsim.TorrentFile{Name: name, Size: int64(len(text)), Priority: 1})
	}
	listed = append(listed, torrentsim.TorrentFile{Name: "unwanted.epub", Size: 5}, torrentsim.TorrentFile{Name: "unwanted.mp3", Size: 5})
	s.must(s.qb.Change(job.Tag(), torrentsim.TorrentChange{State: &state, Files: listed}))
	s.exec(`UPDATE download_jobs SET content_path = $2, progress = 1 WHERE id = $1`, job.ID, filepath.Join(s.downloads, job.Tag(), "x"))
	s.move(job, lifecycle.DownloadActionBegin, "")
	return s.reload(job)
}

func (s *shelf) write(name, text string) {
	s.t.Helper()
	s.must(os.MkdirAll(filepath.Dir(name), 0o755))
	s.must(os.WriteFile(name, []byte(text), 0o644))
}

func (s *shelf) importOf(job download.Download) (record lifecycle.DownloadRecord, err error) {
	s.t.Helper()
	value, err := s.env.ExecuteActivity(s.ImportDownload, job.ID)
	if err == nil {
		err = value.Get(&record)
	}
	return record, err
}

// wantImported imports a job and checks the library folder and the record.
func (s *shelf) wantImported(job download.Download, want ...string) {
	s.t.Helper()
	if record, err := s.importOf(job); err != nil || record.Status != lifecycle.DownloadCompleted {
		s.t.Errorf("%+v %v", record, err)
	}
	s.wantLying(want...)
	if now := s.reload(job); !now.Imported || now.State != lifecycle.DownloadCompleted {
		s.t.Errorf("%+v", now)
	}
}

func (s *shelf) wantLying(want ...string) {
	s.t.Helper()
	lies := []string{}
	s.must(filepath.WalkDir(s.library, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			lies = append(lies, strings.TrimPrefix(name, s.library+"/"))
		}
		return err
	}))
	if !slices.Equal(lies, want) {
		s.t.Errorf("in the library lie %q, want %q", lies, want)
	}
}

// recorded returns the recorded files of a book's medium, in order, and the medium's path.
func (s *shelf) recorded(medium string) (recorded string) {
	s.t.Helper()
	book, err := s.Store.Downloads.BookByID(s.t.Context(), s.book.ID)
	s.must(err)
	for _, m := range book.Media {
		if m.MediaType == medium {
			recorded = m.Path + ":"
		}
	}
	files, err := s.Store.Downloads.FilesOf(s.t.Context(), []int64{s.book.ID}, 9)
	s.must(err)
	var paths []string
	for _, file := range files {
		if file.MediaType == medium {
			paths = append(paths, file.Path)
		}
	}
	return recorded + strings.Join(paths, ",")
}

// twin is another book with the same title and author.
func (s *shelf) twin() download.Book {
	s.t.Helper()
	book, err := s.Store.Downloads.CreateBook(s.t.Context(), s.book.Title, s.book.Author, core.Request{UserID: s.user().ID})
	s.must(err)
	return book
}

const (
	bookAt  = "Unknown author/A book/A book.epub"
	otherAt = "Unknown author/A book/A book (2).epub"
)

func crossDevice(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
}

func TestImportLinksOrCopies(t *testing.T) {
	t.Parallel()
	for name, link := range map[string]func(from, to string) error{"link": os.Link, "copy": crossDevice} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			s.Activities.Library.Link = link
			job := s.complete("text", map[string]string{"B/b.epub": epub, "B/cover.jpg": "x"})
			if record := s.move(job, lifecycle.DownloadActionComplete, ""); !record.NeedsImport || record.Status != lifecycle.DownloadDownloading {
				t.Errorf("%+v", record)
			}

			// a worker was killed while copying, another one between the file and the record
			s.write(filepath.Join(s.library, filepath.Dir(bookAt), fmt.Sprintf(".stagecoach-%d-x", job.ID)), "PK")
			s.wantImported(job, bookAt)
			s.exec(`UPDATE download_jobs SET status = 'downloading', completed_at_utc = NULL, imported = false WHERE id = $1`, job.ID)
			s.wantImported(job, bookAt)

			if got := s.recorded("text"); got != bookAt+":"+bookAt {
				t.Error(got)
			}
			if record := s.move(job, lifecycle.DownloadActionComplete, ""); record.NeedsImport {
				t.Error("it is to be imported twice")
			}
		})
	}
}

func TestImportOfAnAudiobook(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	job := s.complete("audio", map[string]string{"B/10.mp3": "ID3 10", "B/2.mp3": "ID3 2", "B/book.epub": epub})
	const folder = "Unknown author/A book/A book"
	s.wantImported(job, folder+"/1 2.mp3", folder+"/2 10.mp3")
	if got := s.recorded("audio"); got != folder+":"+folder+"/1 2.mp3,"+folder+"/2 10.mp3" {
		t.Error(got)
	}
}

// TestImportOfPartsInTwoFormats imports all parts, no litter, and records how many files of the medium it leaves out.
func TestImportOfPartsInTwoFormats(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	const folder, m4 = "Unknown author/A book/A book", "\x00\x00\x00\x20ftypM4A "
	job := s.complete("audio", map[string]string{
		"B/Part 1.m4b": m4 + "1", "B/Part 2.m4a": m4 + "22", "B/._Part 2.m4a": "\x00\x05\x16\x07", "B/Extras/talk.mp3": "ID3", "B/other.ogg": "OggS",
	})
	s.wantImported(job, folder+"/Part 1.m4b", folder+"/Part 2.m4a")
	if now := s.reload(job); now.LeftOut != 2 {
		t.Errorf("%d files are left out", now.LeftOut)
	}
}

// TestImportBesideOthers renames a file if other content, or another book's file, is in its place.
func TestImportBesideOthers(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(filepath.Join(s.library, bookAt), "of somebody else")
	s.wantImported(s.complete("text", map[string]string{"b.epub": epub}), otherAt, bookAt)

	third := "Unknown author/A book/A book (3).epub"
	s.wantImported(s.completeOf(s.user(), s.twin(), "text", map[string]string{"b.epub": epub}), otherAt, third, bookAt)
}

// TestNobodyTakesAllNames imports tiny files with one author and title until all numbers are used up: the next person's
// file gets a name of its own.
func TestNobodyTakesAllNames(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	for range 5 {
		job := s.completeOf(s.user(), s.twin(), "text", map[string]string{"b.txt": "x"})
		if record, err := s.importOf(job); err != nil || record.Status != lifecycle.DownloadCompleted {
			t.Fatalf("%+v %v", record, err)
		}
	}

	job := s.complete("text", map[string]string{"b.txt": "the book"})
	if record, err := s.importOf(job); err != nil || record.Status != lifecycle.DownloadCompleted {
		t.Errorf("%+v %v", record, err)
	}
	own := fmt.Sprintf("Unknown author/A book/A book  (%d).txt", job.ID)
	if got := s.recorded("text"); got != own+":"+own {
		t.Error(got)
	}
}

// TestImportPastAFileInTheWay imports a book where a file occupies the place of a template folder.
func TestImportPastAFileInTheWay(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.write(filepath.Join(s.library, "Unknown author"), "a file")
	job := s.complete("text", map[string]string{"b.epub": epub})
	s.wantImported(job, fmt.Sprintf("A book  (%d).epub", job.ID), "Unknown author")
}

// TestAFolderIsOfOneDownload puts audiobooks of one name into separate folders, although no file has another's name.
func TestAFolderIsOfOneDownload(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	const first, second = "Unknown author/A book/A book", "Unknown author/A book/A book (2)"
	s.wantImported(s.complete("audio", map[string]string{"a1.mp3": "ID3 1", "a2.mp3": "ID3 2"}), first+"/a1.mp3", first+"/a2.mp3")
	other := s.completeOf(s.user(), s.twin(), "audio", map[string]string{"b1.mp3": "ID3 1", "b2.mp3": "ID3 2"})
	s.wantImported(other, first+"/a1.mp3", first+"/a2.mp3", second+"/b1.mp3", second+"/b2.mp3")
}

// TestImportByOthers imports other users' downloads for a book that has the medium: the book keeps its copy, and each
// download has its own. The book's creator replaces it.
func TestImportByOthers(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	first := s.complete("text", map[string]string{"b.epub": epub})
	s.wantImported(first, bookAt)
	late := s.complete("text", map[string]string{"b.epub": epub + "!"})
	if record := s.move(late, lifecycle.DownloadActionComplete, ""); !record.NeedsImport {
		t.Errorf("%+v", record)
	}
	s.wantImported(late, otherAt, bookAt)
	if got := s.recorded("text"); got != bookAt+":"+bookAt {
		t.Error(got)
	}

	creator, err := s.Store.Accounts.UserByID(t.Context(), s.book.CreatorID)
	s.must(err)
	again := s.completeOf(creator, s.book, "text", map[string]string{"b.epub": epub + "?"})
	third := "Unknown author/A book/A book (3).epub"
	s.wantImported(again, otherAt, third, bookAt)
	if got := s.recorded("text"); got != third+":"+third {
		t.Error(got)
	}
	for job, want := range map[*download.Download]string{&first: bookAt, &late: otherAt, &again: third} {
		files, err := s.Store.Downloads.FilesBrought(t.Context(), job.ID, 9)
		if err != nil || len(files) != 1 || files[0].Path != want {
			t.Errorf("download %d has %+v, %v, want %s", job.ID, files, err, want)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files  map[string]string
		break_ func(s *shelf, job download.Download)
		code   fault.Code
	}{
		"no file of the medium": {map[string]string{"a.mp3": "ID3"}, nil, fault.MediumUnsuitable},
		"another format":        {map[string]string{"b.epub": "MZ a program"}, nil, fault.MediumUnsuitable},
		"a way out":             {map[string]string{"../b.epub": epub}, nil, fault.MediumUnsuitable},
		"a link": {map[string]string{"b.epub": epub}, func(s *shelf, job download.Download) {
			file := filepath.Join(s.downloads, job.Tag(), "b.epub")
			s.must(os.Rename(file, file+".other"))
			s.must(os.Symlink("b.epub.other", file))
		}, fault.MediumUnsuitable},
		"a missing file": {map[string]string{"b.epub": epub}, func(s *shelf, job download.Download) {
			s.must(os.Remove(filepath.Join(s.downloads, job.Tag(), "b.epub")))
		}, fault.ImportFailed},
		"another size": {map[string]string{"b.epub": epub}, func(s *shelf, job download.Download) {
			s.write(filepath.Join(s.downloads, job.Tag(), "b.epub"), epub+"!")
		}, fault.ImportFailed},
		"no folder of the torrent": {map[string]string{"b.epub": epub}, func(s *shelf, _ download.Download) {
			s.must(os.RemoveAll(s.downloads))
		}, fault.ImportFailed},
		"no library": {map[string]string{"b.epub": epub}, func(s *shelf, _ download.Download) {
			s.must(os.Remove(s.library))
			s.write(s.library, "a file")
		}, fault.ImportFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShelf(t)
			job := s.complete("text", c.files)
			if c.break_ != nil {
				c.break_(s, job)
			}
			_, err := s.importOf(job)
			s.wantFailure(err, c.code, c.code == fault.ImportFailed)
			if strings.Contains(err.Error(), ".epub") || strings.Contains(err.Error(), s.library) {
				t.Errorf("a name is told: %v", err)
			}
			if now := s.reload(job); now.State != lifecycle.DownloadDownloading {
				t.Errorf("%+v", now)
			}
		})
	}
}

// TestFailedImportWaits shows a failed import in the record, beside a stall, until a person retries it.
func TestFailedImportWaits(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	job := s.complete("text", map[string]string{"b.epub": epub})
	note := func(kind string, reason fault.Code) download.Download {
		_, err := s.env.ExecuteActivity(s.NoteDownload, Note{JobID: job.ID, Type: kind, Reason: reason})
		s.must(err)
		return s.reload(job)
	}

	for range 2 {
		now := note(lifecycle.DownloadImportFailed, fault.MediumUnsuitable)
		if now.Attention != "import_failed" || now.LastError != "MEDIUM_UNSUITABLE" {
			t.Errorf("%+v", now)
		}
	}
	if now := note(lifecycle.DownloadRecovered, ""); now.Attention != "import_failed" {
		t.Errorf("a stall's end ends it: %+v", now)
	}

	if record := s.move(job, lifecycle.DownloadActionComplete, ""); record.NeedsImport || record.Attention != fault.ImportFailed {
		t.Errorf("%+v", record)
	}
	if record, err := s.importOf(job); err != nil || record.Attention != fault.ImportFailed || record.Status != lifecycle.DownloadDownloading {
		t.Errorf("%+v %v", record, err)
	}
	s.wantLying()

	_, err := s.Store.Downloads.Change(t.Context(), job.ID, func(walk *download.DownloadWalk) error {
		return walk.Take(download.DownloadStep{Action: lifecycle.DownloadActionRetryImport, Roles: []lifecycle.Role{lifecycle.Owner}})
	})
	s.must(err)
	s.wantImported(job, bookAt)
}

// TestImportLooksWhereTheFolderIsMounted finds qBittorrent's folder at a different path on the worker.
func TestImportLooksWhereTheFolderIsMounted(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	s.Activities.Settings.SavePath, s.Activities.Library.Media = "/elsewhere/", s.downloads
	s.wantImported(s.complete("text", map[string]string{"b.epub": epub}), bookAt)

	stray := s.complete("audio", map[string]string{"b.mp3": "ID3"})
	s.Activities.Settings.SavePath = "/else"
	_, err := s.importOf(stray)
	s.wantFailure(err, fault.ImportFailed, true)
}

// TestImportFromWindows finds the files of a qBittorrent on Windows in the folder where the worker mounts them.
func TestImportFromWindows(t *testing.T) {
	t.Parallel()
	for folder, reported := range map[string]string{
		`D:\Downloads`: `D:\Downloads\`, `d:/downloads/`: `D:\Downloads\`, `\\nas\dl\`: `\\NAS\dl\`,
	} {
		s := newShelf(t)
		s.Activities.Settings.SavePath, s.Activities.Library.Media = folder, s.downloads
		job := s.job(magnet(1))
		s.must(s.add(job))
		there := s.torrent(job.Tag())
		s.write(filepath.Join(s.downloads, job.Tag(), "B/b.epub"), epub)
		s.must(s.qb.Remove(job.Tag()))
		there.State, there.Progress, there.SavePath = "stalledUP", 1, reported+job.Tag()
		s.must(s.qb.Put(*there))
		s.must(s.qb.Change(job.Tag(), torrentsim.TorrentChange{Files: []torrentsim.TorrentFile{{Name: `B\b.epub`, Size: int64(len(epub)), Priority: 1}}}))
		s.exec(`UPDATE download_jobs SET content_path = $2, progress = 1 WHERE id = $1`, job.ID, reported+job.Tag())
		s.move(job, lifecycle.DownloadActionBegin, "")
		s.wantImported(s.reload(job), bookAt)
		if saved := s.reload(job).SavePath; strings.Contains(saved, `\/`) || strings.Contains(saved, `//`) {
			t.Errorf("it is saved in %s", saved)
		}
	}
}

// TestImportOfAnAbsentTorrent leaves it to the watcher.
func TestImportOfAnAbsentTorrent(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	job := s.complete("text", map[string]string{"b.epub": epub})
	s.must(s.qb.Remove(job.Tag()))
	if record, err := s.importOf(job); err != nil || record.Status != lifecycle.DownloadDownloading {
		t.Errorf("%+v %v", record, err)
	}
}

// TestImportOfAnotherDownloadAtOnce takes a place that another download took between the check and the record.
func TestImportOfAnotherDownloadAtOnce(t *testing.T) {
	t.Parallel()
	s := newShelf(t)
	job := s.complete("text", map[string]string{"b.epub": epub})
	s.exec(`INSERT INTO library_files VALUES (1000, 1, $1, lower($1), 5)`, bookAt)
	_, err := s.Jobs.Complete(t.Context(), job, bookAt, []download.LibraryFile{{Path: bookAt, Size: 5}})
	if fault.CodeOf(err) != fault.ImportFailed {
		t.Error(err)
	}
	s.wantImported(job, otherAt)
}
