package outbound

import (
	"context"
	"sync"
	"time"
)

// Reading caches another system's last answer, so that a page opened by many people queries it only once in a while. It
// is safe for concurrent use. The zero value has made no query yet.
type Reading[T any] struct {
	mu    sync.Mutex // held during a query: other callers wait for the same answer
	value T
	err   error
	at    time.Time
}

const (
	askTime   = 5 * time.Second // for one query
	failedAge = 5 * time.Second // how long a failure is cached
)

// Get returns the last answer and its time. It queries again if the answer is older than age, and does not abort when
// its caller leaves.
func (r *Reading[T]) Get(
	ctx context.Context, age time.Duration, ask func(context.Context) (T, error),
) (value T, at time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.err != nil {
		age = failedAge
	}

	if !r.at.IsZero() && time.Since(r.at) < age {
		return r.value, r.at, r.err
	}

	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()

	r.value, r.err = ask(limited)
	r.at = time.Now()
	return r.value, r.at, r.err
}
