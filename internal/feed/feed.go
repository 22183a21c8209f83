// Package feed reads the record's events once for the whole process and distributes them to all followers, so that the
// number of followers does not change the load on the record. Only a follower that lags reads for itself, a few at a
// time.
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
	page        = 500 // events per statement

	window   = 8 << 20 // bytes of events kept for slow followers
	pagesAll = 2       // followers catching up at the same time
	pageRate = 200     // their pages per second
)

// Events are the record's events, and who may see them.
type Events interface {
	EventFloor(ctx context.Context) (core.Cursor, error)
	EventsNow(ctx context.Context) (core.Cursor, error)
	EventsEnd(ctx context.Context) (core.Cursor, error)
	EventsBack(ctx context.Context, howMany int) (core.Cursor, error)
	EventsAfter(ctx context.Context, after core.Cursor, limit int) ([]core.StreamedEvent, error)
	EventsLag(ctx context.Context) (seconds float64, err error)
	AudienceOf(ctx context.Context, events []core.StreamedEvent, users []int64) (notice.Audience, error)
}

// Tokens finds the holders of tokens.
type Tokens interface {
	Holders(ctx context.Context, secrets []string) (map[string]account.Holder, error)
}

// Webhooks finds the webhooks for events.
type Webhooks interface {
	WakeCursor(ctx context.Context) (core.Cursor, error)
	Wake(ctx context.Context, from core.Cursor, events []core.StreamedEvent) (woken []int64, moved bool, err error)
}

// Options configure a Feed.
type Options struct {
	Events   Events
	Tokens   Tokens
	Webhooks Webhooks // may be nil if WakeWebhook is
	// PerPerson limits the followers of a person and their agents together, administrators excepted; 0: no limit.
	PerPerson int
	Total     int // followers; administrators have a few more; 0: no limit
	CatchUp   int // events that a follower may lag at its start; 0: no limit
	Log       *slog.Logger

	// Render renders an event's text, which all followers get.
	Render func(core.StreamedEvent) ([]byte, error)
	// Permit reports whether a token and its user may follow; it is called repeatedly.
	Permit func(account.Holder) error
	// OnLag receives the seconds for which events have been held back, or could not be read.
	OnLag func(seconds float64)
	// OnFollowers receives the number of followers.
	OnFollowers func(n int)
	// WakeWebhook signals a webhook's workflow; nil: webhooks are not woken.
	WakeWebhook func(ctx context.Context, id int64)
	// OnEvents receives the record's events, in order and without a gap. It must not block.
	OnEvents func(events []core.StreamedEvent)
}

// event is an event with the location of its text in its batch's.
type event struct {
	core.StreamedEvent
	begin, end int
}

// batch is a page of events as read, with who may see them.
type batch struct {
	number   int // of all ever read
	events   []event
	text     []byte      // of all events: shared by those who see them all
	through  core.Cursor // the position after the last one
	audience notice.Audience
	asked    map[int64]bool // the users of the audience
}

// Feed is the process's only reader of events. It is safe for concurrent use.
type Feed struct {
	o       Options
	news    chan struct{} // holds one if there is a batch for which not all followers were woken
	batched chan struct{} // the same for webhooks

	pages chan struct{} // slots of followers that catch up
	rate  *rate.Limiter

	mu        sync.Mutex // guards the fields below
	begun     bool
	over      bool        // Run has ended
	start     core.Cursor // the position before the first batch
	batches   []batch     // the window, oldest first
	kept      int         // bytes in it
	number    int         // of the last batch
	groups    []*group
	followers map[*Follower]bool
	people    map[limited]*person
	users     map[int64]int             // number of followers each
	asked     map[int64]bool            // ids of users; replaced when users come or go, never changed
	access    map[string]account.Holder // by token, as last read
	looks     int                       // how often it was read
	floor     floor
}

// limited identifies the user whose followers are counted together: agents count as their owner, so that more agents
// do not get a larger share. An administrator's agents count separately from the administrator, who has no limit.
type limited struct {
	person int64
	admin  bool
}

// person holds the followers of one limited person.
type person struct {
	followers int
	turn      chan struct{} // to catch up: one follower at a time
}

// New makes a feed. Run starts it.
func New(o Options) *Feed {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &Feed{
		o: o, pages: make(chan struct{}, pagesAll), rate: rate.NewLimiter(pageRate, pagesAll),
		news: make(chan struct{}, 1), batched: make(chan struct{}, 1),
		followers: map[*Follower]bool{}, people: map[limited]*person{}, users: map[int64]int{},
	}
}

// Run reads events until ctx ends; then all followers are disconnected.
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
			f.o.Log.Warn("reading events failed", "error", err)
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

// Place is the position up to which events were read: a read of the record after this call includes all that happened
// before the position. nil: none were read yet.
func (f *Feed) Place() *core.Cursor {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.begun {
		return nil
	}
	place := f.through()
	return &place
}

// through is the position up to which events were read. The lock must be held.
func (f *Feed) through() core.Cursor {
	if len(f.batches) == 0 {
		return f.start
	}
	return f.batches[len(f.batches)-1].through
}

// add puts a batch into the window, and drops the oldest ones if it is full.
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
		default: // a signal is already pending
		}
	}
}
