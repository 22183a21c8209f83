package store_test

import (
	"fmt"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/operations"
)

// brings completes a user's download for the rig's book with files in the library folder: the first names the medium.
func (s *downloadRig) brings(user account.User, paths ...string) download.Download {
	s.t.Helper()
	job, err := s.imports(s.move(s.download(user), lifecycle.DownloadDownloading), paths...)
	s.must(err)
	if now := s.reload(job); !now.Imported || now.InBook != s.inBook(job) {
		s.t.Errorf("%+v", now)
	}
	return job
}

func (s *downloadRig) imports(job download.Download, paths ...string) (download.Download, error) {
	return s.Downloads.Change(s.t.Context(), job.ID, func(walk *download.DownloadWalk) error {
		walk.Row.Folder, walk.Row.ContentPath = paths[0], "/downloads/x"
		for _, path := range paths {
			walk.Row.Brought = append(walk.Row.Brought, download.LibraryFile{Path: path, Size: 7})
		}
		return walk.Take(download.DownloadStep{Action: lifecycle.DownloadActionComplete})
	})
}

// inBook reports whether the book's medium has a job's files.
func (s *downloadRig) inBook(job download.Download) bool {
	s.t.Helper()
	files, err := s.Downloads.FilesBrought(s.t.Context(), job.ID, 9)
	s.must(err)
	return len(files) > 0 && s.ofBook() == pathsOf(files)
}

// ofBook lists the files of the book's available media.
func (s *downloadRig) ofBook() string {
	s.t.Helper()
	media, err := s.Downloads.FilesOf(s.t.Context(), []int64{s.book.ID}, 9)
	s.must(err)
	var files []download.LibraryFile
	for _, file := range media {
		files = append(files, file.LibraryFile)
	}
	return pathsOf(files)
}

func pathsOf(files []download.LibraryFile) string {
	var paths []string
	for _, file := range files {
		paths = append(paths, file.Path)
	}
	return strings.Join(paths, " ")
}

// wantBrought checks a job's files.
func (s *downloadRig) wantBrought(when string, job download.Download, want string) {
	s.t.Helper()
	files, err := s.Downloads.FilesBrought(s.t.Context(), job.ID, 9)
	s.must(err)
	if got := pathsOf(files); got != want || s.reload(job).FileCount != len(files) {
		s.t.Errorf("%s: job %d has %q, %d files, want %q", when, job.ID, got, s.reload(job).FileCount, want)
	}
}

// TestOnlyTheCreatorReplaces lets several people download one medium: the first copy becomes the book's, then only the
// book's creator, their agents and administrators replace it. Everyone has their own files.
func TestOnlyTheCreatorReplaces(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	admin, err := s.Accounts.CreateUser(t.Context(), account.User{Status: account.UserActive, Role: account.RoleAdmin}, account.NewToken())
	s.must(err)
	agent := s.user(3)
	s.exec(`UPDATE users SET owner_id = $2 WHERE id = $1`, agent.ID, s.ann.ID)

	brought := map[string]download.Download{}
	for i, c := range []struct {
		who  account.User
		want bool
	}{
		{s.bob, true}, {s.bob, false}, {s.ann, true}, {s.bob, false}, {agent, true}, {s.bob, false}, {admin, true}, {s.ann, true},
	} {
		path := fmt.Sprintf("%d.epub", i)
		job := s.brings(c.who, path)
		if brought[path] = job; s.inBook(job) != c.want {
			t.Errorf("%d: user %d, the book has %q", i, c.who.ID, s.ofBook())
		}
	}
	for path, job := range brought {
		s.wantBrought("all have completed", job, path)
	}

	// A copy deleted by a person no longer belongs to anybody; whoever comes first adds the next one.
	last := brought["7.epub"]
	change := download.MediumChange{BookID: s.book.ID, MediaType: "text", To: download.MediaDeleted}
	_, err = s.Downloads.ChangeMedium(t.Context(), change)
	s.must(err)
	s.wantBrought("deleted", last, "")
	next := s.brings(s.bob, "8.epub")
	s.wantBrought("replaced after it was deleted", last, "")
	if s.ofBook() != "8.epub" || s.reload(last).InBook || !s.reload(next).InBook {
		t.Errorf("the book has %q", s.ofBook())
	}
}

