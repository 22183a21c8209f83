package feed

import (
	"context"
	"errors"
	"sort"
	"time"

	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// ErrOver ends all followers: the process is stopping.
var ErrOver = errors.New("the process stops")

// Follower receives the events after a position in the stream. It is confined to one goroutine.
type Follower struct {
	feed   *Feed
	user   account.User // as it was at the start
	of     limited      // at the start
	token  string
	cursor core.Cursor

	group *group // with which it is woken

	// The numbers of batches and of access reads before it joined: they do not include its user, or are outdated.
	joined, looks int

	dismissed error // guarded by the feed's lock
}

// Cursor is the position up to which the follower has seen all events visible to it.
func (w *Follower) Cursor() core.Cursor { return w.cursor }

// Next returns the texts of events visible to the follower, and moves its cursor past them and past hidden ones. The
// text is empty if there were no events within patience, or if only the cursor has moved by a page. Other followers
// read the same text: do not change it.
func (w *Follower) Next(ctx context.Context, patience time.Duration) ([]byte, error) {
	timer := time.NewTimer(patience)
	defer timer.Stop()

	for {
		b, place, changed, err := w.look()
		switch {
		case err != nil:
			return nil, err
		case place == behind:
			return w.catchUp(ctx)
		case place == within:
			if text := w.take(b); len(text) > 0 {
				return text, nil
			}
			continue
		}

		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return nil, nil
		case <-changed:
		}
	}
}

// place is a follower's position relative to the events that the feed has read.
type place int

const (
	atEnd  place = iota // it has seen all
	within              // the next batch is in the window, with the follower's access
	behind              // it must read the record for itself
)

// look finds the next batch.
func (w *Follower) look() (batch, place, <-chan struct{}, error) {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()

	switch {
	case w.dismissed != nil:
		return batch{}, atEnd, nil, w.dismissed
	case f.over:
		return batch{}, atEnd, nil, ErrOver
	case !f.begun || !w.cursor.Before(f.through()):
		return batch{}, atEnd, w.group.changed, nil
	case w.cursor.Before(f.start):
		return batch{}, behind, nil, nil
	}

	if holder, known := f.access[w.token]; known && f.looks > w.looks {
		w.user = holder.User
	}

	next := f.batches[sort.Search(len(f.batches), func(i int) bool { return w.cursor.Before(f.batches[i].through) })]
	if next.number <= w.joined || !next.asked[w.user.ID] {
		return batch{}, behind, nil, nil
	}
	return next, within, nil, nil
}

// take returns the part of a batch visible to the follower. It is a slice of the batch's own text, unless a hidden
// event is in between.
func (w *Follower) take(b batch) (text []byte) {
	begin, end := 0, 0 // of the part
	for _, event := range b.events {
		if !w.cursor.Before(event.Cursor()) || !b.audience.Sees(w.user, event.StreamedEvent) {
			continue
		}

		switch {
		case text == nil:
			begin, end = event.begin, event.end
			text = b.text[begin:end:end]
		case end == event.begin:
			end = event.end
			text = b.text[begin:end:end]
		default:
			end = -1 // from here on it is a copy
			text = append(text, b.text[event.begin:event.end]...)
		}
	}

	w.cursor = b.through
	return text
}

// catchUp reads a page of the record for this follower alone. The number of such followers at a time, one per person,
// and of their pages per second are limited, so that other statements do not wait for them.
func (w *Follower) catchUp(ctx context.Context) ([]byte, error) {
	f := w.feed
	f.mu.Lock()
	through, turn := f.through(), f.people[w.of].turn
	f.mu.Unlock()
	leave, err := enter(ctx, turn, f.pages)
	if err != nil {
		return nil, err
	}
	defer leave()

	if err := f.rate.Wait(ctx); err != nil {
		return nil, err
	}

	found, err := f.o.Events.EventsAfter(ctx, w.cursor, page)
	if err != nil {
		return nil, err
	}

	holders, err := f.o.Tokens.Holders(ctx, []string{w.token})
	if err != nil {
		return nil, err
	}

	holder, known := holders[w.token]
	if err := f.permit(holder, known); err != nil {
		return nil, err
	}

	audience, err := f.o.Events.AudienceOf(ctx, found, []int64{holder.User.ID})
	if err != nil {
		return nil, err
	}

	w.user = holder.User
	b := batch{audience: audience, through: through}
	if err := b.render(found, f.o.Render); err != nil {
		return nil, err
	}

	if len(found) > 0 {
		if last := found[len(found)-1].Cursor(); len(found) == page || through.Before(last) {
			b.through = last
		}
	}
	return w.take(b), nil
}

// enter takes a slot of each channel, and returns the function that returns the slots.
func enter(ctx context.Context, places ...chan struct{}) (leave func(), err error) {
	taken := 0
	leave = func() {
		for _, place := range places[:taken] {
			<-place
		}
	}

	for _, place := range places {
		select {
		case place <- struct{}{}:
			taken++
		case <-ctx.Done():
			leave()
			return nil, ctx.Err()
		}
	}

	return leave, nil
}
