package deliveries

import (
	"context"
	"time"
)

// lineAge is how long a reading of the line serves live messages: those of a tick need one, however many wait.
const lineAge = time.Second

// line tells places in the queue. It is safe for concurrent use.
type line struct {
	read func(context.Context) (map[int64]int, error)
	last chan reading // has one; who takes it may read anew
}

// reading is the places of all jobs that waited at a moment.
type reading struct {
	at     time.Time
	places map[int64]int
}

func newLine(read func(context.Context) (map[int64]int, error)) line {
	l := line{read, make(chan reading, 1)}
	l.last <- reading{}
	return l
}

// place returns a job's place; 0: the job did not wait yet, or no longer, or too many wait to count them.
func (l line) place(ctx context.Context, id int64) (place int, err error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case last := <-l.last:
		if time.Since(last.at) > lineAge {
			var places map[int64]int
			if places, err = l.read(ctx); err == nil {
				last = reading{time.Now(), places}
			}
		}
		l.last <- last
		return last.places[id], err
	}
}
