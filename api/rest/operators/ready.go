package operators

import (
	"cmp"
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/core"
)

const (
	readyTime  = 2 * time.Second // timeout of each service
	readyFresh = time.Second     // how long a result is reused: requests need no token and have no rate limit
)

// readiness checks PostgreSQL and Temporal at most once a second, regardless of the number of requests.
type readiness struct {
	mu      sync.Mutex
	current *readyCheck // the last check, or the one in flight; nil: none yet
}

// readyCheck is one check of both services.
type readyCheck struct {
	done  chan struct{} // closed when the fields below are set
	ended time.Time
	body  shape.Ready
	err   error
}

// stale reports whether a check ended too long ago. The caller holds the lock of its readiness.
func (c *readyCheck) stale() bool {
	select {
	case <-c.done:
		return time.Since(c.ended) > readyFresh
	default:
		return false
	}
}

func (h *handlers) getReady(ctx context.Context, _ *struct{}) (none shape.Ready, err error) {
	check := h.recentCheck(ctx)
	select {
	case <-check.done:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	return check.body, check.err
}

// recentCheck returns the check that is fresh or in flight, or starts one. A check is not canceled with the request
// that started it, because others wait for it.
func (h *handlers) recentCheck(ctx context.Context) *readyCheck {
	h.ready.mu.Lock()
	defer h.ready.mu.Unlock()

	if c := h.ready.current; c != nil && !c.stale() {
		return c
	}

	c := &readyCheck{done: make(chan struct{})}
	h.ready.current = c
	go func() {
		ctx, cancel := context.WithTimeout(core.Reserved(context.WithoutCancel(ctx)), readyTime)
		defer cancel()
		c.body, c.err = h.checkReady(ctx)
		c.ended = time.Now()
		close(c.done)
	}()

	return c
}

// checkReady checks both services: the database must accept writes too.
func (h *handlers) checkReady(ctx context.Context) (shape.Ready, error) {
	noStore := h.Store.Operations.Ping(ctx)
	_, noTemporal := h.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	body := shape.Ready{Postgres: noStore == nil, Temporal: noTemporal == nil}

	var refusal *fault.Error
	switch {
	case noStore != nil:
		refusal = cmp.Or(fault.As(noStore), fault.New(fault.StoreUnavailable, "the database cannot be reached").WithCause(noStore))
	case noTemporal != nil:
		refusal = fault.New(fault.TemporalUnavailable, "the workflow service cannot be reached").WithCause(noTemporal)
	default:
		return body, nil
	}

	return body, refusal.With("postgres", body.Postgres).With("temporal", body.Temporal)
}
