package delivery

import (
	"context"
	"errors"
	"io"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/delivery"
	"stagecoach/internal/telegram"
	"stagecoach/internal/yandex"
)

// transferFile transfers the file. It waits out short rate limits, which do not count as failed attempts. It also
// enforces the attempt's time limit, so that its state is written before Temporal ends it: the activity's
// start-to-close timeout is longer.
func (a *attempt) transferFile(ctx context.Context) error {
	timeout := fault.New(fault.JobTimeout, "the attempt timed out").Retry()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer time.AfterFunc(a.Settings.JobTimeout, func() { stop(timeout) }).Stop()

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

// interruption returns the fault that ended ctx, otherwise err: a stopped transfer fails with its connection's last
// error, which is not the reason. A success and an unknown outcome stay as they are: another attempt would send again.
func interruption(ctx context.Context, err error) error {
	if err == nil || fault.CodeOf(err) == fault.OutcomeUnknown {
		return err
	}
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// transferOnce sends the file by file_id if Telegram has the content, otherwise through the cache chat if there is one,
// otherwise straight to the user.
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
		message, err := a.stream(ctx, item, a.chat(), func(first, last bool) error { return a.beforeBytes(ctx, first, last) })
		return a.conclude(ctx, item, message, err)
	}
	if fileID, err = a.uploadToCache(ctx, item); err != nil {
		return err
	}

	return a.resend(ctx, item, fileID, item.Name)
}

func (a *attempt) check(item yandex.Item) error {
	switch {
	case item.Folder:
		return fault.New(fault.FileIsFolder, "the file has become a folder")
	case item.Size == 0:
		return fault.New(fault.FileEmpty, "the file is empty now")
	case item.Size > a.Settings.MaxFileSize:
		return fault.New(fault.FileTooBig, "the file has %d bytes now: the limit is %d", item.Size, a.Settings.MaxFileSize)
	}
	return nil
}

// sentBefore returns the file_id of content already on Telegram, and the name under which it was sent.
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

// resend sends content already on Telegram. A caption shows the file's name if the content was sent under another one.
func (a *attempt) resend(ctx context.Context, item yandex.Item, fileID, sentAs string) error {
	if err := a.beforeBytes(ctx, true, true); err != nil {
		return err
	}
	params := &telego.SendDocumentParams{ChatID: a.chat(), Document: telego.InputFile{FileID: fileID}}
	if item.Name != sentAs {
		params.Caption = item.Name
	}
	message, err := a.send(ctx, params, nil, 0)
	return a.conclude(ctx, item, message, err)
}

// uploadToCache sends the bytes to the cache chat and returns their file_id. Users do not see that chat, so a repeated
// upload does no harm and need not be recorded.
func (a *attempt) uploadToCache(ctx context.Context, item yandex.Item) (fileID string, err error) {
	message, err := a.stream(ctx, item, telego.ChatID{ID: a.Settings.CacheChat},
		func(first, _ bool) error { return a.beforeBytes(ctx, first, false) })
	if err != nil {
		return "", telegram.Classify(err)
	}
	if fileID = telegram.FileID(message); fileID == "" {
		return "", fault.New(fault.TelegramRejected, "Telegram did not keep the file")
	}

	if sent := sentFile(item, fileID); sent != nil {
		err = a.Store.SaveSentFile(ctx, *sent)
	}
	return fileID, err
}

