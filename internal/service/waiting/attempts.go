package waiting

import (
	"slices"
	"sync"
)

// mostChoosers limits the number of tasks that one caller reads to choose from.
const mostChoosers = 50

// Attempts are the tasks that callers of this process try to claim as their next one: other callers choose other tasks.
// The zero value is ready for use.
type Attempts struct {
	mu       sync.Mutex
	tried    map[int64]bool
	choosing int // callers who read what they may choose from
}

// Choose chooses the first of the tasks that read returns and that nobody tries; 0: there is none. read gets the tasks
// that others try, and how many tasks to return at most: each of the callers who choose now may get another one. The
// task is tried until LetGo.
func (a *Attempts) Choose(read func(tried []int64, limit int) ([]int64, error)) (id int64, err error) {
	for {
		found, err := read(a.begin())
		if id := a.pick(found); id != 0 || len(found) == 0 || err != nil {
			return id, err
		}
		// others, who have read at the same time, try all of them
	}
}

// begin returns the tasks that others try, and how many to choose from.
func (a *Attempts) begin() (tried []int64, limit int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.tried {
		tried = append(tried, id)
	}
	a.choosing++
	return tried, min(a.choosing, mostChoosers)
}

// pick takes the first task that nobody tries; 0: there is none.
func (a *Attempts) pick(found []int64) int64 {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.choosing--
	at := slices.IndexFunc(found, func(id int64) bool { return !a.tried[id] })
	if at < 0 {
		return 0
	}

	if a.tried == nil {
		a.tried = map[int64]bool{}
	}

	a.tried[found[at]] = true
	return found[at]
}

// LetGo ends a try.
func (a *Attempts) LetGo(id int64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tried, id)
}
