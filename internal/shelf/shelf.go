// Package shelf reads the library folder: the files of books, as a source of deliveries beside Yandex Disk.
//
// A path in the record that begins with Prefix is a file of the library; its rest is relative to the folder, with
// slashes. Nothing outside the folder can be reached, by symbolic links neither.
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

// Prefix begins the path of a file of the library.
const Prefix = "library:/"

// Folder is the library folder.
type Folder struct {
	Dir string // empty: there is none
}

// File is an open file of the library.
type File struct {
	*os.File
	Info fs.FileInfo
}

// Version names the content of a file: another size or time of change is another version.
func Version(name string, info fs.FileInfo) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s%s\x00%d\x00%d", Prefix, name, info.Size(), info.ModTime().UnixNano()))
	return hex.EncodeToString(sum[:])
}

// Open opens a file by its path relative to the folder. FILE_NOT_FOUND: there is no such file. STORAGE_UNAVAILABLE: the
// folder, or the file, cannot be read now.
func (f Folder) Open(name string) (*File, error) {
	if f.Dir == "" || !fs.ValidPath(name) {
		return nil, noFile
	}

	root, err := os.OpenRoot(f.Dir) // anew each time: the folder may be mounted later, or again
	if err != nil {
		return nil, notNow(err)
	}
	defer root.Close()

	// Without O_NONBLOCK a named pipe in the folder would hold the caller for ever.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, openFault(err)
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

// openFault turns an error of the file system into a fault. What leads out of the folder is not there.
func openFault(err error) error {
	for _, passing := range []error{fs.ErrPermission, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ESTALE} {
		if errors.Is(err, passing) {
			return notNow(err)
		}
	}
	return noFile
}

// notNow is the fault of a folder or file that cannot be read. Its cause has no path: names of files are in no log.
func notNow(err error) error { return unavailable.WithCause(errors.Unwrap(err)) }

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

// Open starts to read a file at an offset in bytes. When the file cannot be continued at offset the fault's cause is
// yandex.ErrNoResume. One that changes while it is read has more or fewer bytes than its size, as at Yandex Disk.
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

// body turns the errors of reading a file into faults.
type body struct{ io.ReadCloser }

func (b body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = notNow(err)
	}
	return n, err
}
