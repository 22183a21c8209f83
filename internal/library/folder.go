package library

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

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
		return nil, fault.New(fault.MediumUnsuitable, "a file of the torrent is not of the format that its name says")
	default:
		return info, nil
	}
}

// failed is an error that a later attempt may not meet. Its message has no name of a file, its cause goes to the log.
func failed(message string, cause error) error {
	return fault.New(fault.ImportFailed, "%s", message).Retry().WithCause(cause)
}

// Folder is the library folder, for the imports of one attempt.
type Folder struct {
	root     *os.Root
	mark     string // temporary names of the same job begin with it
	link     func(from, to string) error
	progress func() // is called after each piece of a file
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

// ErrTaken says that other content lies at a place. A later attempt finds another one.
var ErrTaken = fault.New(fault.ImportFailed, "other content lies at the place in the library folder").Retry()

// Put puts a file at a place: as a hard link, else as a copy. It does nothing when the same content lies there already.
// ErrTaken: other content lies there.
func (f *Folder) Put(ctx context.Context, source *Source, place string) error {
	if there, err := f.Has(ctx, source, place); err != nil || there {
		return err
	}

	if err := f.root.MkdirAll(path.Dir(place), 0o755); err != nil {
		return failed("the library folder cannot be written", err)
	}
	f.sweep(path.Dir(place))

	linked := f.link(source.at, filepath.Join(f.root.Name(), filepath.FromSlash(place)))
	if linked != nil && !errors.Is(linked, fs.ErrExist) {
		return f.copy(ctx, source, place)
	}
	_, err := f.Has(ctx, source, place) // both names may have been given to other files meanwhile
	return err
}

// Has says whether the source's content lies at a place; false: nothing does. ErrTaken: something else does.
func (f *Folder) Has(ctx context.Context, source *Source, place string) (bool, error) {
	info, err := f.root.Lstat(place)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
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

	mine, theirs, size := sha256.New(), sha256.New(), info.Size()
	err = errors.Join(f.pieces(ctx, mine, source, size, nil), f.pieces(ctx, theirs, file, size, nil))
	switch {
	case err != nil:
		return false, failed("a file cannot be read", err)
	case !bytes.Equal(mine.Sum(nil), theirs.Sum(nil)):
		return false, ErrTaken
	default:
		return true, nil
	}
}

// piece is how much of a file is read between two heartbeats.
const piece = 4 << 20

// pieces reads a file into another, or into a sum. Each piece is synced: a sync of all at the end could outlast a
// heartbeat.
func (f *Folder) pieces(ctx context.Context, to io.Writer, file io.ReaderAt, size int64, sync func() error) error {
	from := io.NewSectionReader(file, 0, size)
	for left := size; left > 0; left -= piece {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := io.CopyN(to, from, min(piece, left)); err != nil {
			return err
		}
		if sync != nil {
			if err := sync(); err != nil {
				return err
			}
		}
		f.progress()
	}
	return nil
}

// copy copies a file to a temporary name of its own, and gives it its name when all bytes are on the disk.
func (f *Folder) copy(ctx context.Context, source *Source, place string) error {
	temporary := path.Join(path.Dir(place), f.mark+rand.Text())
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return failed("the library folder cannot be written", err)
	}
	defer func() { _ = f.root.Remove(temporary) }()

	err = errors.Join(f.pieces(ctx, file, source, source.info.Size(), file.Sync), file.Close())
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

// sweep removes the temporary files that killed attempts of the same job have left in a folder. What stays is for the
// next attempt.
func (f *Folder) sweep(folder string) {
	entries, _ := fs.ReadDir(f.root.FS(), folder)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), f.mark) {
			_ = f.root.Remove(path.Join(folder, entry.Name()))
		}
	}
}
