package feed

import (
	"context"
	"maps"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// overhead is the approximate memory of an event besides its text, in bytes.
const overhead = 500

// reader is the state of Run between two readings of the record.
type reader struct {
	feed          *Feed
	read          time.Time // when events were last read successfully
	looked, asked time.Time // when access and lag were last checked
}

// tick reads a page of events and reports whether there may be more. Each of its queries serves all followers.
func (r *reader) tick(ctx context.Context) (more bool, err error) {
	events, err := r.events(ctx)
	if err != nil {
		r.feed.lags(time.Since(r.read).Seconds())
		return false, err
	}

	r.read = time.Now()

	if len(events) > 0 || time.Since(r.looked) > accessEvery {
		if err := r.feed.lookAtAccess(ctx); err != nil {
			return false, err
		}
		r.looked = time.Now()
	}

	if len(events) > 0 {
		if err := r.feed.publish(ctx, events); err != nil {
			return false, err
		}
	}
	return len(events) == page, r.lag(ctx)
}

func (r *reader) events(ctx context.Context) ([]core.StreamedEvent, error) {
	f := r.feed
	f.mu.Lock()
	begun, after := f.begun, f.through()
	f.mu.Unlock()
	if begun {
		return f.o.Events.EventsAfter(ctx, after, page)
	}

	start, err := f.o.Events.EventsNow(ctx)
	if err != nil {
		return nil, err
	}

	f.mu.Lock()
	f.begun, f.start = true, start
	f.wakeAll()
	f.mu.Unlock()
	return nil, nil
}

// lag checks from time to time how long events have been held back.
func (r *reader) lag(ctx context.Context) error {
	if time.Since(r.asked) < lagEvery {
		return nil
	}
	seconds, err := r.feed.o.Events.EventsLag(ctx)
	if err != nil {
		return err
	}
	r.asked = time.Now()
	r.feed.lags(seconds)
	return nil
}

func (f *Feed) lags(seconds float64) {
	if f.o.OnLag != nil {
		f.o.OnLag(seconds)
	}
}

// publish reads who may see the events, and adds them to the window.
func (f *Feed) publish(ctx context.Context, events []core.StreamedEvent) error {
	f.mu.Lock()
	if f.asked == nil {
		f.asked = make(map[int64]bool, len(f.users))
		for id := range f.users {
			f.asked[id] = true
		}
	}

	asked := f.asked
	f.mu.Unlock()

	audience, err := f.o.Events.AudienceOf(ctx, events, slices.Collect(maps.Keys(asked)))
	if err != nil {
		return err
	}

	b := batch{through: events[len(events)-1].Cursor(), audience: audience, asked: asked}
	if err := b.render(events, f.o.Render); err != nil {
		return err
	}

	f.add(b)
	if f.o.OnEvents != nil {
		f.o.OnEvents(events)
	}
	return nil
}

// render fills a batch.
func (b *batch) render(events []core.StreamedEvent, render func(core.StreamedEvent) ([]byte, error)) error {
	for _, one := range events {
		text, err := render(one)
		if err != nil {
			return err
		}
		begin := len(b.text)
		b.text = append(b.text, text...)
		b.events = append(b.events, event{one, begin, len(b.text)})
	}
	return nil
}

// size is the approximate size of a batch in bytes.
func (b *batch) size() int { return cap(b.text) + overhead*len(b.events) }

// lookAtAccess dismisses the followers whose token is revoked or whose user may not follow. It runs before the
// previously read events are published, so that a blocked user does not see later events.
func (f *Feed) lookAtAccess(ctx context.Context) error {
	f.mu.Lock()
	tokens := map[string]bool{}
	for follower := range f.followers {
		tokens[follower.token] = true
	}

	f.mu.Unlock()
	if len(tokens) == 0 {
		return nil
	}

	holders, err := f.o.Tokens.Holders(ctx, slices.Collect(maps.Keys(tokens)))
	if err != nil {
		return err
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.access = holders
	f.looks++
	for follower := range f.followers {
		holder, known := holders[follower.token]
		if err := f.permit(holder, known); err != nil && tokens[follower.token] {
			follower.dismissed = err
			follower.group.wake()
		}
	}

	return nil
}

// permit reports whether the holder of a token, if any, may follow.
func (f *Feed) permit(holder account.Holder, known bool) error {
	if !known {
		return fault.New(fault.Unauthenticated, "this token is unknown")
	}
	return f.o.Permit(holder)
}
