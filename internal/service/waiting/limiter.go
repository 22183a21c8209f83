package waiting

import (
	"context"
	"sync"
)

// inFlight is how many updates of one task this process has in flight: a Temporal server with its default settings
// accepts ten.
const inFlight = 8

// Limiter limits the updates in flight per task. The zero value is ready for use.
type Limiter struct {
	mu   sync.Mutex
	open map[int64]*limited
}

type limited struct {
	places chan struct{}
	users  int // inside or waiting
}

// Enter waits for a place, returns the function that frees it, and reports whether it had to wait.
func (g *Limiter) Enter(ctx context.Context, taskID int64) (leave func(), waited bool, err error) {
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
