package library

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"stagecoach/dev/smalldisk"
	"stagecoach/internal/fault"
)

// rig is a torrent's folder beside a library folder.
type rig struct {
	torrent, library string
	root             *os.Root
	pieces           int
}

const content = "ID3 a chapter"

func newRig(t *testing.T) *rig {
	t.Helper()
	dir := t.TempDir()
	r := &rig{torrent: filepath.Join(dir, "torrent"), library: filepath.Join(dir, "library")}
	for _, folder := range []string{r.torrent, r.library} {
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}

	root, err := os.OpenRoot(r.torrent)
	if err != nil {
		t.Fatal(err)
	}
	r.root = root
	t.Cleanup(func() { _ = root.Close() })
	return r
}

func write(t *testing.T, text string, elements ...string) {
	t.Helper()
	name := filepath.Join(elements...)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func mp3(path string, size int) Chosen {
	return Chosen{File: File{path, int64(size)}, Format: formats["audio"][formatOf("audio", path)]}
}

func (r *rig) source(t *testing.T, text string) *Source {
	t.Helper()
	write(t, text, r.torrent, "a.mp3")
	source, err := OpenSource(r.root, mp3("a.mp3", len(text)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = source.Close() })
	return source
}

func (r *rig) folder(t *testing.T, link func(from, to string) error) *Folder {
	t.Helper()
	folder, err := Open(r.library, "7", link, func() { r.pieces++ })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(folder.Close)
	return folder
}

// lies lists the content of the library folder.
func (r *rig) lies(t *testing.T) (lies []string) {
	t.Helper()
	err := filepath.WalkDir(r.library, func(name string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			lies = append(lies, strings.TrimPrefix(name, r.library+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return lies
}

// crossDevice fails like a link to another file system.
func crossDevice(from, to string) error {
	return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EXDEV}
}

func TestPutLinksOrCopies(t *testing.T) {
	t.Parallel()
	big := content + strings.Repeat("x", 3*piece)
	for name, link := range map[string]func(from, to string) error{"link": os.Link, "copy": crossDevice} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			source, folder := r.source(t, big), r.folder(t, link)
			write(t, "of a killed attempt", r.library, "A/T/.stagecoach-7-x")
			write(t, "of another job", r.library, "A/T/.stagecoach-70-x")

			for range 2 { // the second time nothing changes
				if err := folder.Put(t.Context(), source, "A/T/T.mp3"); err != nil {
					t.Fatal(err)
				}
			}

			if lies := r.lies(t); !slices.Equal(lies, []string{"A/T/.stagecoach-70-x", "A/T/T.mp3"}) {
				t.Errorf("%q", lies)
			}
			got, _ := os.ReadFile(filepath.Join(r.library, "A/T/T.mp3"))
			info, _ := os.Stat(filepath.Join(r.library, "A/T/T.mp3"))
			if string(got) != big || os.SameFile(info, source.info) != (name == "link") {
				t.Errorf("%d bytes", len(got))
			}
			if name == "copy" && r.pieces < 4 {
				t.Errorf("progress was reported %d times", r.pieces)
			}
		})
	}
}

func TestNothingIsOverwritten(t *testing.T) {
	t.Parallel()
	other := strings.Repeat("y", len(content))
	for name, prepare := range map[string]func(t *testing.T, place string){
		"other bytes":   func(t *testing.T, place string) { write(t, other, place) },
		"another size":  func(t *testing.T, place string) { write(t, "short", place) },
		"a folder":      func(t *testing.T, place string) { write(t, "x", place, "x") },
		"a link to it":  func(t *testing.T, place string) { link(t, "other", place) },
		"a link to nil": func(t *testing.T, place string) { link(t, "nowhere", place) },
		"file, folder":  func(t *testing.T, place string) { write(t, "x", filepath.Dir(place)) },
	} {
		for _, how := range []func(from, to string) error{os.Link, crossDevice} {
			r := newRig(t)
			source, folder := r.source(t, content), r.folder(t, how)
			prepare(t, filepath.Join(r.library, "A/T.mp3"))
			before := r.lies(t)

			if _, err := folder.Has(t.Context(), source, "A/T.mp3"); !errors.Is(err, ErrTaken) {
				t.Errorf("%s: it is free: %v", name, err)
			}
			if err := folder.Put(t.Context(), source, "A/T.mp3"); !errors.Is(err, ErrTaken) {
				t.Errorf("%s: %v", name, err)
			}
			if after := r.lies(t); !slices.Equal(before, after) {
				t.Errorf("%s: %q became %q", name, before, after)
			}
		}
	}
}

// counted counts the bytes read.
type counted struct {
	io.ReaderAt
	bytes int
}

func (c *counted) ReadAt(p []byte, at int64) (n int, err error) {
	n, err = c.ReaderAt.ReadAt(p, at)
	c.bytes += n
	return n, err
}

// TestComparingEndsAtTheFirstDifference counts what is read of files that differ in one byte, and of equal ones.
func TestComparingEndsAtTheFirstDifference(t *testing.T) {
	t.Parallel()
	folder := newRig(t).folder(t, os.Link)
	const size = 3*piece + 5
	text := strings.Repeat("x", size)
	for at, want := range map[int]int{0: piece, piece: 2 * piece, size - 1: size, -1: size} {
		other := []byte(text)
		if at >= 0 {
			other[at] = 'y'
		}
		mine, theirs := &counted{ReaderAt: strings.NewReader(text)}, &counted{ReaderAt: bytes.NewReader(other)}
		same, err := folder.same(t.Context(), mine, theirs, size)
		if err != nil || same != (at < 0) || mine.bytes != want || theirs.bytes != want {
			t.Errorf("different at %d: %t, %v, %d and %d bytes are read, want %d", at, same, err, mine.bytes, theirs.bytes, want)
		}
	}
	if _, err := folder.same(t.Context(), strings.NewReader("x"), strings.NewReader("xx"), 2); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("a file became shorter: %v", err)
	}
}

