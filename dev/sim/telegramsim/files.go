package telegramsim

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"stagecoach/dev/sim"
)

// upload is a complete file that does not belong to a message yet.
type upload struct {
	name string
	size int64
	sum  string // sha256, lower-case hex
	path string // empty when the bytes are discarded
}

func (u upload) drop() {
	if u.path != "" {
		_ = os.Remove(u.path) // it does not exist if a message took it
	}
}

// uploadDir holds incomplete files. It is on the same disk as their final location, so that taking one is a rename.
func (t *Server) uploadDir() string { return filepath.Join(t.options.Dir, ".uploads") }

// removeStaleUploads removes uploads that a crash interrupted.
func (t *Server) removeStaleUploads() error {
	if err := os.RemoveAll(t.uploadDir()); err != nil {
		return err
	}
	return os.Mkdir(t.uploadDir(), 0o755)
}

// takeIn streams a file to disk and hashes it on the way. A file that does not end properly leaves nothing behind, even
// if a fault cuts the connection with a panic.
func (t *Server) takeIn(src io.Reader) (file upload, err error) {
	hash := sha256.New()
	if t.options.DiscardFiles {
		n, err := t.copyIn(hash, src)
		return upload{size: n, sum: hex.EncodeToString(hash.Sum(nil))}, err
	}

	f, err := os.CreateTemp(t.uploadDir(), "")
	if err != nil {
		return upload{}, err
	}
	defer func() {
		err = errors.Join(err, f.Close())
		if file.path == "" {
			_ = os.Remove(f.Name())
		}
	}()

	n, err := t.copyIn(io.MultiWriter(f, hash), src)
	if err != nil {
		return upload{}, err
	}
	return upload{size: n, sum: hex.EncodeToString(hash.Sum(nil)), path: f.Name()}, nil
}

// copyIn copies a document up to the size limit.
func (t *Server) copyIn(dst io.Writer, src io.Reader) (int64, error) {
	// The multipart reader returns 4 KiB at a time. A write for each of them would cost more than the copying.
	buffer := bufio.NewWriterSize(dst, sim.BufferSize)
	n, err := io.Copy(buffer, io.LimitReader(src, t.options.MaxFileSize+1))
	if err == nil {
		err = buffer.Flush()
	}

	var broken *fs.PathError // a disk error, not the client's
	switch {
	case err == nil && n > t.options.MaxFileSize:
		return n, errTooLarge
	case err == nil || errors.As(err, &broken):
		return n, err
	}

	return n, badRequest("the file ended too early")
}

// takeShared stores a file of the shared folder, given by its file:// URI.
func (t *Server) takeShared(uri string) (upload, error) {
	u, err := url.Parse(uri)
	if err != nil || t.options.SharedDir == "" {
		return upload{}, errWrongFile
	}

	path, err := realPath(u.Path)
	if err != nil || !strings.HasPrefix(path, t.options.SharedDir+string(filepath.Separator)) {
		return upload{}, errWrongFile
	}

	f, err := os.Open(path)
	if err != nil {
		return upload{}, errWrongFile
	}
	defer func() { _ = f.Close() }()

	file, err := t.takeIn(f)
	file.name = filepath.Base(u.Path)
	return file, err
}

var errWrongFile = badRequest("wrong file identifier/HTTP URL specified")

// realPath is the absolute path without symbolic links.
func realPath(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(path)
}

// keep moves an upload to its place in the chat's folder and gives it its file ids; t.mu must be held.
func (t *Server) keep(file upload, chat, message int64) (*Document, error) {
	d := &Document{Name: file.name, Size: file.size, SHA256: file.sum}
	id := sha256.Sum256(fmt.Appendf(nil, "%s %d", t.options.Token, message))
	d.FileID = "BQACAgIAAxkBAAI" + base64.RawURLEncoding.EncodeToString(id[:])
	d.FileUniqueID = "AgAD" + base64.RawURLEncoding.EncodeToString(id[:8])
	if file.path == "" {
		return d, nil
	}

	var err error
	if d.Path, err = t.place(chat, message, file.name); err != nil {
		return nil, err
	}
	return d, os.Rename(file.path, filepath.Join(t.options.Dir, d.Path))
}

// place makes the chat's folder and returns the file's path in it, relative to the simulator's folder.
func (t *Server) place(chat, message int64, name string) (string, error) {
	folder := strconv.FormatInt(chat, 10)
	if err := os.MkdirAll(filepath.Join(t.options.Dir, folder), 0o755); err != nil {
		return "", err
	}
	prefix := strconv.FormatInt(message, 10) + "-"
	return filepath.Join(folder, prefix+fileName(name, 255-len(prefix))), nil
}

// fileName returns a name of at most limit bytes that every file system accepts.
func fileName(name string, limit int) string {
	name = strings.Map(func(r rune) rune {
		if r == utf8.RuneError || unicode.IsControl(r) || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '_'
		}
		return r
	}, name)

	for len(name) > limit {
		_, size := utf8.DecodeLastRuneInString(name)
		name = name[:len(name)-size]
	}
	return name
}
