package yandexsim

import (
	"context"
	"crypto/md5"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"os"
	"sync"

	"stagecoach/dev/sim"
)

// largeFile is the size from which on a hash is computed in the background. At some hundred MB/s the hash of a smaller
// file takes no noticeable time.
const largeFile = 64 << 20

// hashes remembers the hashes of files until they change.
type hashes struct {
	ctx     context.Context // ends the work in the background
	mu      sync.Mutex
	known   map[string]*hashing // by path
	running sync.WaitGroup
	turn    chan struct{} // one large file at a time, to leave the processor to others
}

// hashing is the hash of one version of a file, perhaps still being computed.
type hashing struct {
	info   fs.FileInfo
	done   chan struct{}
	md5    string // lower-case hex, like sha256; empty when the file could not be read
	sha256 string
}

func newHashes(ctx context.Context) *hashes {
	return &hashes{ctx: ctx, known: map[string]*hashing{}, turn: make(chan struct{}, 1)}
}

// wait returns when no computation runs any more.
func (h *hashes) wait() { h.running.Wait() }

// of returns the hashes of a file. Those of a large file are computed once, in the background; wait says whether to
// wait for them, until ctx ends.
func (h *hashes) of(ctx context.Context, root *os.Root, e entry, wait bool) (*hashing, bool) {
	job, fresh := h.claim(e)
	if fresh {
		h.running.Go(func() { h.compute(root, e.path, job) })
	}

	if wait || e.info.Size() <= largeFile {
		select {
		case <-job.done:
		case <-ctx.Done():
		}
	}

	select {
	case <-job.done:
		return job, job.sha256 != ""
	default:
		return nil, false
	}
}

// claim returns the hashing of this version of a file, and whether the caller must start it.
func (h *hashes) claim(e entry) (job *hashing, fresh bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	job = h.known[e.path]
	if job != nil && os.SameFile(job.info, e.info) && job.info.Size() == e.info.Size() &&
		job.info.ModTime().Equal(e.info.ModTime()) {
		return job, false
	}
	job = &hashing{info: e.info, done: make(chan struct{})}
	h.known[e.path] = job
	return job, true
}

// compute hashes a file. A file that cannot be read is forgotten, so that the next call tries again.
func (h *hashes) compute(root *os.Root, path string, job *hashing) {
	defer close(job.done)
	if job.info.Size() > largeFile {
		select {
		case h.turn <- struct{}{}:
			defer func() { <-h.turn }()
		case <-h.ctx.Done():
			return
		}
	}

	sum5, sum256 := md5.New(), sha256.New()
	if err := h.read(root, path, io.MultiWriter(sum5, sum256)); err != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.known[path] == job {
			delete(h.known, path)
		}
		return
	}

	job.md5, job.sha256 = hex.EncodeToString(sum5.Sum(nil)), hex.EncodeToString(sum256.Sum(nil))
}

func (h *hashes) read(root *os.Root, path string, to io.Writer) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	stop := context.AfterFunc(h.ctx, func() { _ = f.Close() }) // the read in progress fails
	defer stop()
	// Only the reader is passed on: a file would choose its own, smaller buffer.
	_, err = io.CopyBuffer(to, struct{ io.Reader }{f}, make([]byte, sim.BufferSize))
	return err
}
