package service

import (
	"context"
	"sync"
)

// inFlight is how many updates this process has under way for one task: a server with its usual settings takes ten.
const inFlight = 8

// limiter lets few through to each task at a time.
type limiter struct {
	mu   sync.Mutex
	open map[int64]*limited
}

type limited struct {
	places chan struct{}
	users  int // inside or waiting
}

// enter gives the function that leaves a place, and says whether it had to wait for one.
func (g *limiter) enter(ctx context.Context, taskID int64) (leave func(), waited bool, err error) {
	g.mu.Lock()
	if g.open == nil {
		g.open = map[int64]*limited{}
	}

	one := g.open[taskID]
	if one == nil {
		one = &limited{places: make(chan struct{}, inFlight)}
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
