package bot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
	"stagecoach/internal/telegram"
)

const (
	firstPause       = 500 * time.Millisecond
	longestPause     = 10 * time.Second
	chatsAtOnce      = 16
	handlerTime      = 40 * time.Second // for one attempt to handle one update: longer than a slow folder takes
	temporalPatience = 30 * time.Second
	sameWindow       = 1000 // ids of updates that may be redelivered differ by less than this
)

// readUpdate extracts from an update what the bot understands; false: nothing.
func readUpdate(update telego.Update) (chat.Incoming, bool) {
	in := chat.Incoming{Update: int64(update.UpdateID)}
	switch message, click := update.Message, update.CallbackQuery; {
	case message != nil && message.From != nil && !message.From.IsBot:
		in.From, in.Words, in.Date = *message.From, strings.TrimSpace(message.Text), message.Date
		in.Chat, in.Private = message.Chat.ID, message.Chat.Type == telego.ChatTypePrivate
	case click != nil && click.Message != nil:
		on := click.Message.GetChat()
		in.From, in.Click, in.Data, in.Message = click.From, click.ID, click.Data, int64(click.Message.GetMessageID())
		in.Chat, in.Private = on.ID, on.Type == telego.ChatTypePrivate
	default:
		return in, false
	}
	return in, true
}

// pollUpdates polls for updates and has them handled until ctx is done. An update stays in the inbox from its arrival
// until it is handled, so a crash or an outage loses none, and it is recognized if it comes again.
func (b *Bot) pollUpdates(ctx context.Context) {
	work, done := withGrace(ctx)
	defer done()

	in := newIntake(work, b)
	defer in.running.Wait()
	for pause := firstPause; ctx.Err() == nil; {
		// The inbox may have more than the lines: what another process received, and batches whose write only seemed to fail.
		err := in.resume(ctx)
		for err == nil && ctx.Err() == nil {
			pause = firstPause
			err = b.poll(ctx, in)
		}
		if ctx.Err() != nil {
			break
		}

		wait := max(pause, telegram.Classify(err).RetryAfter)
		b.Log.Warn("bot: getting updates failed", "error", err, "again_in", wait)
		chat.Sleep(ctx, wait)
		pause = min(2*pause, longestPause)
	}
}

// poll fetches the next updates and queues them.
func (b *Bot) poll(ctx context.Context, in *intake) error {
	next, err := b.store.Notices.NextUpdate(ctx)
	if err != nil {
		return err
	}

	patience, cancel := context.WithTimeout(ctx, b.o.PollTimeout+10*time.Second)
	defer cancel()

	updates, err := b.Telegram.GetUpdates(patience, &telego.GetUpdatesParams{
		Offset:         int(next),
		Limit:          mostUpdates,
		Timeout:        max(1, int(b.o.PollTimeout/time.Second)),
		AllowedUpdates: []string{telego.MessageUpdates, telego.CallbackQueryUpdates},
	})
	if err != nil || len(updates) == 0 {
		return err
	}
	return in.take(ctx, updates)
}

// handle processes one update once. An error means that it is not recorded as handled.
func (b *Bot) handle(ctx context.Context, in chat.Incoming) error {
	if !in.Private {
		b.leaveGroup(ctx, in)
		return nil
	}

	r := &chat.Request{Incoming: in}
	err := b.retryWhileUnavailable(ctx, func() (err error) {
		r.Conv, err = b.store.Notices.Conversation(ctx, in.Chat)
		return err
	})
	if err != nil || handledBefore(r) {
		return err
	}

	asked := r.Conv.Ask
	if err = b.retryWhileUnavailable(ctx, func() error { return b.attempt(ctx, r) }); err != nil {
		if ctx.Err() != nil {
			return err
		}
		b.explain(ctx, r, err)
	}

	if r.Conv.Ask == asked && endsQuestion(r, err) {
		r.Conv.Ask = ""
	}

	b.AnswerClick(ctx, r)
	if r.Forget {
		return nil
	}

	r.Conv.UpdateID = in.Update
	return core.RetryWhileUnavailable(ctx, func() error { return b.store.Notices.SaveConversation(ctx, r.Conv) })
}

// endsQuestion reports whether a request that ended with err ends the menu's question: the person sent a command, or an
// answer that was refused for good. A picture is not an answer.
func endsQuestion(r *chat.Request, err error) bool {
	failed := fault.As(err)
	return strings.HasPrefix(r.Words, "/") || r.Words != "" && failed != nil && !failed.Retryable
}

// attempt answers a request within a time limit, and recovers from a panicking handler.
func (b *Bot) attempt(ctx context.Context, r *chat.Request) (err error) {
	limited, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()

	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "a handler panicked").WithCause(fmt.Errorf("%v\n%s", p, debug.Stack()))
		}
	}()

	err = b.respond(limited, r)
	// A timeout is not retried, whatever error it caused: another attempt would be no faster.
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fault.New(fault.Internal, "a handler took too long").WithCause(err)
	}
	return err
}

// retryWhileUnavailable repeats do while PostgreSQL is unavailable, and for temporalPatience while Temporal is.
func (b *Bot) retryWhileUnavailable(ctx context.Context, do func() error) error {
	patience := time.Now().Add(temporalPatience)
	place := chat.PlaceOf(ctx)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do()
		switch fault.CodeOf(err) {
		case fault.StoreUnavailable: // nothing can be handled without the record, however long the outage
			place.Yield(func() { chat.Sleep(ctx, pause) })
		case fault.TemporalUnavailable:
			if time.Now().After(patience) || !place.Pause(ctx, pause) {
				return errors.Join(err, ctx.Err())
			}
		default:
			return err
		}

		if ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
	}
}

// handledBefore reports whether an update was handled before a crash that left it in the inbox. Ids far below the
// chat's last one belong to a new numbering by Telegram, not to old updates.
func handledBefore(r *chat.Request) bool {
	behind := r.Conv.UpdateID - r.Update
	return behind >= 0 && behind < sameWindow
}
