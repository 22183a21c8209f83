package delivery

import (
	"context"
	"io"
	"sync/atomic"
	"time"

	"stagecoach/internal/fault"
)

// pipe is a file in transfer: Telegram's request body reads from it, it reads from the storage, nothing is stored. It
// knows which side must make progress, so that a stall is attributed correctly. It holds back the last bytes until the
// record says that the file may have arrived.
type pipe struct {
	name   string
	size   int64 // bytes, as declared by the storage
	source io.Reader
	// beforeBytes is called before the first bytes (first) and before the last ones (last) are sent; a small file's first
	// bytes are its last. An error stops the upload.
	beforeBytes func(first, last bool) error
	// abandon ends a blocked read of the source.
	abandon func()

	sent  atomic.Int64 // bytes sent
	turn  atomic.Int32
	since atomic.Int64 // start of this turn, Unix nanoseconds
}

// The side that must make progress.
const (
	turnTelegram int32 = iota // to accept the next bytes
	turnStorage               // to provide the next bytes
	turnOurs                  // to write the record
)

func newPipe(name string, size int64, source io.Reader, beforeBytes func(first, last bool) error) *pipe {
	p := &pipe{name: name, size: size, source: source, beforeBytes: beforeBytes, abandon: func() {}}
	p.pass(turnTelegram)
	return p
}

func (p *pipe) Name() string { return p.name }

func (p *pipe) Size() int64 { return p.size }

// Read implements io.Reader for one consumer.
func (p *pipe) Read(into []byte) (int, error) {
	left := p.size - p.sent.Load()
	if left == 0 {
		return 0, io.EOF
	}

	p.pass(turnStorage)
	defer p.pass(turnTelegram)

	n, err := p.source.Read(into[:min(int64(len(into)), left)])
	if n == 0 && err == io.EOF {
		return 0, fault.New(fault.YandexUnavailable, "the storage's answer ended early").Retry()
	}
	if err != nil && err != io.EOF {
		return 0, err
	}

	first, last := left == p.size, int64(n) == left
	if last {
		if err := p.endOfSource(); err != nil {
			return 0, err
		}
	}

	if first && n > 0 || last {
		p.pass(turnOurs)
		if err := p.beforeBytes(first, last); err != nil {
			return 0, err
		}
	}

	p.sent.Add(int64(n))
	return n, nil
}

// endOfSource checks that the storage has no more bytes than it declared: a file that changes during the transfer must
// not arrive truncated.
func (p *pipe) endOfSource() error {
	var extra [1]byte
	n, err := io.ReadFull(p.source, extra[:])
	if n > 0 {
		return fault.New(fault.FileChanged, "the storage sent more bytes than the file has").Retry()
	}
	if err != io.EOF {
		return err
	}
	return nil
}

func (p *pipe) pass(turn int32) {
	p.turn.Store(turn)
	p.since.Store(time.Now().UnixNano())
}

// stallLimits are how long each side may make no progress.
type stallLimits struct {
	storage, sendInit, chunk time.Duration
}

// watch stops the transfer if a side makes no progress for too long; it returns when ctx ends. After the last byte only
// the job's own deadline counts.
func (p *pipe) watch(ctx context.Context, limits stallLimits, stop context.CancelCauseFunc) {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()

	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}

		idle := time.Since(time.Unix(0, p.since.Load()))
		sent := p.sent.Load()
		switch turn := p.turn.Load(); {
		case turn == turnStorage && idle > limits.storage:
			stop(fault.New(fault.YandexUnavailable, "the storage sent nothing for %s", limits.storage).Retry())
		case turn == turnTelegram && sent == 0 && idle > limits.sendInit:
			stop(fault.New(fault.TelegramUnavailable, "Telegram accepted no data for %s", limits.sendInit).Retry())
		case turn == turnTelegram && sent > 0 && sent < p.size && idle > limits.chunk:
			stop(fault.New(fault.TelegramUnavailable, "Telegram accepted no data for %s", limits.chunk).Retry())
		}
	}
}
