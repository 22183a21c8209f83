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
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// transferFile transfers the file. It waits out short rate limits, which cost no try. The attempt's time is counted
// here, too, so that what it leaves is written before Temporal ends it: the activity's start-to-close time-out is longer.
func (a *attempt) transferFile(ctx context.Context) error {
	timeout := fault.New(fault.JobTimeout, "the attempt's time is used up").Retry()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer time.AfterFunc(a.Settings.JobTimeout, func() { stop(timeout) }).Stop()
	defer a.cancelOnWorkerStop(ctx, stop)()

	a.mu.Lock()
	a.stop = stop
	a.mu.Unlock()
	for {
		err := interruption(ctx, a.transferOnce(ctx))
		limited := fault.As(err)
		if limited == nil || limited.RetryAfter <= 0 || limited.RetryAfter > a.Settings.ShortRetryAfter {
			return err
		}
		select {
		case <-ctx.Done():
			return interruption(ctx, ctx.Err())
		case <-time.After(limited.RetryAfter):
		}
	}
}

// interruption returns the fault that ended ctx, else err: a stopped transfer fails with the last error of its
// connection, which is not the reason. A success, and an outcome that nobody knows, stay what they are: another attempt
// would send again.
func interruption(ctx context.Context, err error) error {
	if err == nil || fault.CodeOf(err) == fault.OutcomeUnknown {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// transferOnce sends the file by file_id when Telegram has the content, else through the cache chat when there is one,
// else straight to the user.
func (a *attempt) transferOnce(ctx context.Context) error {
	item, err := a.Storage.Stat(ctx, a.job().FilePath)
	if err != nil {
		return err
	}
	if err := a.check(item); err != nil {
		return err
	}

	fileID, sentAs, err := a.sentBefore(ctx, item)
	if err != nil {
		return err
	}

	if fileID != "" {
		err := a.resend(ctx, item, fileID, sentAs)
		if fault.CodeOf(err) != fault.TelegramFileID {
			return err
		}
		if err := a.Store.ForgetSentFile(ctx, fileID); err != nil {
			return err
		}
	}

	if a.Settings.CacheChat == 0 {
		return a.upload(ctx, item)
	}
	if fileID, err = a.uploadToCache(ctx, item); err != nil {
		return err
	}

	return a.resend(ctx, item, fileID, item.Name)
}

func (a *attempt) check(item yandex.Item) error {
	switch {
	case item.Folder:
		return fault.New(fault.FileIsFolder, "there is a folder now where the file was")
	case item.Size == 0:
		return fault.New(fault.FileEmpty, "the file is empty now")
	case item.Size > a.Settings.MaxFileSize:
		return fault.New(fault.FileTooBig, "the file has %d bytes now: the limit is %d", item.Size, a.Settings.MaxFileSize)
	}
	return nil
}

// sentBefore returns the file_id of content that Telegram has, and the name under which it was sent.
func (a *attempt) sentBefore(ctx context.Context, item yandex.Item) (fileID, name string, err error) {
	known := a.sent
	a.sent = nil // only now: a later transfer may find more
	switch {
	case item.SHA256 == "":
		return "", "", nil
	case known != nil && known.SHA256 == item.SHA256 && known.Size == item.Size:
		return known.FileID, known.Name, nil
	}
	return a.Store.SentFile(ctx, item.SHA256, item.Size)
}

// resend sends content that Telegram already has. A caption shows the file's name when the content was sent under
// another one.
func (a *attempt) resend(ctx context.Context, item yandex.Item, fileID, sentAs string) error {
	if err := a.beforeBytes(ctx, true, true); err != nil {
		return err
	}
	params := &telego.SendDocumentParams{ChatID: a.chat(), Document: telego.InputFile{FileID: fileID}}
	if item.Name != sentAs {
		params.Caption = item.Name
	}
	message, err := a.send(ctx, params, nil)
	return a.conclude(ctx, item, message, err)
}

// upload sends the bytes to the user's chat.
func (a *attempt) upload(ctx context.Context, item yandex.Item) error {
	message, err := a.stream(ctx, item, a.chat(), func(first, last bool) error { return a.beforeBytes(ctx, first, last) })
	return a.conclude(ctx, item, message, err)
}

// uploadToCache sends the bytes to the cache chat and returns their file_id. Users do not see that chat, so a repeated
// upload does no harm and no record of it is needed.
func (a *attempt) uploadToCache(ctx context.Context, item yandex.Item) (fileID string, err error) {
	message, err := a.stream(ctx, item, telego.ChatID{ID: a.Settings.CacheChat},
		func(first, _ bool) error { return a.beforeBytes(ctx, first, false) })
	if err != nil {
		return "", telegram.Classify(err)
	}
	if message.Document == nil {
		return "", fault.New(fault.TelegramRejected, "Telegram did not keep the file as a document")
	}

	if sent := sentFile(item, message.Document.FileID); sent != nil {
		err = a.Store.SaveSentFile(ctx, *sent)
	}
	return message.Document.FileID, err
}

// beforeBytes records that the first bytes flow (STREAMING), and before the last bytes that the file may arrive from
// now on. Because of the gate a cancel comes either before this, and then nothing is sent, or after it, and then it is
// too late.
func (a *attempt) beforeBytes(ctx context.Context, first, last bool) error {
	if last {
		a.gate.Lock()
		defer a.gate.Unlock()
		if err := ctx.Err(); err != nil {
			return err
		}
	}

	switch {
	case first && a.job().State == lifecycle.DeliveryDownloading:
		err := a.stepKnown(ctx, func(s service.DeliverySteps) error {
			if s.Row.State == lifecycle.DeliveryStreaming {
				return nil // this write was made before, and only its answer was lost
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
		if err := a.markAck(ctx, true); err != nil {
			return err
		}
	}

	a.unanswered = a.unanswered || last
	return nil
}

func (a *attempt) markAck(ctx context.Context, pending bool) error {
	return a.write(ctx, func(ctx context.Context) error {
		ours, err := a.Store.MarkAckPending(ctx, a.jobID, a.job().Claim, pending)
		if err == nil && !ours {
			return errLeaseLost
		}
		return err
	})
}

// stream opens the file and sends it, directly or by way of a temporary file.
func (a *attempt) stream(
	ctx context.Context, item yandex.Item, chat telego.ChatID, beforeBytes func(first, last bool) error,
) (*telego.Message, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()

	if a.Spool != nil {
		return a.sendSpooled(ctx, item, chat, beforeBytes)
	}

	body, err := a.open(ctx, item, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()

	pipe := newPipe(item.Name, item.Size, body, beforeBytes)
	pipe.abandon = stop
	return a.send(ctx, &telego.SendDocumentParams{ChatID: chat, Document: telego.InputFile{File: pipe}}, pipe)
}

// open opens the file from an offset and checks that it is still the version whose metadata was read.
func (a *attempt) open(ctx context.Context, item yandex.Item, offset int64) (io.ReadCloser, error) {
	defer func(start time.Time) { a.Metrics.DownloadLatency.Observe(time.Since(start).Seconds()) }(time.Now())
	download, err := a.Storage.Open(ctx, a.job().FilePath, offset)
	if err != nil {
		return nil, err
	}
	if download.Size >= 0 && download.Size != item.Size {
		_ = download.Body.Close() // the body is of another version
		return nil, fault.New(fault.FileChanged, "the file changes just now").Retry()
	}
	return download.Body, nil
}

// send makes the request. A cancel stops it only while the file cannot have arrived; the job's deadline always does.
func (a *attempt) send(
	ctx context.Context, params *telego.SendDocumentParams, pipe *pipe,
) (*telego.Message, error) {
	sending, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	defer context.AfterFunc(ctx, func() {
		a.gate.Lock()
		defer a.gate.Unlock()
		if !a.unanswered || fault.CodeOf(context.Cause(ctx)) == fault.JobTimeout {
			stop(context.Cause(ctx))
		}
	})()

	if pipe != nil {
		a.mu.Lock()
		a.pipe = pipe
		a.mu.Unlock()
		defer context.AfterFunc(sending, pipe.abandon)() // a request does not return while its body blocks in a read
		go pipe.watch(sending, stallLimits{
			storage: a.Settings.StorageTimeout, sendInit: a.Settings.SendInitTimeout, chunk: a.Settings.ChunkTimeout,
		}, stop)
	}

	message, err := a.Telegram.SendDocument(sending, params)
	if err != nil {
		return nil, interruption(sending, err)
	}
	return message, nil
}

// conclude writes the outcome of a send to the user into the job's record.
func (a *attempt) conclude(ctx context.Context, item yandex.Item, message *telego.Message, err error) error {
	// What is known now has to be written, also when ctx has ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Settings.JobTimeout)
	defer cancel()

	if err != nil {
		return a.concludeFailure(ctx, err)
	}

	fileID := ""
	if message.Document != nil {
		fileID = message.Document.FileID
	}

	a.mu.Lock()
	a.message = int64(message.MessageID)
	a.mu.Unlock()
	err = a.stepKnown(ctx, func(s service.DeliverySteps) error {
		s.Row.Sent = sentFile(item, fileID)
		return s.Acknowledge(int64(message.MessageID), fileID)
	})
	if err == nil {
		a.Metrics.JobsCompleted.WithLabelValues(string(lifecycle.DeliveryDelivered)).Inc()
	}

	return err
}

func (a *attempt) concludeFailure(ctx context.Context, err error) error {
	a.gate.Lock()
	defer a.gate.Unlock()

	if !a.unanswered {
		return telegram.Classify(err)
	}

	a.unanswered = false
	if telegram.Unanswered(err) {
		return service.UnknownOutcome().WithCause(err)
	}
	if err := a.markAck(ctx, false); err != nil {
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

func (a *attempt) chat() telego.ChatID {
	if chat := a.job().ChatID; chat != nil {
		return telego.ChatID{ID: *chat}
	}
	return telego.ChatID{}
}
