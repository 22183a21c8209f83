package yandexsim

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"sync"

	"stagecoach/dev/sim"
)

// largeFile is the size from which on a list omits a hash that is not known yet. At some hundred MB/s hashing a smaller
// file takes no noticeable time.
const largeFile = 64 << 20

// hashes caches the hashes of files until they change.
type hashes struct {
	mu    sync.Mutex
	known map[string]knownHash // by path
}

// knownHash is the hash of one version of a file.
type knownHash struct {
	info   fs.FileInfo
	sha256 string // lower-case hex
}

// of returns the hash of a file, or false if it cannot be read. wait says whether to compute that of a large file.
func (h *hashes) of(ctx context.Context, root *os.Root, e entry, wait bool) (string, bool) {
	h.mu.Lock()
	known, found := h.known[e.path]
	h.mu.Unlock()
	if found && os.SameFile(known.info, e.info) && known.info.Size() == e.info.Size() &&
		known.info.ModTime().Equal(e.info.ModTime()) {
		return known.sha256, true
	}

	if !wait && e.info.Size() > largeFile {
		return "", false
	}
	sum, err := hashFile(ctx, root, e.path)
	if err != nil {
		return "", false
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	h.known[e.path] = knownHash{e.info, sum}
	return sum, true
}

func hashFile(ctx context.Context, root *os.Root, path string) (string, error) {
	f, err := root.Open(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = f.Close() }) // the read in progress fails
	defer stop()

	sum := sha256.New()
	// Only the reader is passed on: a file would choose its own, smaller buffer.
	if _, err := io.CopyBuffer(sum, struct{ io.Reader }{f}, make([]byte, sim.BufferSize)); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
