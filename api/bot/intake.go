package bot

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	mostUpdates = 100  // maximum batch size of getUpdates
	lineLength  = 10   // pending updates of one chat; more are refused
	inboxLength = 1000 // pending updates of all chats; above it none are fetched
)

// intake handles chats concurrently, and the updates of each chat in order.
//
// Updates are written to the inbox, a table, as they arrive, so that Telegram may drop them: fetching the next ones
// never waits for a handler. A line holds the same updates in memory. Updates that do not fit into their chat's line
// are refused.
type intake struct {
	ctx      context.Context // of the handlers; ends when the process runs out of time
	log      *slog.Logger
	inbox    inbox
	handle   func(context.Context, chat.Incoming) error
	slowDown func(context.Context, chat.Incoming)
	refused  func()        // counts an update that did not fit into its line
	slots    chan struct{} // for chats being handled, except while they wait
	places   chan struct{} // for pending updates
	running  sync.WaitGroup

	mu      sync.Mutex
	waiting map[int64]struct{} // ids of the updates in lines
	lines   map[int64]*line    // by chat
}

// inbox stores updates that were received but not handled yet. *notice.Store implements it.
type inbox interface {
	ReceiveUpdates(ctx context.Context, last int64, updates []notice.Update) error
	WaitingUpdates(ctx context.Context) ([]notice.Update, error)
	DropUpdate(ctx context.Context, id int64) error
}

// line holds the updates of one chat.
type line struct {
	updates []chat.Incoming // pending; the first one is being handled
	refused *chat.Incoming  // the last update that did not fit; nil: nobody to notify
}

func newIntake(ctx context.Context, b *Bot) *intake {
	return &intake{
		ctx: ctx, log: b.Log, inbox: b.store.Notices, handle: b.handle, slowDown: b.slowDown, refused: b.countFullLine,
		slots: make(chan struct{}, chatsAtOnce), places: make(chan struct{}, inboxLength), waiting: map[int64]struct{}{},
		lines: map[int64]*line{},
	}
}

// resume loads updates from the inbox that are not in a line yet.
func (in *intake) resume(ctx context.Context) error {
	// Before the inbox is read: an update handled in the meantime is still read from it, and must not be queued again.
	in.mu.Lock()
	known := maps.Clone(in.waiting)
	in.mu.Unlock()

	waiting, err := in.inbox.WaitingUpdates(ctx)
	if err != nil {
		return err
	}

	for _, update := range waiting {
		if _, inLine := known[update.ID]; inLine {
			continue
		}
		var incoming chat.Incoming
		if err := json.Unmarshal(update.Content, &incoming); err != nil {
			return err
		}
		in.queue(ctx, incoming)
	}
	return nil
}

// take stores a batch of updates, and queues them in the lines of their chats.
func (in *intake) take(ctx context.Context, batch []telego.Update) error {
	fitting, refused := in.divide(batch)
	received := make([]notice.Update, len(fitting))
	for i, incoming := range fitting {
		content, err := json.Marshal(incoming)
		if err != nil {
			return err
		}
		received[i] = notice.Update{ID: incoming.Update, ChatID: incoming.Chat, Content: content}
	}
	if err := in.inbox.ReceiveUpdates(ctx, int64(batch[len(batch)-1].UpdateID), received); err != nil {
		return err
	}

	for _, incoming := range fitting {
		in.queue(ctx, incoming)
	}
	in.refuse(refused)
	return nil
}

// divide splits a batch into updates that fit into the lines of their chats and those that do not. It drops updates
// that the bot does not understand.
func (in *intake) divide(batch []telego.Update) (fitting, refused []chat.Incoming) {
	in.mu.Lock()
	defer in.mu.Unlock()

	more := map[int64]int{} // by chat
	for _, update := range batch {
		incoming, understood := readUpdate(update)
		if !understood {
			continue
		}

		length := more[incoming.Chat]
		if l := in.lines[incoming.Chat]; l != nil {
			length += len(l.updates)
		}
		if length >= lineLength {
			refused = append(refused, incoming)
			continue
		}
		more[incoming.Chat]++
		fitting = append(fitting, incoming)
	}
	return fitting, refused
}

// queue adds an update to its chat's line, once there is room.
func (in *intake) queue(ctx context.Context, incoming chat.Incoming) {
	select {
	case in.places <- struct{}{}:
	case <-ctx.Done(): // it stays in the inbox
		return
	}

	in.mu.Lock()
	defer in.mu.Unlock()
	in.waiting[incoming.Update] = struct{}{}
	l := in.lineOf(incoming.Chat)
	l.updates = append(l.updates, incoming)
}

// refuse counts updates that did not fit. Each person is notified once, after the updates that did fit.
func (in *intake) refuse(updates []chat.Incoming) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, incoming := range updates {
		in.refused()
		in.lineOf(incoming.Chat).refused = &incoming
	}
}

// lineOf returns the line of a chat, and starts serving it if needed; in.mu must be held.
func (in *intake) lineOf(chat int64) *line {
	l := in.lines[chat]
	if l == nil {
		l = &line{}
		in.lines[chat] = l
		in.running.Go(func() { in.serve(chat, l) })
	}
	return l
}

// serve handles the updates of a chat until its line is empty.
func (in *intake) serve(chat int64, l *line) {
	for {
		next, refused, more := in.next(chat, l)
		switch {
		case !more:
			return
		case refused != nil:
			in.inPlace(func(ctx context.Context) { in.slowDown(ctx, *refused) })
		default:
			in.one(l, next)
		}
	}
}

// next returns the next update of a line or, after the last one, the notification that some did not fit. It returns
// nothing new once the process is out of time.
func (in *intake) next(on int64, l *line) (next chat.Incoming, refused *chat.Incoming, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	switch {
	case in.ctx.Err() != nil || len(l.updates) == 0 && l.refused == nil:
		delete(in.lines, on)
		return next, nil, false
	case len(l.updates) > 0:
		return l.updates[0], nil, true
	default:
		refused, l.refused = l.refused, nil
		return next, refused, true
	}
}

// one handles one update. A failed update counts as handled too, unless the process ran out of time.
func (in *intake) one(l *line, next chat.Incoming) {
	var err error
	in.inPlace(func(ctx context.Context) { err = in.handle(ctx, next) })
	if err != nil && in.ctx.Err() == nil {
		in.log.Error("bot: update not marked as handled", "update", next.Update, "error", err)
	}
	if err == nil || in.ctx.Err() == nil {
		err = core.RetryWhileUnavailable(in.ctx, func() error { return in.inbox.DropUpdate(in.ctx, next.Update) })
		if err != nil {
			in.log.Warn("bot: update stays in the inbox for another attempt", "update", next.Update, "error", err)
		}
	}

	in.mu.Lock()
	defer in.mu.Unlock()
	l.updates = l.updates[1:]
	delete(in.waiting, next.Update)
	<-in.places
}

// inPlace runs do when a slot for the chat is free; do gives up the slot while it waits.
func (in *intake) inPlace(do func(context.Context)) {
	in.slots <- struct{}{}
	defer func() { <-in.slots }()

	do(chat.WithPlace(in.ctx, chat.Place{
		Yield: func(wait func()) {
			<-in.slots
			defer func() { in.slots <- struct{}{} }()
			wait()
		},
		Elsewhere: func(do func(context.Context)) { in.running.Go(func() { do(in.ctx) }) },
	}))
}
