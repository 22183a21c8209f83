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
	"slices"
	"strings"
	"syscall"

	"stagecoach/internal/fault"
)

// Source is an opened and checked file of a torrent.
type Source struct {
	*os.File
	at   string // the file's path, for a link
	info fs.FileInfo
}

// OpenSource opens a file below a torrent's folder, and checks its size and first bytes. A symbolic link is refused
// anywhere in the path. The caller closes the file.
func OpenSource(root *os.Root, c Chosen) (_ *Source, err error) {
	elements := strings.Split(c.Path, "/")
	for i := range elements {
		info, err := root.Lstat(strings.Join(elements[:i+1], "/"))
		if err != nil {
			return nil, failed("a file of the torrent cannot be read", err)
		}
		if last := i == len(elements)-1; last && !info.Mode().IsRegular() || !last && !info.IsDir() {
			return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent is a link or no regular file")
		}
	}

	file, err := root.Open(c.Path)
	if err != nil {
		return nil, failed("a file of the torrent cannot be read", err)
	}
	info, err := check(file, c)
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Source{file, filepath.Join(root.Name(), filepath.FromSlash(c.Path)), info}, nil
}

func check(file *os.File, c Chosen) (fs.FileInfo, error) {
	info, err := file.Stat()
	head := make([]byte, headSize)
	n, unread := file.ReadAt(head, 0)
	switch {
	case err != nil, unread != nil && !errors.Is(unread, io.EOF):
		return nil, failed("a file of the torrent cannot be read", errors.Join(err, unread))
	case !info.Mode().IsRegular(), info.Size() != c.Size:
		return nil, failed("a file of the torrent has another size than qBittorrent shows", nil)
	case !c.Format.looks(head[:n]):
		return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent does not have the format of its name")
	default:
		return info, nil
	}
}

// failed is an error that a later attempt may not encounter.
func failed(message string, cause error) error {
	if fault.IsDiskFull(cause) {
		message = "the disk of the library folder is full"
	}
	return fault.New(fault.ImportFailed, "%s", message).Retry().WithCause(cause)
}

// Folder is the library folder, for the imports of one attempt.
type Folder struct {
	root     *os.Root
	mark     string // prefix of temporary names, the same for all attempts of a job
	link     func(from, to string) error
	progress func() // called after each piece of a file
}

// Open opens the library folder. link is os.Link, or its substitute in tests. progress is called repeatedly.
func Open(dir, mark string, link func(from, to string) error, progress func()) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, failed("the library folder cannot be opened", err)
	}
	return &Folder{root: root, mark: ".stagecoach-" + mark + "-", link: link, progress: progress}, nil
}

// Close releases the folder.
func (f *Folder) Close() { _ = f.root.Close() }

// ErrTaken means that a place is occupied by other content. A later attempt finds another place.
var ErrTaken = fault.New(fault.ImportFailed, "the path in the library folder has other content").Retry()

// Put puts a file at a place: as a hard link, otherwise as a copy. Does nothing if the same content is already there.
// ErrTaken: other content is there.
func (f *Folder) Put(ctx context.Context, source *Source, place string) error {
	if there, err := f.Has(ctx, source, place); err != nil || there {
		return err
	}

	if err := f.root.MkdirAll(path.Dir(place), 0o755); err != nil {
		return failed("the library folder cannot be written", err)
	}

	// Killed attempts of the same job have left temporary files. What cannot be removed is left to the next attempt.
	entries, _ := fs.ReadDir(f.root.FS(), path.Dir(place))
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), f.mark) {
			_ = f.root.Remove(path.Join(path.Dir(place), entry.Name()))
		}
	}

	linked := f.link(source.at, filepath.Join(f.root.Name(), filepath.FromSlash(place)))
	if linked != nil && !errors.Is(linked, fs.ErrExist) {
		return f.copy(ctx, source, place)
	}
	_, err := f.Has(ctx, source, place) // both names may refer to other files meanwhile
	return err
}

