package bot

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
)

const (
	window     = 100                    // unconfirmed updates that Telegram shows at most
	lookAgain  = 200 * time.Millisecond // between two looks for updates while some are being handled
	lineLength = 10                     // updates of one chat that wait or are being handled; more are refused
)

// intake lets chats be handled at the same time, and the updates of one chat in their order. Lines of chats outlive the
// batches in which updates come.
//
// Telegram forgets the updates before the offset of a request, and shows the same updates again from an offset that has
// not moved. So the offset is that of the first update that is not handled: what is fetched and not handled is fetched
// again after a crash, and here it is recognised by its id. The price is that nobody's updates are seen while a hundred
// come after one that is not handled. Therefore a line is short, what does not fit is refused and counts as handled,
// and the chat of an update that a full window begins with waits for nothing any more: see hurry.
type intake struct {
	ctx      context.Context // of the handlers; it ends when the process has no more time
	log      *slog.Logger
	handle   func(context.Context, telego.Update) error
	slowDown func(context.Context, chat.Incoming)
	refused  func()        // counts an update that did not fit into its line
	slots    chan struct{} // for chats that are being handled and do not wait
	running  sync.WaitGroup

	mu      sync.Mutex
	seen    []int           // ids of the updates that Telegram shows, in its order
	updates map[int]*update // by id: those that Telegram shows
	lines   map[int64]*line // by chat
	changed chan struct{}   // closed and replaced when an update is handled
}

// update is one update that Telegram shows until the offset has passed it.
type update struct {
	chat    int64
	handled bool
}

// line holds the updates of one chat.
type line struct {
	updates []telego.Update // that are not handled; the first one is being handled
	refused *chat.Incoming  // the last update that did not fit; nil: nobody has to be told
	hurry   chan struct{}   // closed when nothing of the chat may wait
	hurried bool
}

func newIntake(ctx context.Context, b *Bot) *intake {
	return &intake{
		ctx: ctx, log: b.Log, handle: b.handle, slowDown: b.slowDown, refused: b.countFullLine,
		slots: make(chan struct{}, chatsAtOnce), updates: map[int]*update{}, lines: map[int64]*line{},
		changed: make(chan struct{}),
	}
}

// take puts new updates of a batch into the lines of their chats. The batch is all that Telegram shows now.
func (in *intake) take(batch []telego.Update) {
	in.mu.Lock()
	defer in.mu.Unlock()

	known := in.updates
	in.seen, in.updates = nil, map[int]*update{}
	for _, next := range batch {
		in.seen = append(in.seen, next.UpdateID)
		if old := known[next.UpdateID]; old != nil {
			in.updates[next.UpdateID] = old
			continue
		}

		incoming, understood := readUpdate(next)
		now := &update{chat: incoming.Chat, handled: !understood}
		in.updates[next.UpdateID] = now
		if understood && !in.queue(incoming, next) {
			now.handled = true
			in.refused()
		}
	}
}

// queue puts an update into the line of its chat; false: the line is full.
func (in *intake) queue(incoming chat.Incoming, next telego.Update) bool {
	l := in.lines[incoming.Chat]
	if l == nil {
		l = &line{hurry: make(chan struct{})}
		in.lines[incoming.Chat] = l
		in.running.Go(func() { in.serve(incoming.Chat, l) })
	}

	if len(l.updates) == lineLength {
		l.refused = &incoming
		return false
	}
	l.updates = append(l.updates, next)
	return true
}

// serve handles the updates of a chat until there is none.
func (in *intake) serve(chat int64, l *line) {
	for {
		next, refused, more := in.next(chat, l)
		switch {
		case !more:
			return
		case refused != nil:
			in.inPlace(l, func(ctx context.Context) { in.slowDown(ctx, *refused) })
		default:
			in.one(l, next)
		}
	}
}

// next returns what a line has to do: an update, or, after the last one, to tell the person that some did not fit.
// Nothing new is begun when the process has no more time.
func (in *intake) next(chat int64, l *line) (next telego.Update, refused *chat.Incoming, more bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	switch {
	case in.ctx.Err() != nil || len(l.updates) == 0 && l.refused == nil:
		delete(in.lines, chat)
		return next, nil, false
	case len(l.updates) > 0:
		return l.updates[0], nil, true
	default:
		refused, l.refused = l.refused, nil
		return next, refused, true
	}
}

// one handles one update. It counts as handled also when it failed, unless the process had no more time for it.
func (in *intake) one(l *line, next telego.Update) {
	var err error
	in.inPlace(l, func(ctx context.Context) { err = in.handle(ctx, next) })

	in.mu.Lock()
	defer in.mu.Unlock()

	l.updates = l.updates[1:]
	switch {
	case err != nil && in.ctx.Err() != nil:
		return
	case err != nil:
		in.log.Error("bot: update is not remembered as handled", "update", next.UpdateID, "error", err)
	}
	if now := in.updates[next.UpdateID]; now != nil {
		now.handled = true
	}
	close(in.changed)
	in.changed = make(chan struct{})
}

// inPlace does something for a chat when it is one of the few that are handled, and lets others be handled while it
// waits.
func (in *intake) inPlace(l *line, do func(context.Context)) {
	in.slots <- struct{}{}
	defer func() { <-in.slots }()

	do(chat.WithPlace(in.ctx, chat.Place{
		Yield: func(wait func()) {
			<-in.slots
			defer func() { in.slots <- struct{}{} }()
			wait()
		},
		Hurry:     l.hurry,
		Elsewhere: func(do func(context.Context)) { in.running.Go(func() { do(in.ctx) }) },
	}))
}

// await waits until all updates are handled, but not long: other chats may have new ones.
func (in *intake) await(ctx context.Context) {
	again := time.After(lookAgain)
	for {
		in.mu.Lock()
		changed, done := in.changed, in.handledInOrder() == len(in.seen)
		in.mu.Unlock()
		if done {
			return
		}

		select {
		case <-changed:
		case <-again:
			return
		case <-ctx.Done():
			return
		}
	}
}

// handledInOrder counts the updates before the first one that is not handled; in.mu must be held.
func (in *intake) handledInOrder() int {
	i := slices.IndexFunc(in.seen, func(id int) bool { return !in.updates[id].handled })
	if i < 0 {
		return len(in.seen)
	}
	return i
}

// last returns the id up to which all updates are handled; false: not even the first one is.
func (in *intake) last() (id int64, some bool) {
	in.mu.Lock()
	defer in.mu.Unlock()

	n := in.handledInOrder()
	if n == 0 {
		return 0, false
	}
	return int64(in.seen[n-1]), true
}

// hurry ends the waits of the chat that a full window begins with.
func (in *intake) hurry() {
	in.mu.Lock()
	defer in.mu.Unlock()

	n := in.handledInOrder()
	if len(in.seen) < window || n == len(in.seen) {
		return
	}

	l := in.lines[in.updates[in.seen[n]].chat]
	if l != nil && !l.hurried {
		l.hurried = true
		close(l.hurry)
	}
}