// TestWhoMayReadAFile requires files of available media to be readable by everyone, and other copies only through their
// download.
func TestWhoMayReadAFile(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	admin, err := s.Accounts.CreateUser(t.Context(), account.User{Status: account.UserActive, Role: account.RoleAdmin}, account.NewToken())
	s.must(err)
	want := func(when, path string, bob, ann, theirs bool) {
		t.Helper()
		for user, want := range map[*account.User]bool{&s.bob: bob, &s.ann: ann, &admin: theirs} {
			if got, err := s.Downloads.HasFile(t.Context(), *user, path); err != nil || got != want {
				t.Errorf("%s: user %d may read %s: %t, %v", when, user.ID, path, got, err)
			}
		}
	}

	s.brings(s.ann, "A/T.epub")
	kept := s.brings(s.bob, "A/T (2).epub")
	want("the book's", "A/T.epub", true, true, true)
	want("kept", "A/T (2).epub", true, false, true)
	want("another letter case", "a/t.epub", false, false, false)
	s.exec(`UPDATE media_assets SET status = 'deleted'`)
	want("deleted", "A/T.epub", false, false, false)
	want("kept when the book's is deleted", "A/T (2).epub", true, false, true)
	s.exec(`DELETE FROM books`)
	want("kept when the book is gone", "A/T (2).epub", true, false, true)
	s.wantBrought("the book is gone", kept, "A/T (2).epub")
}

// TestFilesOutliveTheirDownload lets retention delete downloads: a medium keeps its files, and other copies are
// deleted.
func TestFilesOutliveTheirDownload(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	recorded := func() string {
		t.Helper()
		var paths string
		s.scan(`SELECT coalesce(string_agg(path, ' ' ORDER BY path), '') FROM library_files`, &paths)
		return paths
	}
	old := func() {
		t.Helper()
		s.aged(100, "download_jobs", "true", "created_at_utc", "updated_at_utc", "completed_at_utc")
		s.deleteOld(operations.Retention{"downloads": 99})
	}

	s.brings(s.ann, "1.epub")
	s.brings(s.bob, "2.epub")
	if old(); recorded() != "1.epub" || s.ofBook() != "1.epub" {
		t.Errorf("the record has %q, the book %q", recorded(), s.ofBook())
	}
	if s.brings(s.ann, "3.epub"); recorded() != "3.epub" || s.ofBook() != "3.epub" {
		t.Errorf("a copy without a download was replaced: the record has %q, the book %q", recorded(), s.ofBook())
	}

	old()
	_, _, err := s.Operations.Forget(t.Context(), s.ann.ID, s.bob.ID)
	s.must(err)
	if book, err := s.Downloads.BookByID(t.Context(), s.book.ID); err != nil || book.Media[0].OwnerID != nil || book.Media[0].SourceURL != core.RemovedText {
		t.Errorf("the book still has the link of a forgotten user: %+v, %v", book, err)
	}
}

// TestPlacesAreTakenOnce gives no download a place where another one's file is recorded, in any letter case, in its
// folder, or as a file in place of a folder.
func TestPlacesAreTakenOnce(t *testing.T) {
	t.Parallel()
	s := newDownloadRig(t)
	first := s.brings(s.ann, "A/Тетрадь/2.mp3", "A/Тетрадь/1.mp3")
	s.wantBrought("in reading order", first, "A/Тетрадь/2.mp3 A/Тетрадь/1.mp3")
	s.brings(s.bob, "A/file.mp3")
	for _, c := range []struct {
		place string
		files []string
		taken bool
	}{
		{"A/Тетрадь", []string{"A/Тетрадь/1.mp3"}, true},
		{"A/Тетрадь", []string{"A/Тетрадь/3.mp3", "A/Тетрадь/4.mp3"}, true},
		{"a/ТЕТРАДЬ", []string{"a/ТЕТРАДЬ/3.mp3"}, true},
		{"A", []string{"A/3.mp3", "A/4.mp3"}, true},
		{"A/file.mp3", []string{"A/file.mp3"}, true},
		{"A/FILE.mp3", []string{"A/FILE.mp3"}, true},
		{"A/file.mp3/T.epub", []string{"A/file.mp3/T.epub"}, true},
		{"A/Тетрадь (2)", []string{"A/Тетрадь (2)/1.mp3"}, false},
		{"A/Тетрад", []string{"A/Тетрад/1.mp3"}, false},
		{"A/file", []string{"A/file/1.mp3"}, false},
	} {
		var files []download.LibraryFile
		for _, path := range c.files {
			files = append(files, download.LibraryFile{Path: path})
		}
		taken, err := s.Downloads.PlaceTaken(t.Context(), 0, c.place, files)
		if err != nil || taken != c.taken {
			t.Errorf("%s %q: taken %t, %v", c.place, c.files, taken, err)
		}
	}
	own := []download.LibraryFile{{Path: "A/Тетрадь/1.mp3"}}
	if taken, err := s.Downloads.PlaceTaken(t.Context(), first.ID, "A/Тетрадь", own); err != nil || taken {
		t.Errorf("its own: %t, %v", taken, err)
	}

	late := s.move(s.download(s.bob), lifecycle.DownloadDownloading)
	if _, err := s.imports(late, "a/FILE.mp3"); fault.CodeOf(err) != fault.ImportFailed || !fault.As(err).Retryable {
		t.Errorf("two downloads have one place: %v", err)
	}
}
