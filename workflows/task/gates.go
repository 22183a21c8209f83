package task

import (
	"context"
	"sync"
)

// inFlight is how many updates this process has under way for one task: a server with its usual settings takes ten.
const inFlight = 8

// gates lets few through to each task at a time.
type gates struct {
	mu   sync.Mutex
	open map[int64]*gate
}

type gate struct {
	places chan struct{}
	users  int // inside or waiting
}

// enter gives the function that leaves a place, and says whether it had to wait for one.
func (g *gates) enter(ctx context.Context, taskID int64) (leave func(), waited bool, err error) {
	g.mu.Lock()
	if g.open == nil {
		g.open = map[int64]*gate{}
	}
	one := g.open[taskID]
	if one == nil {
		one = &gate{places: make(chan struct{}, inFlight)}
		g.open[taskID] = one
	}
	one.users++
	g.mu.Unlock()
	forget := func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if one.users--; one.users == 0 {
			delete(g.open, taskID)
		}
	}
	leave = func() { <-one.places; forget() }
	select {
	case one.places <- struct{}{}:
		return leave, false, nil
	default:
	}
	select {
	case one.places <- struct{}{}:
		return leave, true, nil
	case <-ctx.Done():
		forget()
		return nil, true, ctx.Err()
	}
}
