package shelf

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/yandex"
)

const text = "0123456789"

// upstream has one file, whose name shows that it was queried.
type upstream struct{}

func (upstream) Stat(context.Context, string) (yandex.Item, error) {
	return yandex.Item{Name: "upstream"}, nil
}

func (upstream) Open(context.Context, string, int64) (*yandex.Download, error) {
	return &yandex.Download{Size: 77}, nil
}

func newStorage(t *testing.T) (s Storage, dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "library")
	for _, folder := range []string{dir, filepath.Join(dir, "Author", "Title")} {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(dir, "Author", "Title", "Title.epub"), text)
	return Storage{upstream{}, Folder{dir}}, dir
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

const book = Prefix + "Author/Title/Title.epub"

func TestOtherPathsAreTheOtherSources(t *testing.T) {
	t.Parallel()
	s, _ := newStorage(t)
	for _, path := range []string{"/library:/Author/Title/Title.epub", "/", "library:"} {
		item, err := s.Stat(t.Context(), path)
		download, errOpen := s.Open(t.Context(), path, 3)
		if err != nil || errOpen != nil || item.Name != "upstream" || download.Size != 77 {
			t.Errorf("%q: %+v, %v; %+v, %v", path, item, err, download, errOpen)
		}
	}
}

func TestAFileIsReadFromAnOffset(t *testing.T) {
	t.Parallel()
	s, _ := newStorage(t)
	for offset, want := range map[int64]string{0: text, 4: text[4:], 9: "9"} {
		download, err := s.Open(t.Context(), book, offset)
		if err != nil || download.Size != int64(len(text)) {
			t.Fatalf("%+v, %v", download, err)
		}
		got, err := io.ReadAll(download.Body)
		if err != nil || string(got) != want || download.Body.Close() != nil {
			t.Errorf("from %d: %q, %v", offset, got, err)
		}
	}

	for _, offset := range []int64{10, 11} {
		if _, err := s.Open(t.Context(), book, offset); !errors.Is(err, yandex.ErrNoResume) {
			t.Errorf("from %d: %v", offset, err)
		}
	}
}

// TestAFileThatChanges has another version with each size and time; its reader sees that the size differs.
func TestAFileThatChanges(t *testing.T) {
	t.Parallel()
	s, dir := newStorage(t)
	file, at := filepath.Join(dir, "Author", "Title", "Title.epub"), time.Now().Add(-time.Hour)
	version := func() string {
		item, err := s.Stat(t.Context(), book)
		if err != nil || len(item.SHA256) != 64 || item.Name != "Title.epub" || item.Path != book || item.Folder {
			t.Fatalf("%+v, %v", item, err)
		}
		return item.SHA256
	}

	if err := os.Chtimes(file, at, at); err != nil {
		t.Fatal(err)
	}
	first := version()
	if version() != first {
		t.Error("the same file has two versions")
	}

	download, err := s.Open(t.Context(), book, 0)
	if err != nil {
		t.Fatal(err)
	}
	write(t, file, text+"more")
	if version() == first {
		t.Error("another content has the same version")
	}
	if got, err := io.ReadAll(download.Body); err != nil || int64(len(got)) == download.Size {
		t.Errorf("a file that grows gives %q, %v", got, err)
	}

	if download, err = s.Open(t.Context(), book, 0); err != nil {
		t.Fatal(err)
	}
	write(t, file, "short")
	if got, err := io.ReadAll(download.Body); err != nil || int64(len(got)) == download.Size {
		t.Errorf("a file that was cut gives %q, %v", got, err)
	}
}

// TestWhatIsNoFile answers like Yandex Disk, and never blocks on a pipe.
func TestWhatIsNoFile(t *testing.T) {
	t.Parallel()
	s, dir := newStorage(t)
	outside := filepath.Join(filepath.Dir(dir), "outside")
	write(t, outside, "secret")
	inside := filepath.Join(dir, "link inside")
	if err := errors.Join(
		os.Symlink(outside, filepath.Join(dir, "link out")), os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("Author/Title/Title.epub", inside), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644),
	); err != nil {
		t.Fatal(err)
	}

	for _, path := range []string{
		"none", "Author/none", "", "..", "../outside", "/Author", "Author/../Author/Title/Title.epub", "link out",
		"up/outside", "pipe", "Author/Title/Title.epub/", "\x00", strings.Repeat("a", 300),
	} {
		_, err := s.Stat(t.Context(), Prefix+path)
		_, errOpen := s.Open(t.Context(), Prefix+path, 0)
		for _, err := range []error{err, errOpen} {
			if f := fault.As(err); f == nil || f.Code != fault.FileNotFound || f.Retryable {
				t.Errorf("%q: %v", path, err)
			} else if f.Cause != nil && strings.Contains(f.Cause.Error(), "outside") {
				t.Errorf("%q: the cause names it: %v", path, f.Cause)
			}
		}
	}

	if item, err := s.Stat(t.Context(), Prefix+"link inside"); err != nil || item.Size != int64(len(text)) {
		t.Errorf("a link within the folder: %+v, %v", item, err)
	}
	if item, err := s.Stat(t.Context(), Prefix+"Author"); err != nil || !item.Folder || item.Size != 0 {
		t.Errorf("a folder: %+v, %v", item, err)
	}
	if _, err := s.Open(t.Context(), Prefix+"Author", 0); fault.CodeOf(err) != fault.FileNotFound {
		t.Errorf("a folder is opened: %v", err)
	}

	// Without a setting nothing is there; an unavailable folder comes back.
	for dir, want := range map[string]fault.Code{"": fault.FileNotFound, dir + " away": fault.YandexUnavailable} {
		_, err := Storage{upstream{}, Folder{dir}}.Stat(t.Context(), book)
		if f := fault.As(err); f == nil || f.Code != want || f.Retryable != (want == fault.YandexUnavailable) {
			t.Errorf("in %q: %v", dir, err)
		}
	}
}
