// Package shelf reads the library folder: the books' files, as a source of deliveries beside Yandex Disk.
//
// A recorded path that begins with Prefix is a library file; the rest is relative to the folder, with slashes. Nothing
// outside the folder can be reached, not even through symlinks.
package shelf

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"

	"stagecoach/internal/fault"
	"stagecoach/internal/yandex"
)

// Prefix begins a library file's path.
const Prefix = "library:/"

// Folder is the library folder.
type Folder struct {
	Dir string // empty: none
}

// File is an open library file.
type File struct {
	*os.File
	Info fs.FileInfo
}

// Version identifies a file's content: another size or modification time is another version.
func Version(name string, info fs.FileInfo) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%s\x00%d\x00%d", Prefix, name, info.Size(), info.ModTime().UnixNano()))
	return hex.EncodeToString(sum[:])
}

// Open opens a file by its path relative to the folder. FILE_NOT_FOUND: there is no such file. STORAGE_UNAVAILABLE: the
// folder, or the file, is currently unreadable.
func (f Folder) Open(name string) (*File, error) {
	if f.Dir == "" || !fs.ValidPath(name) {
		return nil, noFile
	}

	root, err := os.OpenRoot(f.Dir) // anew each time: the folder may be mounted later, or again
	if err != nil {
		return nil, unavailable.WithCause(err)
	}
	defer root.Close()

	// Without O_NONBLOCK a named pipe in the folder would block the caller forever.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		for _, passing := range []error{fs.ErrPermission, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE} {
			if errors.Is(err, passing) {
				return nil, unavailable.WithCause(err)
			}
		}
		return nil, noFile // nor is anything that leads out of the folder
	}

	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() && !info.IsDir() {
		_ = file.Close()
		return nil, noFile
	}
	return &File{file, info}, nil
}

var (
	noFile      = fault.New(fault.FileNotFound, "no such file or folder")
	unavailable = fault.New(fault.YandexUnavailable, "the library folder cannot be read").Retry()
)

// Upstream is the source of all other files. It is a *yandex.Client.
type Upstream interface {
	Stat(ctx context.Context, path string) (yandex.Item, error)
	Open(ctx context.Context, path string, offset int64) (*yandex.Download, error)
}

// Storage reads files of the library and of another source, and answers alike for both.
type Storage struct {
	Upstream
	Library Folder
}

// Stat describes one file or folder.
func (s Storage) Stat(ctx context.Context, name string) (yandex.Item, error) {
	own, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return s.Upstream.Stat(ctx, name)
	}

	file, err := s.Library.Open(own)
	if err != nil {
		return yandex.Item{}, err
	}
	defer file.Close()

	item := yandex.Item{Path: name, Name: path.Base(own), Modified: file.Info.ModTime()}
	if item.Folder = file.Info.IsDir(); !item.Folder {
		item.Size, item.SHA256 = file.Info.Size(), Version(own, file.Info)
	}
	return item, nil
}

// Open starts reading a file at an offset in bytes. If the file cannot be resumed at offset the fault's cause is
// yandex.ErrNoResume. A file that changes while being read has more or fewer bytes than its size, as on Yandex Disk.
func (s Storage) Open(ctx context.Context, name string, offset int64) (*yandex.Download, error) {
	own, ok := strings.CutPrefix(name, Prefix)
	if !ok {
		return s.Upstream.Open(ctx, name, offset)
	}

	file, err := s.Library.Open(own)
	if err != nil {
		return nil, err
	}

	size := file.Info.Size()
	switch {
	case file.Info.IsDir():
		err = noFile
	case offset > 0 && offset >= size:
		err = fault.New(fault.YandexProtocol, "the file is shorter now").WithCause(yandex.ErrNoResume)
	default:
		_, err = file.Seek(offset, io.SeekStart)
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return &yandex.Download{Body: body{file}, Size: size}, nil
}

// body converts errors of reading a file into faults.
type body struct{ io.ReadCloser }

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = unavailable.WithCause(err)
	}
	return n, err
}
