package bot

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	liveMessageTick     = 300 * time.Millisecond
	liveMessageLease    = 30 * time.Second // longer than it takes to draw one message
	liveMessagesPerTick = 40
	liveMessagesAtOnce  = 8
)

// keepLiveMessages keeps every live message up to date until ctx is done.
func (b *Bot) keepLiveMessages(ctx context.Context) {
	events, err := b.store.Notices.EventsNow(ctx)
	b.every(ctx, liveMessageTick, "updating live messages failed", func(ctx context.Context) error {
		if b.pace.silent() {
			return nil
		}

		if err != nil {
			events, err = b.store.Notices.EventsNow(ctx)
		}
		if err == nil {
			events, err = b.hurryEnded(ctx, events)
		}
		if err == nil {
			err = b.refreshLiveMessages(ctx)
		}
		return err
	})
}

// hurryEnded makes live messages of entities that ended since the cursor due at once. It returns the next cursor.
func (b *Bot) hurryEnded(ctx context.Context, after core.Cursor) (core.Cursor, error) {
	events, err := b.store.Notices.EventsAfter(ctx, after, 500)
	if err != nil {
		return after, err
	}

	for _, event := range events {
		kind, shown := b.liveMessages[event.Workload]
		id, notANumber := strconv.ParseInt(event.EntityID, 10, 64)
		if shown && notANumber == nil && kind.Ended(event.To) {
			if err := b.store.Notices.HurryLiveMessage(ctx, event.Workload, id); err != nil {
				return after, err
			}
		}
		after = event.Cursor()
	}

	return after, nil
}

// refreshLiveMessages draws the live messages that are due.
func (b *Bot) refreshLiveMessages(ctx context.Context) error {
	due, err := b.store.Notices.ClaimLiveMessages(ctx, liveMessagesPerTick, liveMessageLease)
	if err != nil {
		return err
	}

	work, done := withGrace(ctx)
	defer done()

	slots := make(chan struct{}, liveMessagesAtOnce)
	var refreshing sync.WaitGroup
	for _, message := range due {
		slots <- struct{}{}
		refreshing.Go(func() {
			defer func() { <-slots }()
			if err := b.refresh(work, message); err != nil {
				b.logLive(message).Warn("bot: live message waits for its lease", "error", err)
			}
		})
	}

	refreshing.Wait()
	return nil
}

func (b *Bot) logLive(message notice.LiveMessage) *slog.Logger {
	return b.Log.With("workload", message.Workload, "entity", message.EntityID)
}

// refresh updates one live message.
func (b *Bot) refresh(ctx context.Context, message notice.LiveMessage) error {
	kind, known := b.liveMessages[message.Workload]
	if !known { // created by a newer version
		return fmt.Errorf("no live messages for workload %q", message.Workload)
	}

	pause := b.readPause(message)
	now, err := b.draw(ctx, kind, message)
	if problem := fault.As(err); problem != nil && !problem.Retryable { // the entity or the viewer is gone
		message.State = notice.LiveMessageLost
		return b.store.Notices.SaveLiveMessage(ctx, message, pause)
	}
	if err != nil {
		return err
	}

	// The first message may have arrived even though no answer came; a second one would show the same thing twice. The end
	// is worth a second message.
	unanswered := message.MessageID == nil && message.State == notice.LiveMessageSending && !now.Ended
	switch {
	case unanswered, message.ShownHash == now.Hash():
		return b.store.Notices.SaveLiveMessage(ctx, message, pause)
	case !now.Ended && !b.pace.turn(message.ChatID):
		return b.store.Notices.SaveLiveMessage(ctx, message, b.pace.inChat)
	}

	if err := b.pace.limiter.Wait(ctx); err != nil {
		return err
	}
	if message.MessageID != nil {
		return b.settle(ctx, message, now, b.Edit(ctx, message.ChatID, *message.MessageID, now))
	}
	return b.first(ctx, message, now)
}

// readPause is the pause between two reads of a live message's entity.
func (b *Bot) readPause(message notice.LiveMessage) time.Duration {
	return time.Duration(max(1, b.liveMessages[message.Workload].EveryEdits)) * b.o.EditEvery
}

func (b *Bot) draw(ctx context.Context, kind chat.LiveMessage, message notice.LiveMessage) (chat.View, error) {
	viewer, err := b.store.Accounts.UserByTelegram(ctx, message.ChatID)
	if err != nil {
		return chat.View{}, err
	}
	return kind.Draw(ctx, viewer, message.EntityID)
}

// first sends a live message for the first time. Before that it records that the message is being sent, so that no
// second one follows while the entity is live, even after a crash. The final state is sent even if it is unknown
// whether the first message arrived.
func (b *Bot) first(ctx context.Context, message notice.LiveMessage, now chat.View) error {
	before := message.State
	if !now.Ended {
		message.State = notice.LiveMessageSending
		if err := b.store.Notices.HoldLiveMessage(ctx, message, liveMessageLease); err != nil {
			return err
		}
	}

	id, err := b.Send(ctx, message.ChatID, now)
	switch outcome, _ := chat.OutcomeOf(err); {
	case outcome == chat.Done:
		message.MessageID = &id
	case outcome == chat.Unknown && now.Ended: // the final state is sent once, even if it may not have arrived
		message.State = notice.LiveMessageFinal
		return b.save(ctx, message)
	case outcome == chat.Unknown:
		b.logLive(message).Warn("bot: first live message without an answer", "error", err)
		return b.save(ctx, message)
	case outcome == chat.Later:
		message.State = before
	}
	return b.settle(ctx, message, now, err)
}

// settle records the outcome of a request about a live message.
func (b *Bot) settle(ctx context.Context, message notice.LiveMessage, now chat.View, err error) error {
	switch outcome, wait := chat.OutcomeOf(err); outcome {
	case chat.Done:
		message.ShownHash, message.State = now.Hash(), notice.LiveMessageShown
		if now.Ended {
			message.State = notice.LiveMessageFinal
		}
		return b.save(ctx, message)
	case chat.Later, chat.Unknown: // repeating an edit is harmless
		b.pace.hold(wait)
		b.logLive(message).Info("bot: live message is held", "wait", wait, "error", err)
		return core.RetryWhileUnavailable(ctx, func() error { return b.store.Notices.HoldLiveMessage(ctx, message, wait) })
	default:
		b.logLive(message).Info("bot: live message is lost", "error", err)
		message.State = notice.LiveMessageLost
		return b.save(ctx, message)
	}
}

// save records a live message after something was sent. It retries while PostgreSQL is unavailable: the record must not
// forget what was sent.
func (b *Bot) save(ctx context.Context, message notice.LiveMessage) error {
	return core.RetryWhileUnavailable(ctx, func() error {
		return b.store.Notices.SaveLiveMessage(ctx, message, b.readPause(message))
	})
}
