package delivery

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// carry brings the file over, waiting out short rate limits: they cost no try.
func (r *attempt) carry(ctx context.Context) error {
	timeout := fault.New(fault.JobTimeout, "the job's time is used up")
	left := r.Settings.JobTimeout - r.job().Busy
	if left <= 0 {
		return timeout
	}

	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer time.AfterFunc(left, func() { stop(timeout) }).Stop()
	defer r.cancelOnWorkerStop(ctx, stop)()

	r.mu.Lock()
	r.stop = stop
	r.mu.Unlock()
	for {
		err := interruption(ctx, r.transfer(ctx))
		limited := fault.As(err)
		if limited == nil || limited.RetryAfter <= 0 || limited.RetryAfter > r.Settings.ShortRetryAfter {
			return err
		}
		select {
		case <-ctx.Done():
			return interruption(ctx, ctx.Err())
		case <-time.After(limited.RetryAfter):
		}
	}
}

// interruption gives why ctx ended when a fault ended it, else err: a stopped transfer fails with whatever its
// connection said last, and that is not the reason.
func interruption(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// transfer makes one go at it: by file_id when Telegram has the content, else through the cache chat when there is
// one, else straight to the user.
func (r *attempt) transfer(ctx context.Context) error {
	item, err := r.Storage.Stat(ctx, r.job().FilePath)
	if err != nil {
		return err
	}
	if err := r.check(item); err != nil {
		return err
	}

	fileID, sentAs, err := r.sentBefore(ctx, item)
	if err != nil {
		return err
	}

	if fileID != "" {
		err := r.resend(ctx, item, fileID, sentAs)
		if fault.CodeOf(err) != fault.TelegramFileID {
			return err
		}
		if err := r.Store.ForgetSentFile(ctx, fileID); err != nil {
			return err
		}
	}

	if r.Settings.CacheChat == 0 {
		return r.upload(ctx, item)
	}
	if fileID, err = r.uploadToCache(ctx, item); err != nil {
		return err
	}

	return r.resend(ctx, item, fileID, item.Name)
}

func (r *attempt) check(item yandex.Item) error {
	switch {
	case item.Folder:
		return fault.New(fault.FileIsFolder, "there is a folder now where the file was")
	case item.Size == 0:
		return fault.New(fault.FileEmpty, "the file is empty now")
	case item.Size > r.Settings.MaxFileSize:
		return fault.New(fault.FileTooBig, "the file has %d bytes now: the limit is %d", item.Size, r.Settings.MaxFileSize)
	}
	return nil
}

func (r *attempt) sentBefore(ctx context.Context, item yandex.Item) (fileID, name string, err error) {
	if item.SHA256 == "" {
		return "", "", nil
	}
	return r.Store.SentFile(ctx, item.SHA256, item.Size)
}

// resend sends content that Telegram already has. A caption gives the name when it was sent under another one.
func (r *attempt) resend(ctx context.Context, item yandex.Item, fileID, sentAs string) error {
	if err := r.passed(ctx, true, true); err != nil {
		return err
	}
	params := &telego.SendDocumentParams{ChatID: r.chat(), Document: telego.InputFile{FileID: fileID}}
	if item.Name != sentAs {
		params.Caption = item.Name
	}
	message, err := r.send(ctx, params, nil)
	return r.conclude(ctx, item, message, err)
}

// upload sends the bytes to the user's chat.
func (r *attempt) upload(ctx context.Context, item yandex.Item) error {
	message, err := r.stream(ctx, item, r.chat(), func(first, last bool) error { return r.passed(ctx, first, last) })
	return r.conclude(ctx, item, message, err)
}

// uploadToCache sends the bytes to the cache chat and gives their file_id. Nobody sees a repeat there, so nothing has
// to be known for sure.
func (r *attempt) uploadToCache(ctx context.Context, item yandex.Item) (fileID string, err error) {
	message, err := r.stream(ctx, item, telego.ChatID{ID: r.Settings.CacheChat},
		func(first, _ bool) error { return r.passed(ctx, first, false) })
	if err != nil {
		return "", telegram.Classify(err)
	}
	if message.Document == nil {
		return "", fault.New(fault.TelegramRejected, "Telegram did not keep the file as a document")
	}

	if sent := sentFile(item, message.Document.FileID); sent != nil {
		err = r.Store.SaveSentFile(ctx, *sent)
	}
	return message.Document.FileID, err
}

// passed records that the first bytes flow (STREAMING), and, before the last ones go, that the file may arrive from
// now on. The gate makes a cancel come either before this, and then nothing is sent, or after, and then it is too late.
func (r *attempt) passed(ctx context.Context, first, last bool) error {
	if last {
		r.gate.Lock()
		defer r.gate.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}

	switch {
	case first && r.job().State == lifecycle.DeliveryDownloading:
		err := r.step(ctx, func(s service.DeliverySteps) error {
			if s.Row.State == lifecycle.DeliveryStreaming {
				return nil // this very write came through before, only its answer was lost
			}
			if last {
				s.Row.AckPendingAt = &s.Row.Now
			}
			return s.Do(lifecycle.DeliveryActionStream, "")
		})
		if err != nil {
			return err
		}
	case last:
		if err := r.markAck(ctx, true); err != nil {
			return err
		}
	}

	r.letGo = r.letGo || last
	return nil
}

func (r *attempt) markAck(ctx context.Context, pending bool) error {
	return core.RetryWhileUnavailable(ctx, func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
		defer cancel()
		ours, err := r.Store.MarkAckPending(ctx, r.jobID, r.job().Claim, pending)
		if err == nil && !ours {
			return errFenced
		}
		return err
	})
}

