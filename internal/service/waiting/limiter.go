// Package waiting holds the callers of a process that wait their turn: for an update of a task, or for a task that is
// ready.
package waiting

import (
	"context"
	"slices"
	"sync"
)

// inFlight is how many updates of one task this process has in flight: a Temporal server with default settings accepts
// ten.
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

// Enter waits for a slot, returns the function that releases it, and reports whether it had to wait.
func (l *Limiter) Enter(ctx context.Context, taskID int64) (leave func(), waited bool, err error) {
	one := l.join(taskID)
	leave = func() { <-one.places; l.forget(taskID) }

	select {
	case one.places <- struct{}{}:
		return leave, false, nil
	default:
	}

	select {
	case one.places <- struct{}{}:
		return leave, true, nil
	case <-ctx.Done():
		l.forget(taskID)
		return nil, true, ctx.Err()
	}
}

func (l *Limiter) join(taskID int64) *limited {
	l.mu.Lock()
	defer l.mu.Unlock()

	if l.open == nil {
		l.open = map[int64]*limited{}
	}
	if l.open[taskID] == nil {
		l.open[taskID] = &limited{places: make(chan struct{}, inFlight)}
	}

	one := l.open[taskID]
	one.users++
	return one
}

func (l *Limiter) forget(taskID int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	one := l.open[taskID]
	if one.users--; one.users == 0 {
		delete(l.open, taskID)
	}
}

// Tries holds the tasks that callers of this process are trying to claim next: each caller tries another one. The zero
// value is ready for use.
type Tries struct {
	mu    sync.Mutex
	tried map[int64]bool
}

const (
	fewChoices  = 8
	MostChoices = 1000 // a caller that has read this many, all being tried, does not read again
)

// Choices is how many tasks a caller reads to choose from: enough for all concurrent callers to find one each.
func (t *Tries) Choices() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return min(2*len(t.tried)+fewChoices, MostChoices)
}

// Begin reserves the first of the tasks that no caller is trying; 0: there is none.
func (t *Tries) Begin(tasks []int64) (taskID int64) {
	t.mu.Lock()
	defer t.mu.Unlock()

	at := slices.IndexFunc(tasks, func(id int64) bool { return !t.tried[id] })
	if at < 0 {
		return 0
	}
	if t.tried == nil {
		t.tried = map[int64]bool{}
	}

	t.tried[tasks[at]] = true
	return tasks[at]
}

func (t *Tries) End(taskID int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.tried, taskID)
}
