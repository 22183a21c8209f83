package delivery

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mymmrac/telego"
	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/semaphore"

	"stagecoach/internal/fault"
	"stagecoach/internal/telegram"
	"stagecoach/internal/temporalio"
	"stagecoach/internal/yandex"
)

// Spool keeps files for the duration of an attempt, for storages too slow to stream from: the Bot API server aborts a
// request after 500 s, and a file on disk is sent faster than that. Its total size is bounded.
type Spool struct {
	dir      string
	shared   bool // the Bot API server reads the files itself
	maxBytes int64
	room     *semaphore.Weighted
	usage    prometheus.Gauge
}

// NewSpool makes a spool of up to maxBytes in dir, or in sharedDir if the Bot API server shares that folder. It removes
// what killed workers left there, once older than stale.
func NewSpool(dir, sharedDir string, maxBytes int64, stale time.Duration, usage prometheus.Gauge) (*Spool, error) {
	s := &Spool{dir: dir, maxBytes: maxBytes, room: semaphore.NewWeighted(maxBytes), usage: usage}
	if sharedDir != "" {
		s.dir, s.shared = sharedDir, true
	}

	if err := os.MkdirAll(s.dir, 0o755); err != nil {
		return nil, fmt.Errorf("the spool folder cannot be made: %w", err)
	}

	leftovers, err := filepath.Glob(filepath.Join(s.dir, spoolPrefix+"*"))
	if err != nil {
		return nil, err
	}

	for _, path := range leftovers {
		if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > stale {
			if err := os.RemoveAll(path); err != nil {
				return nil, err
			}
		}
	}

	return s, nil
}

const spoolPrefix = "stagecoach-job-"

// spooled is a temporary file. A shared one has its proper name in a folder of its own. Any other is unlinked, so that
// it disappears with the process in any case.
type spooled struct {
	*os.File
	spool *Spool
	size  int64
	dir   string
}

// take makes a temporary file once there is room for size bytes.
func (s *Spool) take(ctx context.Context, name string, size int64) (*spooled, error) {
	if size > s.maxBytes {
		return nil, fault.New(fault.SpoolFull, "the file is larger than the space for temporary files")
	}
	if err := s.room.Acquire(ctx, size); err != nil {
		return nil, err
	}

	s.usage.Add(float64(size))
	file := &spooled{spool: s, size: size}
	if err := file.create(name); err != nil {
		file.release()
		return nil, spoolFault("a temporary file cannot be made", err)
	}

	return file, nil
}

// spoolFault is the error of a temporary file. A full disk has its own fault: other programs may use it too.
func spoolFault(message string, err error) error {
	if fault.IsDiskFull(err) {
		message = "the disk of the folder for temporary files is full"
	}
	return fault.New(fault.SpoolFull, "%s", message).Retry().WithCause(err)
}

func (f *spooled) create(name string) (err error) {
	if f.dir, err = os.MkdirTemp(f.spool.dir, spoolPrefix); err != nil {
		return err
	}

	if f.spool.shared {
		if err = os.Chmod(f.dir, 0o755); err != nil { // the server may run as another user
			return err
		}
	}

	name = strings.ReplaceAll(name, "/", "_")
	if f.File, err = os.Create(filepath.Join(f.dir, name)); err != nil || f.spool.shared {
		return err
	}
	return os.RemoveAll(f.dir)
}

func (f *spooled) release() {
	if f.File != nil {
		_ = f.File.Close() // it is deleted with its folder, or is unlinked
	}
	if f.dir != "" {
		_ = os.RemoveAll(f.dir) // the next start removes leftovers
	}
	f.spool.usage.Sub(float64(f.size))
	f.spool.room.Release(f.size)
}

// sendSpooled downloads the complete file, then sends it.
func (a *attempt) sendSpooled(
	ctx context.Context, item yandex.Item, chat telego.ChatID, beforeBytes func(first, last bool) error,
) (*telego.Message, error) {
	file, err := a.Spool.take(ctx, item.Name, item.Size)
	if err != nil {
		return nil, err
	}
	defer file.release()

	if err := a.fetch(ctx, item, file); err != nil {
		return nil, err
	}
	if a.Spool.shared {
		if err := beforeBytes(true, true); err != nil {
			return nil, err
		}
		uri := url.URL{Scheme: "file", Path: file.Name()}
		message, err := a.send(ctx, &telego.SendDocumentParams{ChatID: chat, Document: telego.InputFile{URL: uri.String()}}, nil, item.Size)
		if !telegram.FolderUnreadable(err) {
			if err == nil && a.folderUnread.Swap(false) {
				a.healthy.Store(false) // the alert is resolved with the others
			}
			return message, err
		}

		a.Log.Warn("Telegram's server does not read the shared folder, sending bytes instead",
			"job", a.jobID, "code", fault.TelegramFolder, "error", err)
		a.folderUnread.Store(true)
		a.raiseAlert(ctx, fault.TelegramFolder)
		a.gate.Lock()
		err = a.refused(ctx)
		a.gate.Unlock()
		if err != nil {
			return nil, err
		}
	}

	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}

	pipe := newPipe(item.Name, item.Size, file, beforeBytes)
	return a.send(ctx, &telego.SendDocumentParams{ChatID: chat, Document: telego.InputFile{File: pipe}}, pipe, 0)
}

// fetch downloads the file. It resumes after an interruption, as long as each request brings some bytes.
func (a *attempt) fetch(ctx context.Context, item yandex.Item, file *spooled) error {
	for have := int64(0); have < item.Size; {
		n, err := a.fetchFrom(ctx, item, file, have)
		if errors.Is(err, yandex.ErrNoResume) && have > 0 {
			n, err = -have, nil
			_, err = file.Seek(0, io.SeekStart)
		}

		have += n
		if err != nil && (n == 0 || ctx.Err() != nil || !temporalio.FaultOf(err).Retryable) {
			return err
		}
		if have > item.Size {
			return fault.New(fault.FileChanged, "the storage sent more bytes than the file has").Retry()
		}
	}

	return nil
}

func (a *attempt) fetchFrom(
	ctx context.Context, item yandex.Item, file io.Writer, offset int64,
) (int64, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)

	body, err := a.open(ctx, item, offset)
	if err != nil {
		return 0, err
	}
	defer body.Close()

	limit := a.Settings.StorageTimeout
	idle := time.AfterFunc(limit, func() {
		stop(fault.New(fault.YandexUnavailable, "the storage sent nothing for %s", limit).Retry())
	})
	defer idle.Stop()

	n, err := io.Copy(file, io.LimitReader(readFunc(func(into []byte) (int, error) {
		idle.Reset(limit)
		return body.Read(into)
	}), item.Size-offset+1))
	switch {
	case fault.IsDiskFull(err):
		err = spoolFault("", err)
	case err == nil && offset+n < item.Size:
		err = fault.New(fault.YandexUnavailable, "the storage's answer ended early").Retry()
	}

	return n, interruption(ctx, err)
}

type readFunc func([]byte) (int, error)

func (f readFunc) Read(into []byte) (int, error) { return f(into) }