// TestFolderOfOneMedium requires a folder for several files to contain no other media files.
func TestFolderOfOneMedium(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	folder := r.folder(t, os.Link)
	write(t, "x", r.library, "mine/1.mp3")
	write(t, "x", r.library, "mine/cover.jpg")
	write(t, "x", r.library, "mine/.stagecoach-8-x")
	write(t, "x", r.library, "theirs/3.mp3")
	write(t, "x", r.library, "text/T.epub")
	write(t, "x", r.library, "file")
	files := []Chosen{{Name: "1.mp3"}, {Name: "2.mp3"}}
	for place, want := range map[string]error{
		"mine": nil, "new/folder": nil, "theirs": ErrTaken, "text": ErrTaken, "file": ErrTaken, "file/folder": ErrTaken,
	} {
		if err := folder.Alone(place, files); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", place, err, want)
		}
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// TestTakenWhileCopying puts other content at the place after it was checked.
func TestTakenWhileCopying(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source := r.source(t, content)
	folder := r.folder(t, func(from, to string) error {
		write(t, "of another program", to)
		return crossDevice(from, to)
	})

	if err := folder.Put(t.Context(), source, "T.mp3"); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if lies := r.lies(t); !slices.Equal(lies, []string{"T.mp3"}) {
		t.Errorf("%q", lies)
	}
}

func TestCopiesToAFullDiskSayThatItIsFull(t *testing.T) {
	t.Parallel()
	disk := smalldisk.New(t, 1)
	r := newRig(t)
	r.library = disk.Dir
	source, folder := r.source(t, content), r.folder(t, crossDevice)
	disk.Fill()
	err := folder.Put(t.Context(), source, "T.mp3")
	if failure := fault.As(err); failure == nil || !failure.Retryable || failure.Message != "the disk of the library folder is full" {
		t.Errorf("a copy ended with %v", err)
	}

	disk.Free()
	if err := folder.Put(t.Context(), source, "T.mp3"); err != nil {
		t.Error(err)
	}
}

func TestCancelledCopyLeavesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source := r.source(t, content+strings.Repeat("x", 2*piece))
	ctx, cancel := context.WithCancel(t.Context())
	folder, err := Open(r.library, "7", crossDevice, cancel)
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()

	if err := folder.Put(ctx, source, "T.mp3"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if lies := r.lies(t); len(lies) > 0 {
		t.Errorf("%q", lies)
	}
}

// TestNothingEscapes points names of the library folder and the torrent outside by links.
func TestNothingEscapes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	source, folder := r.source(t, content), r.folder(t, crossDevice)
	outside := t.TempDir()
	link(t, outside, filepath.Join(r.library, "A"))
	if err := folder.Put(t.Context(), source, "A/T.mp3"); err == nil {
		t.Error("a file was put outside")
	}
	if entries, _ := os.ReadDir(outside); len(entries) > 0 {
		t.Error(entries)
	}

	write(t, content, outside, "secret.mp3")
	link(t, filepath.Join(outside, "secret.mp3"), filepath.Join(r.torrent, "link.mp3"))
	link(t, outside, filepath.Join(r.torrent, "folder"))
	link(t, "a.mp3", filepath.Join(r.torrent, "inside.mp3"))
	for _, file := range []string{"link.mp3", "folder/secret.mp3", "inside.mp3"} {
		if _, err := OpenSource(r.root, mp3(file, len(content))); fault.CodeOf(err) != fault.MediumUnsuitable {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestSourceIsChecked(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	write(t, content, r.torrent, "short.mp3")
	write(t, "MZ\x90 no sound at all", r.torrent, "wrong.mp3")
	write(t, "x", r.torrent, "folder.mp3", "x")
	for file, want := range map[string]fault.Code{
		"gone.mp3": fault.ImportFailed, "short.mp3": fault.ImportFailed, "wrong.mp3": fault.MediumUnsuitable,
		"folder.mp3": fault.MediumUnsuitable,
	} {
		_, err := OpenSource(r.root, mp3(file, len("MZ\x90 no sound at all")))
		if fault.CodeOf(err) != want || fault.As(err).Retryable != (want == fault.ImportFailed) {
			t.Errorf("%s: %v", file, err)
		}
	}

	if _, err := Open(filepath.Join(r.library, "gone"), "7", os.Link, func() {}); fault.CodeOf(err) != fault.ImportFailed {
		t.Error(err)
	}
}