// stream opens the file and sends it, directly or by way of a temporary file.
func (r *attempt) stream(
	ctx context.Context, item yandex.Item, chat telego.ChatID, onPass func(first, last bool) error,
) (*telego.Message, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	if r.Spool != nil {
		return r.sendSpooled(ctx, item, chat, onPass)
	}

	body, err := r.open(ctx, item, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()

	pipe := newPipe(item.Name, item.Size, body, onPass)
	pipe.abandon = stop
	return r.send(ctx, &telego.SendDocumentParams{ChatID: chat, Document: telego.InputFile{File: pipe}}, pipe)
}

// open opens the file from an offset and makes sure that it still is the file that was looked at.
func (r *attempt) open(ctx context.Context, item yandex.Item, offset int64) (io.ReadCloser, error) {
	defer func(start time.Time) { r.Metrics.DownloadLatency.Observe(time.Since(start).Seconds()) }(time.Now())
	download, err := r.Storage.Open(ctx, r.job().FilePath, offset)
	if err != nil {
		return nil, err
	}
	if download.Size >= 0 && download.Size != item.Size {
		_ = download.Body.Close() // nothing of it was wanted
		return nil, fault.New(fault.FileChanged, "the file changes just now").Retry()
	}
	return download.Body, nil
}

// send makes the request. A cancel stops it only while the file cannot have arrived; the job's deadline always does.
func (r *attempt) send(
	ctx context.Context, params *telego.SendDocumentParams, pipe *pipe,
) (*telego.Message, error) {
	sending, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		r.gate.Lock()
		defer r.gate.Unlock()
		if !r.letGo || fault.CodeOf(context.Cause(ctx)) == fault.JobTimeout {
			stop(context.Cause(ctx))
		}
	})()

	if pipe != nil {
		r.mu.Lock()
		r.pipe = pipe
		r.mu.Unlock()
		defer context.AfterFunc(sending, pipe.abandon)() // a request does not return while its body blocks in a read
		go pipe.watch(sending, patience{r.Settings.StorageTimeout, r.Settings.SendInitTimeout, r.Settings.ChunkTimeout}, stop)
	}

	message, err := r.Telegram.SendDocument(sending, params)
	if err != nil {
		return nil, interruption(sending, err)
	}
	return message, nil
}

// conclude turns what came of a send to the user into the job's record.
func (r *attempt) conclude(ctx context.Context, item yandex.Item, message *telego.Message, err error) error {
	// Whatever ended ctx meanwhile, what is known now has to be written.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.Settings.JobTimeout)
	defer cancel()

	if err != nil {
		return r.concludeFailure(ctx, err)
	}

	fileID := ""
	if message.Document != nil {
		fileID = message.Document.FileID
	}

	r.mu.Lock()
	r.message = int64(message.MessageID)
	r.mu.Unlock()
	err = r.step(ctx, func(s service.DeliverySteps) error {
		s.Row.Sent = sentFile(item, fileID)
		return s.Acknowledge(int64(message.MessageID), fileID)
	})
	if err == nil {
		r.Metrics.JobsCompleted.WithLabelValues(string(lifecycle.DeliveryDelivered)).Inc()
	}

	return err
}

func (r *attempt) concludeFailure(ctx context.Context, err error) error {
	r.gate.Lock()
	defer r.gate.Unlock()

	if !r.letGo {
		return telegram.Classify(err)
	}

	r.letGo = false
	if telegram.Unanswered(err) {
		return service.UnknownOutcome().WithCause(err)
	}
	if err := r.markAck(ctx, false); err != nil {
		return err
	}

	return telegram.Classify(err)
}

// sentFile is what is remembered of content for the next time; nil when there is nothing to know it by.
func sentFile(item yandex.Item, fileID string) *delivery.SentFile {
	if fileID == "" || item.SHA256 == "" {
		return nil
	}
	return &delivery.SentFile{SHA256: item.SHA256, Size: item.Size, FileID: fileID, Name: item.Name}
}

func (r *attempt) chat() telego.ChatID {
	if chat := r.job().ChatID; chat != nil {
		return telego.ChatID{ID: *chat}
	}
	return telego.ChatID{}
}
