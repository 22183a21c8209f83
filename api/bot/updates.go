package bot

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/telegram"
)

const (
	firstPause       = 500 * time.Millisecond
	longestPause     = 10 * time.Second
	chatsAtOnce      = 16
	handlerTime      = 40 * time.Second // for one attempt to handle one update: longer than a slow folder takes
	temporalPatience = 30 * time.Second // then the person is told: the others' updates cannot wait for long
	sameBatch        = 1000             // ids of updates that may come again lie closer together than this
)

// pollUpdates asks for updates and handles them until ctx ends. The offset moves only when all that it passes is
// handled and that is recorded, so a crash or an outage loses nothing; what comes again is recognised.
func (b *Bot) pollUpdates(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		err := b.poll(ctx)
		if err == nil {
			pause = firstPause
			continue
		}
		if ctx.Err() != nil {
			return
		}

		wait := max(pause, telegram.Classify(err).RetryAfter)
		b.log.Warn("bot: no updates", "error", err, "again_in", wait)
		sleep(ctx, wait)
		pause = min(2*pause, longestPause)
	}
}

// poll fetches one batch of updates and handles it.
func (b *Bot) poll(ctx context.Context) error {
	next, err := b.store.NextUpdate(ctx)
	if err != nil {
		return err
	}

	patience, cancel := context.WithTimeout(ctx, b.pollTimeout+10*time.Second)
	defer cancel()

	updates, err := b.telegram.GetUpdates(patience, &telego.GetUpdatesParams{
		Offset:         int(next),
		Timeout:        max(1, int(b.pollTimeout/time.Second)),
		AllowedUpdates: []string{telego.MessageUpdates, telego.CallbackQueryUpdates},
	})
	if err != nil || len(updates) == 0 {
		return err
	}

	work, done := withGrace(ctx)
	defer done()
	return b.handleBatch(work, updates)
}

// handleBatch handles chats in parallel and each chat's updates in order, and records that all are handled.
func (b *Bot) handleBatch(ctx context.Context, updates []telego.Update) error {
	byChat := map[int64][]telego.Update{}
	var last int64
	for _, update := range updates {
		in, _ := read(update)
		byChat[in.chat] = append(byChat[in.chat], update)
		last = max(last, int64(update.UpdateID))
	}

	slots := make(chan struct{}, chatsAtOnce)
	var chats sync.WaitGroup
	for _, updates := range byChat {
		slots <- struct{}{}
		chats.Go(func() {
			defer func() { <-slots }()
			for _, update := range updates {
				if err := b.handle(ctx, update); err != nil && ctx.Err() == nil {
					b.log.Error("bot: update is not remembered as handled", "update", update.UpdateID, "error", err)
				}
			}
		})
	}

	chats.Wait()
	if ctx.Err() != nil { // some are not handled
		return ctx.Err()
	}
	return store.RetryWhileUnavailable(ctx, func() error { return b.store.MarkUpdatesHandled(ctx, last) })
}

// handle lets one update have its effect, once.
func (b *Bot) handle(ctx context.Context, update telego.Update) error {
	in, ok := read(update)
	switch {
	case !ok:
		return nil
	case !in.private:
		b.turnDown(ctx, in)
		return nil
	}

	r := &request{incoming: in}
	err := b.insist(ctx, func() (err error) {
		r.conv, err = b.store.Conversation(ctx, in.chat)
		return err
	})
	if err != nil || r.handledBefore() {
		return err
	}

	asked := r.conv.Ask
	if err = b.insist(ctx, func() error { return b.attempt(ctx, r) }); err != nil {
		if ctx.Err() != nil {
			return err
		}
		b.explain(ctx, r, err)
	}

	if r.conv.Ask == asked && r.endsQuestion(err) {
		r.conv.Ask = ""
	}

	b.answerClick(ctx, r)
	if r.forget {
		return nil
	}

	r.conv.UpdateID = in.update
	return store.RetryWhileUnavailable(ctx, func() error { return b.store.SaveConversation(ctx, r.conv) })
}

// endsQuestion says whether the menu's question is over after a request that came to err: the person has turned to a
// command, or has answered for good. A picture is no answer, and one that could not be taken now may come again.
func (r *request) endsQuestion(err error) bool {
	failed := fault.As(err)
	return strings.HasPrefix(r.words, "/") || r.words != "" && failed != nil && !failed.Retryable
}

// attempt responds to a request in bounded time, and survives a handler that panics.
func (b *Bot) attempt(ctx context.Context, r *request) (err error) {
	limited, cancel := context.WithTimeout(ctx, handlerTime)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			err = fault.New(fault.Internal, "a handler panicked").WithCause(fmt.Errorf("%v\n%s", p, debug.Stack()))
		}
	}()

	err = b.respond(limited, r)
	// whatever it looks like: another attempt would be no faster
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		err = fault.New(fault.Internal, "a handler took too long").WithCause(err)
	}
	return err
}

// insist repeats do while PostgreSQL is away, and for a while when Temporal is.
func (b *Bot) insist(ctx context.Context, do func() error) error {
	patience := time.Now().Add(temporalPatience)
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		err := do()
		switch fault.CodeOf(err) {
		case fault.StoreUnavailable:
		case fault.TemporalUnavailable:
			if time.Now().After(patience) {
				return err
			}
		default:
			return err
		}

		if !sleep(ctx, pause) {
			return errors.Join(err, ctx.Err())
		}
	}
}

// handledBefore says whether the update came again after a crash between its handling and the move of the offset.
// Ids far below the chat's last one are of a new numbering, not old updates.
func (r *request) handledBefore() bool {
	behind := r.conv.UpdateID - r.update
	return behind >= 0 && behind < sameBatch
}
