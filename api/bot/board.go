package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"sync"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// liveMessageKind is how the entities of one workload are shown.
type liveMessageKind struct {
	// draw shows the entity to the viewer as it is now.
	draw func(ctx context.Context, viewer store.User, id int64) (face, error)
	// ended says whether an entity in this state changes no more.
	ended func(state string) bool
	// every is the pause between two looks at it.
	every time.Duration
}

// face is what a board shows.
type face struct {
	view
	ended bool // it will not change any more
}

// hash tells faces apart.
func (f face) hash() string {
	shown := []byte(f.text)
	for _, row := range f.rows {
		for _, button := range row {
			shown = fmt.Appendf(shown, "\n%q %q", button.Text, button.CallbackData)
		}
	}
	sum := sha256.Sum256(shown)
	return hex.EncodeToString(sum[:8])
}

const (
	liveMessageTick     = 300 * time.Millisecond
	liveMessageLease    = 30 * time.Second // longer than one board may take
	liveMessagesPerTick = 40
	liveMessagesAtOnce  = 8
	longFlood           = 20 * time.Second // a wait of this length is meant for the whole bot
)

// keepLiveMessages keeps every board up to date until ctx ends.
func (b *Bot) keepLiveMessages(ctx context.Context) {
	events, err := b.store.EventsNow(ctx)
	for sleep(ctx, liveMessageTick) {
		if b.pace.silent() {
			continue
		}

		if err != nil {
			events, err = b.store.EventsNow(ctx)
		}

		if err == nil {
			events, err = b.hurryEnded(ctx, events)
		}

		if err == nil {
			err = b.refreshLiveMessages(ctx)
		}

		if err != nil && ctx.Err() == nil {
			b.log.Warn("bot: boards wait", "error", err)
			sleep(ctx, firstPause)
		}
	}
}

// hurryEnded makes the boards of entities that ended since the cursor due at once; it gives the cursor after them.
func (b *Bot) hurryEnded(ctx context.Context, after store.Cursor) (store.Cursor, error) {
	events, err := b.store.EventsAfter(ctx, after, 500)
	if err != nil {
		return after, err
	}

	for _, event := range events {
		kind, shown := b.liveMessages[event.Workload]
		id, notANumber := strconv.ParseInt(event.EntityID, 10, 64)
		if shown && notANumber == nil && kind.ended(event.To) {
			if err := b.store.HurryLiveMessage(ctx, event.Workload, id); err != nil {
				return after, err
			}
		}
		after = event.Cursor()
	}

	return after, nil
}

// refreshLiveMessages looks at the boards that are due.
func (b *Bot) refreshLiveMessages(ctx context.Context) error {
	boards, err := b.store.ClaimLiveMessages(ctx, liveMessagesPerTick, liveMessageLease)
	if err != nil {
		return err
	}

	work, done := withGrace(ctx)
	defer done()

	slots := make(chan struct{}, liveMessagesAtOnce)
	var refreshing sync.WaitGroup
	for _, board := range boards {
		slots <- struct{}{}
		refreshing.Go(func() {
			defer func() { <-slots }()
			if err := b.refresh(work, board); err != nil {
				b.log.Warn("bot: board waits for its lease", "workload", board.Workload, "entity", board.EntityID, "error", err)
			}
		})
	}

	refreshing.Wait()
	return nil
}

// refresh brings one board up to date.
func (b *Bot) refresh(ctx context.Context, board store.LiveMessage) error {
	kind, known := b.liveMessages[board.Workload]
	if !known { // a newer version of the program made it
		return fmt.Errorf("no board for workload %q", board.Workload)
	}

	now, err := b.draw(ctx, kind, board)
	if problem := fault.As(err); problem != nil && !problem.Retryable { // the entity or the viewer is gone
		board.State = store.LiveMessageLost
		return b.store.SaveLiveMessage(ctx, board, kind.every)
	}
	if err != nil {
		return err
	}

	silentPost := board.MessageID == nil && board.State == store.LiveMessageSending && !now.ended
	switch {
	case silentPost: // the first message may have arrived, and a second one would show the same twice: wait for the end
		return b.store.SaveLiveMessage(ctx, board, kind.every)
	case board.ShownHash == now.hash():
		return b.store.SaveLiveMessage(ctx, board, kind.every)
	case !now.ended && !b.pace.turn(board.ChatID):
		return b.store.SaveLiveMessage(ctx, board, b.pace.inChat)
	}

	if err := b.pace.limiter.Wait(ctx); err != nil {
		return err
	}
	if board.MessageID != nil {
		return b.settle(ctx, board, now, b.edit(ctx, board.ChatID, *board.MessageID, now.view))
	}

	return b.first(ctx, board, now)
}

func (b *Bot) draw(ctx context.Context, kind liveMessageKind, board store.LiveMessage) (face, error) {
	viewer, err := b.store.UserByTelegram(ctx, board.ChatID)
	if err != nil {
		return face{}, err
	}
	return kind.draw(ctx, viewer, board.EntityID)
}

// first sends a board's message. That it is being sent is recorded before, so that whatever happens meanwhile no
// second one follows while the entity lives. The end is worth a message even when the fate of the first is unknown.
func (b *Bot) first(ctx context.Context, board store.LiveMessage, now face) error {
	before := board.State
	if !now.ended {
		board.State = store.LiveMessageSending
		if err := b.store.HoldLiveMessage(ctx, board, liveMessageLease); err != nil {
			return err
		}
	}

	message, err := b.send(ctx, board.ChatID, now.view)
	switch outcome, _ := fateOf(err); {
	case outcome == done:
		board.MessageID = &message
	case outcome == unknown && now.ended: // said once, perhaps in vain
		board.State = store.LiveMessageFinal
		return b.save(ctx, board)
	case outcome == unknown:
		b.log.Warn(
			"bot: first message of a board without an answer", "workload", board.Workload, "entity", board.EntityID, "error",
			err,
		)
		return b.save(ctx, board)
	case outcome == later:
		board.State = before
	}

	return b.settle(ctx, board, now, err)
}

// settle records what a request about a board led to.
func (b *Bot) settle(ctx context.Context, board store.LiveMessage, now face, err error) error {
	switch outcome, wait := fateOf(err); outcome {
	case done:
		board.ShownHash, board.State = now.hash(), store.LiveMessageShown
		if now.ended {
			board.State = store.LiveMessageFinal
		}
		return b.save(ctx, board)
	case later, unknown: // an edit may be made twice
		if wait >= longFlood {
			b.pace.beSilent(wait)
		}
		b.log.Info("bot: board is held", "workload", board.Workload, "entity", board.EntityID, "wait", wait, "error", err)
		return store.RetryWhileUnavailable(ctx, func() error { return b.store.HoldLiveMessage(ctx, board, wait) })
	default:
		b.log.Info("bot: board is lost", "workload", board.Workload, "entity", board.EntityID, "error", err)
		board.State = store.LiveMessageLost
		return b.save(ctx, board)
	}
}

// save records a board after something was sent: that must not be forgotten because PostgreSQL is away for a moment.
func (b *Bot) save(ctx context.Context, board store.LiveMessage) error {
	return store.RetryWhileUnavailable(
		ctx, func() error { return b.store.SaveLiveMessage(ctx, board, b.liveMessages[board.Workload].every) },
	)
}