// beforeBytes records before the first bytes that streaming has begun (STREAMING), and before the last bytes that the
// file may have arrived from now on. The gate orders this and a cancel: a cancel before this prevents sending, one
// after it is too late.
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
		err := a.step(ctx, func(s deliveries.Steps) error {
			if s.Row.State == lifecycle.DeliveryStreaming {
				return nil // this write was made before; only its answer was lost
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

// stream opens the file and sends it, directly or through a temporary file.
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
	return a.send(ctx, &telego.SendDocumentParams{ChatID: chat, Document: telego.InputFile{File: pipe}}, pipe, 0)
}

// open opens the file from an offset and checks that it is still the version whose metadata was read.
func (a *attempt) open(ctx context.Context, item yandex.Item, offset int64) (io.ReadCloser, error) {
	defer func(start time.Time) { a.Metrics.DownloadLatency.Observe(time.Since(start).Seconds()) }(time.Now())
	download, err := a.Storage.Open(ctx, a.job().FilePath, offset)
	if err != nil {
		return nil, err
	}
	if download.Size >= 0 && download.Size != item.Size {
		_ = download.Body.Close() // the body belongs to another version
		return nil, fault.New(fault.FileChanged, "the file is being changed").Retry()
	}
	return download.Body, nil
}

// send makes the request. A cancel stops it only while the file cannot have arrived; the job's deadline always does. So
// does a lack of progress: the pipe shows it; without a pipe the request must be written and answered in time.
// serverReads is how many bytes Telegram's server reads itself before it answers.
func (a *attempt) send(
	ctx context.Context, params *telego.SendDocumentParams, pipe *pipe, serverReads int64,
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
		defer context.AfterFunc(sending, pipe.abandon)() // a request does not return while its body is blocked in a read
		go pipe.watch(sending, stallLimits{
			storage: a.Settings.StorageTimeout, sendInit: a.Settings.SendInitTimeout, chunk: a.Settings.ChunkTimeout,
		}, stop)
	} else {
		answer := a.Settings.ChunkTimeout + time.Duration(serverReads/slowestServer)*time.Second
		limited, release := limitAnswer(sending, a.Settings.SendInitTimeout, answer, stop)
		defer release()
		sending = limited
	}

	params.DisableContentTypeDetection = true // songs, films and pictures arrive as plain files
	message, err := a.Telegram.SendDocument(sending, params)
	if err != nil {
		return nil, interruption(sending, err)
	}
	return message, nil
}

// slowestServer is the minimum speed, in bytes per second, at which Telegram's server forwards a file that it reads
// itself. This progress is invisible. The largest file thus gets seven minutes; the server aborts a request after 500 s
// anyway.
const slowestServer = 5 << 20

// limitAnswer stops a request that is not written within accept, or not answered within answer after that. A request
// not written completely is not executed.
func limitAnswer(
	ctx context.Context, accept, answer time.Duration, stop context.CancelCauseFunc,
) (limited context.Context, release func() bool) {
	var written atomic.Bool
	timer := time.AfterFunc(accept, func() {
		if written.Load() {
			stop(fault.New(fault.TelegramUnavailable, "Telegram did not answer for %s", answer).Retry())
			return
		}
		stop(fault.New(fault.TelegramUnavailable, "Telegram accepted no request for %s", accept).Retry().WithCause(telegram.ErrNothingSent))
	})
	limited = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteRequest: func(info httptrace.WroteRequestInfo) {
		if info.Err == nil {
			written.Store(true)
			timer.Reset(answer)
		}
	}})
	return limited, timer.Stop
}

// conclude records the outcome of a send to the user.
func (a *attempt) conclude(ctx context.Context, item yandex.Item, message *telego.Message, err error) error {
	// The outcome must be written even if ctx has ended meanwhile.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), a.Settings.JobTimeout)
	defer cancel()

	if err != nil {
		return a.concludeFailure(ctx, err)
	}

	fileID := telegram.FileID(message)
	a.mu.Lock()
	a.message = int64(message.MessageID)
	a.mu.Unlock()
	sent := sentFile(item, fileID)
	err = a.step(ctx, func(s deliveries.Steps) error {
		s.Row.Sent = sent
		return s.Acknowledge(int64(message.MessageID), fileID)
	})

	switch {
	case err == nil:
		a.Metrics.JobsCompleted.WithLabelValues(string(lifecycle.DeliveryDelivered)).Inc()
	case errors.Is(err, errLeaseLost) && sent != nil: // Telegram has it, whoever holds the job now
		err = errors.Join(err, a.Store.SaveSentFile(ctx, *sent))
	}
	return err
}

func (a *attempt) concludeFailure(ctx context.Context, err error) error {
	a.gate.Lock()
	defer a.gate.Unlock()

	if a.unanswered && telegram.Unanswered(err) {
		a.unanswered = false
		return deliveries.UnknownOutcome().WithCause(err)
	}
	if err := a.refused(ctx); err != nil {
		return err
	}
	return telegram.Classify(err)
}

// refused records that Telegram has rejected what was sent; the gate must be held.
func (a *attempt) refused(ctx context.Context) error {
	if !a.unanswered {
		return nil
	}
	a.unanswered = false
	return a.markAck(ctx, false)
}

// sentFile is what is remembered about content for the next time; nil if nothing identifies it.
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
