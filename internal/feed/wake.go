package feed

import (
	"context"
	"slices"
	"time"
)

// A thousand followers woken at once keep all processors busy for tens of milliseconds, while other requests wait. So
// they are woken in groups, with pauses in between.
const (
	groupSize  = 25
	groupPause = 5 * time.Millisecond
	wakeSpread = 250 * time.Millisecond // all groups have been woken within this time
)

// group holds followers that are woken together. The feed's lock guards it.
type group struct {
	members int
	changed chan struct{} // closed to wake them
}

func (g *group) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

// wakeAll wakes all followers at once. The lock must be held.
func (f *Feed) wakeAll() {
	for _, g := range f.groups {
		g.wake()
	}
}

// keepWaking wakes one group after the other when there are events, until ctx ends.
func (f *Feed) keepWaking(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-f.news:
			f.wakeInTurn(ctx)
		}
	}
}

func (f *Feed) wakeInTurn(ctx context.Context) {
	f.mu.Lock()
	groups := slices.DeleteFunc(slices.Clone(f.groups), func(g *group) bool { return g.members == 0 })
	f.mu.Unlock()
	if len(groups) == 0 {
		return
	}

	pause := time.NewTicker(min(groupPause, wakeSpread/time.Duration(len(groups))))
	defer pause.Stop()

	for _, g := range groups {
		f.mu.Lock()
		g.wake()
		f.mu.Unlock()

		select {
		case <-ctx.Done(): // all are woken at the end
			return
		case <-pause.C:
		}
	}
}
