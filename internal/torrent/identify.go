package torrent

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// Identify reads a .torrent file; SOURCE_NOT_TORRENT when it is none. An infohash is the hash of the bytes of the
// dictionary info in the file.
func Identify(file []byte) (id Identity, err error) {
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
		return id, notTorrent(err)
	case r.at < len(file):
		return id, notTorrent(errors.New("something is behind it"))
	case content.pieceLength <= 0 || !content.hasV1() && !content.hasV2():
		return id, notTorrent(errors.New("it describes no content"))
	}

	if content.hasV1() {
		sum := sha1.Sum(info)
		id.V1 = hex.EncodeToString(sum[:])
	}

	if content.hasV2() {
		sum := sha256.Sum256(info)
		id.V2 = hex.EncodeToString(sum[:])
	}
	return id, nil
}

// content holds which parts the dictionary info has: they show whether it describes any files, and in which version.
type content struct {
	pieceLength int64
	version     int64
	pieces      bool // hashes of version 1
	files       bool // one or more, of version 1
	tree        bool // of version 2
}

func (c *content) hasV1() bool { return c.pieces && c.files }
func (c *content) hasV2() bool { return c.version == 2 && c.tree }

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
		case "length":
			var length int64
			length, err = r.integer()
			c.files = c.files || length >= 0
		case "files":
			err = r.list(func() error { return c.readFile(r) })
		case "file tree":
			begin := r.at
			err = r.dictionary(func([]byte) error { return r.skip() })
			c.tree = r.at > begin+len("de")
		default:
			err = r.skip()
		}

		return err
	})
}

// readFile takes one entry of the list of files: each has a length and a path.
func (c *content) readFile(r *reader) error {
	hasLength, hasPath := false, false
	err := r.dictionary(func(key []byte) (err error) {
		switch string(key) {
		case "length":
			var length int64
			length, err = r.integer()
			hasLength = length >= 0
		case "path":
			err = r.list(func() error {
				hasPath = true
				_, err := r.text()
				return err
			})
		default:
			err = r.skip()
		}

		return err
	})
	if err == nil && (!hasLength || !hasPath) {
		err = errors.New("a file has no length or no path")
	}

	c.files = true
	return err
}