// Has reports whether the source's content is at a place; false: nothing is. ErrTaken: something else is.
func (f *Folder) Has(ctx context.Context, source *Source, place string) (bool, error) {
	info, err := f.root.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ENOTDIR): // a file is in the way of a folder
		return false, ErrTaken
	case err != nil:
		return false, failed("the library folder cannot be read", err)
	case !info.Mode().IsRegular(), info.Size() != source.info.Size():
		return false, ErrTaken
	case os.SameFile(info, source.info):
		return true, nil
	}

	file, err := f.root.Open(place)
	if err != nil {
		return false, failed("the library folder cannot be read", err)
	}
	defer func() { _ = file.Close() }()

	same, err := f.same(ctx, source, file, info.Size())
	switch {
	case err != nil:
		return false, failed("a file cannot be read", err)
	case !same:
		return false, ErrTaken
	default:
		return true, nil
	}
}

// Alone returns ErrTaken if a folder for several files contains other media files. The given files' names are allowed.
func (f *Folder) Alone(folder string, files []Chosen) error {
	entries, err := fs.ReadDir(f.root.FS(), folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return ErrTaken
	case err != nil:
		return failed("the library folder cannot be read", err)
	}

	for _, entry := range entries {
		mine := slices.ContainsFunc(files, func(c Chosen) bool { return c.Name == entry.Name() })
		if !mine && isMedium(entry.Name()) {
			return ErrTaken
		}
	}
	return nil
}

// piece is how much of a file is read between two heartbeats.
const piece = 4 << 20

// same compares the bytes of two files of the same size, up to the first differing piece.
func (f *Folder) same(ctx context.Context, a, b io.ReaderAt, size int64) (bool, error) {
	mine, theirs := make([]byte, min(piece, size)), make([]byte, min(piece, size))
	for at := int64(0); at < size; at += piece {
		if ctx.Err() != nil {
			return false, ctx.Err()
		}

		n := min(piece, size-at)
		for _, side := range []struct {
			file io.ReaderAt
			into []byte
		}{{a, mine[:n]}, {b, theirs[:n]}} {
			if _, err := io.ReadFull(io.NewSectionReader(side.file, at, n), side.into); err != nil {
				return false, err
			}
		}
		if !bytes.Equal(mine[:n], theirs[:n]) {
			return false, nil
		}
		f.progress()
	}
	return true, nil
}

// fill copies a source into a file. Each piece is synced: a single sync at the end could outlast a heartbeat.
func (f *Folder) fill(ctx context.Context, file *os.File, source *Source) error {
	from := io.NewSectionReader(source, 0, source.info.Size())
	for left := from.Size(); left > 0; left -= piece {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.CopyN(file, from, min(piece, left)); err != nil {
			return err
		}
		if err := file.Sync(); err != nil {
			return err
		}
		f.progress()
	}
	return nil
}

// copy copies a file to its own temporary name, and renames it once all bytes are on the disk.
func (f *Folder) copy(ctx context.Context, source *Source, place string) error {
	temporary := path.Join(path.Dir(place), f.mark+rand.Text())
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed("the library folder cannot be written", err)
	}
	defer func() { _ = f.root.Remove(temporary) }()

	err = errors.Join(f.fill(ctx, file, source), file.Close())
	if err == nil {
		err = f.name(temporary, place)
	}
	switch {
	case errors.Is(err, fs.ErrExist):
		return ErrTaken
	case err != nil:
		return failed("the library folder cannot be written", err)
	default:
		return nil
	}
}

// name gives a copy its name, unless the name is taken.
func (f *Folder) name(temporary, place string) error {
	err := f.root.Link(temporary, place) // a rename would overwrite
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, free := f.root.Lstat(place); !errors.Is(free, fs.ErrNotExist) {
		return err
	}
	return f.root.Rename(temporary, place) // a file system without links
}
