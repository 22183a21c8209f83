package torrent

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"

	"stagecoach/internal/fault"
)

// Limits of a torrent's content. qBittorrent creates all files of a torrent, even empty ones, within seconds.
const (
	MaxFiles = 10_000
	MaxSize  = 1 << 40 // bytes of all files

	maxPath   = 2 << 10 // bytes of a file's path, including the torrent's name
	maxNested = 32      // parts of a path
)

// TooLarge is the refusal of a torrent with too many or too large files.
func TooLarge() *fault.Error {
	return fault.New(fault.TorrentTooLarge, "the torrent has more than %d files, more than %d bytes, or a path that is too long", MaxFiles, int64(MaxSize))
}

// Identify reads a .torrent file, and returns the total size of its files in bytes. SOURCE_NOT_TORRENT: it is none;
// TORRENT_TOO_LARGE: it describes too much. An infohash is the hash of the bytes of the dictionary info in the file.
func Identify(file []byte) (id Identity, size int64, err error) {
	r := &reader{data: file}
	var info []byte
	var content content
	err = r.dictionary(func(key []byte) error {
		if string(key) != "info" {
			return r.skip()
		}
		if info != nil {
			return errors.New("it has two contents")
		}
		begin := r.at
		err := content.read(r)
		info = file[begin:r.at]
		return err
	})

	switch {
	case err != nil:
		return id, 0, notTorrent(err)
	case len(bytes.TrimSpace(file[r.at:])) > 0: // some servers append a line break
		return id, 0, notTorrent(errors.New("something is behind it"))
	case content.pieceLength <= 0 || !content.hasV1() && !content.hasV2():
		return id, 0, notTorrent(errors.New("it describes no content"))
	case content.list.tooLarge(content.name) || content.tree.tooLarge(content.name):
		return id, 0, TooLarge()
	}

	if content.hasV1() {
		sum := sha1.Sum(info)
		id.V1 = hex.EncodeToString(sum[:])
	}

	if content.hasV2() {
		sum := sha256.Sum256(info)
		id.V2 = hex.EncodeToString(sum[:])
	}
	return id, max(content.list.size, content.tree.size), nil
}

// content is what the dictionary info describes. A hybrid torrent describes its files in both versions.
type content struct {
	pieceLength int64
	version     int64
	pieces      bool  // version 1 hashes
	name        int   // bytes
	list        files // of version 1
	tree        files // of version 2
}

func (c *content) hasV1() bool { return c.pieces && c.list.count > 0 }
func (c *content) hasV2() bool { return c.version == 2 && c.tree.count > 0 }

func (c *content) read(r *reader) error {
	return r.dictionary(func(key []byte) (err error) {
		switch string(key) {
		case "piece length":
			c.pieceLength, err = r.integer()
		case "meta version":
			c.version, err = r.integer()
		case "pieces":
			var hashes []byte
			hashes, err = r.text()
			c.pieces = len(hashes) > 0 && len(hashes)%sha1.Size == 0
		case "name", "name.utf-8":
			var name []byte
			name, err = r.text()
			c.name = max(c.name, len(name))
		case "length":
			var length int64
			if length, err = r.integer(); length >= 0 {
				c.list.add(length, path{})
			}
		case "files":
			err = r.list(func() error { return c.readFile(r) })
		case "file tree":
			err = c.readTree(r, path{})
		default:
			err = r.skip()
		}

		return err
	})
}

// readFile consumes one entry of the list of files: each has a length and a path.
func (c *content) readFile(r *reader) error {
	length, where := int64(-1), path{}
	err := r.dictionary(func(key []byte) (err error) {
		switch string(key) {
		case "length":
			length, err = r.integer()
		case "path", "path.utf-8":
			var in path
			err = r.list(func() error {
				part, err := r.text()
				in = in.down(part)
				return err
			})
			where = path{max(where.parts, in.parts), max(where.bytes, in.bytes)}
		default:
			err = r.skip()
		}

		return err
	})
	if err == nil && (length < 0 || where.parts == 0) {
		err = errNoFile
	}

	c.list.add(length, where)
	return err
}

// readTree consumes a version 2 folder: its entries by their names, where an entry without a name is the file itself.
func (c *content) readTree(r *reader, in path) error {
	return r.dictionary(func(name []byte) error {
		if len(name) > 0 {
			return c.readTree(r, in.down(name))
		}

		length := int64(-1)
		err := r.dictionary(func(key []byte) (err error) {
			if string(key) != "length" {
				return r.skip()
			}
			length, err = r.integer()
			return err
		})
		if err == nil && length < 0 {
			err = errNoFile
		}

		c.tree.add(length, in)
		return err
	})
}

var errNoFile = errors.New("a file has no length or no path")

// path is the length of a file's path.
type path struct{ parts, bytes int }

func (p path) down(part []byte) path { return path{p.parts + 1, p.bytes + 1 + len(part)} }

// files counts files; a size above the limit is inexact.
type files struct {
	count   int
	size    int64
	longest path // its parts and bytes may come from two paths
}

func (f *files) add(length int64, where path) {
	f.count++
	f.size = min(f.size+min(length, MaxSize+1), MaxSize+1)
	f.longest = path{max(f.longest.parts, where.parts), max(f.longest.bytes, where.bytes)}
}

func (f *files) tooLarge(name int) bool {
	return f.count > MaxFiles || f.size > MaxSize || f.longest.parts > maxNested || f.longest.bytes+name > maxPath
}
