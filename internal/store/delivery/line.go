package delivery

import (
	"context"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/core"
)

// longLine is how many jobs may wait while places are counted. It is a literal in the statement: with a parameter
// PostgreSQL would plan for any number, and scan the table.
const longLine = `10000`

// Line returns the places in the queue of all queued jobs. Users take turns, so a job's place counts one job of each
// other user for each of its own user's jobs. While more than 10,000 jobs wait it returns none: counting would read
// them all.
//
// The answer may come from a reading that began up to age before this call; with age 0 it includes everything written
// before the call. Callers share it and must not change it.
func (s *Store) Line(ctx context.Context, age time.Duration) (map[int64]int, error) {
	return s.line.places(ctx, age)
}

// readLine reads at most 10,001 rows, by the index jobs_live.
func (s *Store) readLine(ctx context.Context) (map[int64]int, error) {
	inOrder, err := core.Values[int64](ctx, s.db, `WITH waiting AS (
			SELECT id, user_id FROM jobs WHERE state = `+core.Literal(lifecycle.DeliveryQueued)+` ORDER BY id LIMIT `+longLine+` + 1
		), turns AS (
			SELECT id, row_number() OVER (PARTITION BY user_id ORDER BY id) AS turn FROM waiting WHERE (SELECT count(*) FROM waiting) <= `+longLine+`
		) SELECT id FROM turns ORDER BY turn, id`)

	places := make(map[int64]int, len(inOrder))
	for i, id := range inOrder {
		places[id] = i + 1
	}
	return places, err
}

// line shares readings of the places in the queue. One runs at a time and serves every caller that asked before it
// began, so that the cost does not grow with the number of callers. It is safe for concurrent use.
type line struct {
	read func(context.Context) (map[int64]int, error)
	last chan reading // holds one; the caller that takes it may read anew
}

// reading holds the places of all jobs that waited at a moment.
type reading struct {
	began time.Time
	jobs  map[int64]int
}

func newLine(read func(context.Context) (map[int64]int, error)) line {
	l := line{read, make(chan reading, 1)}
	l.last <- reading{}
	return l
}

func (l line) places(ctx context.Context, age time.Duration) (jobs map[int64]int, err error) {
	oldest := time.Now().Add(-age)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case last := <-l.last:
		if last.began.Before(oldest) {
			began := time.Now()
			if jobs, err = l.read(ctx); err == nil {
				last = reading{began, jobs}
			}
		}
		l.last <- last
		return last.jobs, err
	}
}
