package feed

import (
	"context"
	"slices"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

const (
	adminReserve = 20              // extra followers beyond the total limit, for administrators
	fullPause    = 5 * time.Second // after which another process, or this one, may have room
	floorFresh   = time.Minute
)

// Follow makes a follower for a user identified by a token: from a position in the stream, or with nil from now on. The
// caller must call Leave. QUOTA_EXCEEDED: the user's person has too many followers; STREAMS_FULL: the process has too
// many; CURSOR_GONE: events after the position may be deleted, or are too many.
func (f *Feed) Follow(ctx context.Context, user account.User, token string, from *core.Cursor) (*Follower, error) {
	w := &Follower{feed: f, user: user, of: limited{user.PersonID(), user.IsAdmin()}, token: token}
	if err := f.enrol(w); err != nil {
		return nil, err
	}

	var err error
	if w.cursor, err = f.begin(ctx, from); err != nil {
		w.Leave()
		return nil, err
	}
	return w, nil
}

// begin returns a follower's starting position.
func (f *Feed) begin(ctx context.Context, from *core.Cursor) (core.Cursor, error) {
	if from == nil {
		return f.o.Events.EventsNow(ctx)
	}
	return *from, f.Check(ctx, *from)
}

// enrol counts a follower, unless there are too many, in total or for its person.
func (f *Feed) enrol(w *Follower) error {
	f.mu.Lock()
	defer f.mu.Unlock()

	total := f.o.Total
	if w.of.admin {
		total += adminReserve
	}

	if f.o.Total > 0 && len(f.followers) >= total {
		return fault.New(fault.StreamsFull, "this process has reached its limit of event streams").After(fullPause)
	}

	of := f.people[w.of]
	if of != nil && f.o.PerPerson > 0 && of.followers >= f.o.PerPerson && !w.of.admin {
		return fault.New(
			fault.QuotaExceeded, "the limit of %d streams is reached", f.o.PerPerson,
		).With("limit", "streams").With("maximum", f.o.PerPerson)
	}

	if of == nil {
		of = &person{turn: make(chan struct{}, 1)}
		f.people[w.of] = of
	}
	if f.users[w.user.ID] == 0 {
		f.asked = nil
	}

	of.followers++
	f.users[w.user.ID]++
	f.followers[w] = true
	at := slices.IndexFunc(f.groups, func(g *group) bool { return g.members < groupSize })
	if at < 0 {
		at = len(f.groups)
		f.groups = append(f.groups, &group{changed: make(chan struct{})})
	}
	w.group = f.groups[at]
	w.group.members++
	w.joined, w.looks = f.number, f.looks
	f.count()
	return nil
}

// Leave ends a follower.
func (w *Follower) Leave() {
	f := w.feed
	f.mu.Lock()
	defer f.mu.Unlock()

	delete(f.followers, w)
	w.group.members--
	of := f.people[w.of]
	if of.followers--; of.followers == 0 {
		delete(f.people, w.of)
	}
	if f.users[w.user.ID]--; f.users[w.user.ID] == 0 {
		delete(f.users, w.user.ID)
		f.asked = nil
	}

	f.count()
}

func (f *Feed) count() {
	if f.o.OnFollowers != nil {
		f.o.OnFollowers(len(f.followers))
	}
}

// floor is the earliest position from which a follower may begin.
type floor struct {
	at           time.Time
	back, before core.Cursor // the position CatchUp events ago; the one returned previously, which stays valid
}

// Check refuses a position after which events were deleted, or after which there are too many.
func (f *Feed) Check(ctx context.Context, from core.Cursor) error {
	deleted, err := f.o.Events.EventFloor(ctx)
	if err != nil {
		return err
	}

	f.mu.Lock()
	fresh := f.begun && !from.Before(f.start) && !f.through().Before(from)
	f.mu.Unlock()
	if fresh && !from.Before(deleted) {
		return nil
	}

	back, refused, err := f.back(ctx)
	if err != nil {
		return err
	}

	oldest := back
	if oldest.Before(deleted) {
		oldest = deleted
	}

	if from.Before(deleted) || from.Before(refused) {
		return fault.New(
			fault.CursorGone, "events after this one are deleted, or are too many: begin at details.oldest",
		).With("oldest", oldest.String())
	}

	end, err := f.o.Events.EventsEnd(ctx)
	if err == nil && !from.Before(end) {
		err = fault.New(
			fault.CursorGone, "this id is of another record: begin at details.oldest",
		).With("oldest", oldest.String())
	}
	return err
}

// back returns the position at which a refused follower should begin, and the position before which followers are
// refused. A returned position stays valid for a while.
func (f *Feed) back(ctx context.Context) (told, refused core.Cursor, err error) {
	if f.o.CatchUp == 0 {
		return core.Cursor{}, core.Cursor{}, nil
	}

	f.mu.Lock()
	known := f.floor
	f.mu.Unlock()
	if time.Since(known.at) < floorFresh {
		return known.back, known.before, nil
	}

	told, err = f.o.Events.EventsBack(ctx, f.o.CatchUp)
	if err != nil {
		return told, refused, err
	}

	refused = known.back
	if known.at.IsZero() {
		refused = told
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	f.floor = floor{at: time.Now(), back: told, before: refused}
	return told, refused, nil
}
