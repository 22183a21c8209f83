package library

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"stagecoach/internal/fault"
)

// Source is an opened file of a torrent that was checked.
type Source struct {
	*os.File
	at   string // where the name lies, for a link
	info fs.FileInfo
}

// OpenSource opens a file below the folder of a torrent, and checks its size and its first bytes. A symbolic link is
// refused wherever it is in the path. The caller closes the file.
func OpenSource(root *os.Root, c Chosen) (_ *Source, err error) {
	elements := strings.Split(c.Path, "/")
	for i := range elements {
		info, err := root.Lstat(strings.Join(elements[:i+1], "/"))
		if err != nil {
			return nil, failed("a file of the torrent cannot be read", err)
		}
		if last := i == len(elements)-1; last && !info.Mode().IsRegular() || !last && !info.IsDir() {
			return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent is a link, or no file")
		}
	}

	file, err := root.Open(c.Path)
	if err != nil {
		return nil, failed("a file of the torrent cannot be read", err)
	}
	defer func() {
		if err != nil {
			_ = file.Close()
		}
	}()

	info, err := file.Stat()
	if err != nil {
		return nil, failed("a file of the torrent cannot be read", err)
	}
	if !info.Mode().IsRegular() || info.Size() != c.Size {
		return nil, failed("a file of the torrent has another size than qBittorrent shows", nil)
	}

	head := make([]byte, headSize)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, failed("a file of the torrent cannot be read", err)
	}
	if !c.Format.Looks(head[:n]) {
		return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent is not of the format that its name says")
	}
	return &Source{file, filepath.Join(root.Name(), filepath.FromSlash(c.Path)), info}, nil
}

// failed is an error that a later attempt may not meet. Its message has no name of a file, its cause goes to the log.
func failed(message string, cause error) error {
	problem := fault.New(fault.ImportFailed, "%s", message).Retry()
	if cause != nil {
		problem = problem.WithCause(cause)
	}
	return problem
}

// Folder is the library folder, for the imports of one attempt.
type Folder struct {
	root     *os.Root
	mark     string // temporary names of the same job begin with it
	link     func(from, to string) error
	progress func() // is called after each piece of a file
	swept    string // the last folder that was swept
}

// Open opens the library folder. link is os.Link, or what stands for it in tests. progress is called again and again.
func Open(dir, mark string, link func(from, to string) error, progress func()) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("the library folder cannot be opened", err)
	}
	return &Folder{root: root, mark: ".stagecoach-" + mark + "-", link: link, progress: progress}, nil
}

// Close releases the folder.
func (f *Folder) Close() { _ = f.root.Close() }

// ErrTaken says that other content lies at a place.
var ErrTaken = errors.New("other content lies there")

// Free says whether a file could be put at a place: nothing lies there, or the same content, which an attempt before
// may have left. ErrTaken: it could not.
func (f *Folder) Free(ctx context.Context, source *Source, place string) error {
	_, err := f.same(ctx, source, place)
	return err
}

// Put puts a file at a place: as a hard link, else as a copy. It does nothing when the same content lies there already.
// ErrTaken: other content lies there.
func (f *Folder) Put(ctx context.Context, source *Source, place string) error {
	if there, err := f.same(ctx, source, place); err != nil || there {
		return err
	}

	if err := f.root.MkdirAll(path.Dir(place), 0o755); err != nil {
		return failed("the library folder cannot be written", err)
	}
	f.sweep(path.Dir(place))

	linked := f.link(source.at, filepath.Join(f.root.Name(), filepath.FromSlash(place)))
	if linked != nil && !errors.Is(linked, fs.ErrExist) {
		if err := f.copy(ctx, source, place); err != nil {
			return err
		}
	}

	// The names may have been given to other files meanwhile.
	there, err := f.same(ctx, source, place)
	if err == nil && !there {
		err = failed("the library folder was changed by another program", nil)
	}
	return err
}

// same says whether the source's content lies at a place; false: nothing does. ErrTaken: something else does.
func (f *Folder) same(ctx context.Context, source *Source, place string) (bool, error) {
	info, err := f.root.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil && !errors.Is(err, syscall.ENOTDIR):
		return false, failed("the library folder cannot be read", err)
	case err != nil, !info.Mode().IsRegular(), info.Size() != source.info.Size():
		return false, ErrTaken
	case os.SameFile(info, source.info):
		return true, nil
	}

	file, err := f.root.Open(place)
	if err != nil {
		return false, failed("the library folder cannot be read", err)
	}
	defer func() { _ = file.Close() }()

	mine, theirs := io.NewSectionReader(source, 0, source.info.Size()), io.Reader(file)
	for a, b := make([]byte, piece), make([]byte, piece); ; f.progress() {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		n, err := io.ReadFull(mine, a)
		m, err2 := io.ReadFull(theirs, b)
		if !ended(err) || !ended(err2) {
			return false, failed("a file cannot be read", errors.Join(err, err2))
		}
		if !bytes.Equal(a[:n], b[:m]) {
			return false, ErrTaken
		}
		if n < piece {
			return true, nil
		}
	}
}

func ended(err error) bool {
	return err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// piece is how much of a file is read between two heartbeats.
const piece = 1 << 20

// syncEvery is how many bytes are written between two syncs.
const syncEvery = 16 << 20

// copy copies a file to a temporary name of its own, and gives it its name when all bytes are on the disk.
func (f *Folder) copy(ctx context.Context, source *Source, place string) error {
	temporary := path.Join(path.Dir(place), f.mark+rand.Text())
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed("the library folder cannot be written", err)
	}
	defer func() { _ = f.root.Remove(temporary) }()

	err = errors.Join(f.write(ctx, file, source), file.Close())
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = f.name(temporary, place)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return failed("the library folder cannot be written", err)
	}
	return nil
}

// name gives a copy its name, unless the name is taken.
func (f *Folder) name(temporary, place string) error {
	err := f.root.Link(temporary, place) // a rename would overwrite
	if err != nil && !errors.Is(err, fs.ErrExist) {
		if _, taken := f.root.Lstat(place); errors.Is(taken, fs.ErrNotExist) { // a file system without links
			err = f.root.Rename(temporary, place)
		}
	}
	if err != nil {
		return err
	}

	folder, err := f.root.Open(path.Dir(place))
	if err != nil {
		return err
	}
	_ = folder.Sync() // some file systems cannot
	return folder.Close()
}

func (f *Folder) write(ctx context.Context, to *os.File, source *Source) error {
	from := io.NewSectionReader(source, 0, source.info.Size())
	for left, unsynced := source.info.Size(), int64(0); left > 0; f.progress() {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := io.CopyN(to, from, min(piece, left))
		if err != nil {
			return err
		}

		left, unsynced = left-n, unsynced+n
		if unsynced >= syncEvery { // a sync of all at the end could outlast a heartbeat
			if err := to.Sync(); err != nil {
				return err
			}
			unsynced = 0
		}
	}
	return to.Sync()
}

// sweep removes the temporary files that killed attempts of the same job have left in a folder.
func (f *Folder) sweep(folder string) {
	if f.swept == folder {
		return
	}
	f.swept = folder

	dir, err := f.root.Open(folder)
	if err != nil {
		return
	}
	defer func() { _ = dir.Close() }()

	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if strings.HasPrefix(name, f.mark) {
			_ = f.root.Remove(path.Join(folder, name)) // else the next attempt
		}
	}
}
