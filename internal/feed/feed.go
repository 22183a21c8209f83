// Package feed reads the record's events once for the whole process and hands them to all followers, so that the number
// of followers does not change the load of the record. Only a follower that is behind reads for itself, a few of them
// at a time.
package feed

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	pollEvery   = 250 * time.Millisecond
	accessEvery = 5 * time.Second // how often access is checked while there are no events
	lagEvery    = time.Second
	page        = 500 // events of one statement

	window   = 8 << 20 // bytes of events that are kept for slow followers
	pagesAll = 2       // followers that catch up at the same time
	pageRate = 200     // their pages a second
)

// Events are the events of the record, and who may see them.
type Events interface {
	EventFloor(ctx context.Context) (core.Cursor, error)
	EventsNow(ctx context.Context) (core.Cursor, error)
	EventsEnd(ctx context.Context) (core.Cursor, error)
	EventsBack(ctx context.Context, howMany int) (core.Cursor, error)
	EventsAfter(ctx context.Context, after core.Cursor, limit int) ([]core.StreamedEvent, error)
	EventsLag(ctx context.Context) (seconds float64, err error)
	AudienceOf(ctx context.Context, events []core.StreamedEvent, users []int64) (notice.Audience, error)
}

// Tokens tells who holds a token.
type Tokens interface {
	Holders(ctx context.Context, secrets []string) (map[string]account.Holder, error)
}

// Webhooks finds the webhooks that events are for.
type Webhooks interface {
	WakeCursor(ctx context.Context) (core.Cursor, error)
	Wake(ctx context.Context, from core.Cursor, events []core.StreamedEvent) (woken []int64, moved bool, err error)
}

// Options configure a Feed.
type Options struct {
	Events   Events
	Tokens   Tokens
	Webhooks Webhooks // may be nil where WakeWebhook is
	PerUser  int      // followers of one user who is no administrator; 0: no limit
	Total    int      // followers; administrators have a few more; 0: no limit
	CatchUp  int      // events that a follower may be behind at its start; 0: no limit
	Log      *slog.Logger

	// Render makes the text of an event that all followers get.
	Render func(core.StreamedEvent) ([]byte, error)
	// Permit says whether a token and its user may follow; it is called repeatedly.
	Permit func(account.Holder) error
	// OnLag is called with the seconds for which events have been held back, or could not be read.
	OnLag func(seconds float64)
	// OnFollowers is called with the number of followers.
	OnFollowers func(n int)
	// WakeWebhook signals the workflow of a webhook; nil: webhooks are not woken.
	WakeWebhook func(ctx context.Context, id int64)
	// OnEvents is called with the events of the record, in their order and without a gap. It must not block.
	OnEvents func(events []core.StreamedEvent)
}

// event is an event with the place of its text in that of its batch.
type event struct {
	core.StreamedEvent
	begin, end int
}

// batch is a page of events as it was read, with who may see them.
type batch struct {
	number   int // of all that were ever read
	events   []event
	text     []byte      // of all events: who sees them all shares it
	through  core.Cursor // the place after the last one
	audience notice.Audience
	asked    map[int64]bool // the users that the audience was asked for
}

// Feed is the process's one reader of events. It is safe for concurrent use.
type Feed struct {
	o       Options
	news    chan struct{} // holds one when there is a batch that not all followers were woken for
	batched chan struct{} // the same for webhooks

	pages chan struct{} // slots of followers that catch up
	rate  *rate.Limiter

	mu        sync.Mutex // guards the fields below
	begun     bool
	over      bool        // Run has ended
	start     core.Cursor // the place before the first batch
	batches   []batch     // the window, oldest first
	kept      int         // bytes in it
	number    int         // of the last batch
	groups    []*group
	followers map[*Follower]bool
	users     map[int64]*person
	asked     map[int64]bool            // ids of users; replaced when users come or go, never changed
	access    map[string]account.Holder // by token, as last read
	looks     int                       // how often it was read
	floor     floor
}

// person is a user who follows.
type person struct {
	followers int
	turn      chan struct{} // to catch up: one follower at a time
}

// New makes a feed. Run makes it work.
func New(o Options) *Feed {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Feed{
		o: o, pages: make(chan struct{}, pagesAll), rate: rate.NewLimiter(pageRate, pagesAll),
		news: make(chan struct{}, 1), batched: make(chan struct{}, 1), followers: map[*Follower]bool{}, users: map[int64]*person{},
	}
}

// Run reads events until ctx ends; then all followers are dismissed.
func (f *Feed) Run(ctx context.Context) {
	defer f.end()
	ctx = core.Reserved(ctx) // one reader, whatever the users do
	var beside sync.WaitGroup
	defer beside.Wait()

	beside.Go(func() { f.keepWaking(ctx) })
	beside.Go(func() { f.keepWebhooks(ctx) })

	r := reader{feed: f, read: time.Now()}
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()

	for {
		more, err := r.tick(ctx)
		if err != nil && ctx.Err() == nil {
			f.o.Log.Warn("events cannot be read", "error", err)
		}

		if more && err == nil {
			continue
		}

		select {
		case <-ctx.Done():
			return
		case <-poll.C:
		}
	}
}

func (f *Feed) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.wakeAll()
}

// Place is the place up to which events were read: whoever reads the record after this call sees all that happened
// before the place. nil: none were read yet.
func (f *Feed) Place() *core.Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		return nil
	}
	place := f.through()
	return &place
}

// through is the place up to which events were read. The lock must be held.
func (f *Feed) through() core.Cursor {
	if len(f.batches) == 0 {
		return f.start
	}
	return f.batches[len(f.batches)-1].through
}

// add puts a batch into the window, and drops the oldest ones when it is full.
func (f *Feed) add(b batch) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.number++
	b.number = f.number
	f.batches = append(f.batches, b)
	f.kept += b.size()

	for f.kept > window && len(f.batches) > 1 {
		f.start = f.batches[0].through
		f.kept -= f.batches[0].size()
		f.batches[0] = batch{}
		f.batches = f.batches[1:]
	}

	for _, reader := range []chan struct{}{f.news, f.batched} {
		select {
		case reader <- struct{}{}:
		default: // it has a signal already
		}
	}
}
