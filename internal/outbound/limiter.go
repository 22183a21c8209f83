package outbound

import (
	"context"
	"time"

	"golang.org/x/time/rate"

	"stagecoach/internal/fault"
)

// Reserve takes one request out of an allowance that several processes share, and returns how long to wait before it. A
// request that could not go within patience is refused with RATE_LIMITED; every other error means that the allowance
// cannot be queried now.
type Reserve func(ctx context.Context, perSecond float64, burst int, patience time.Duration) (
	wait time.Duration, err error,
)

// Limiter lets requests go at a rate. With a Reserve the rate holds over all processes that share it; while the Reserve
// fails, and without one, the rate holds within this process.
type Limiter struct {
	perSecond float64
	burst     int
	reserve   Reserve
	own       *rate.Limiter
}

// NewLimiter makes a Limiter. After a pause the requests of one second, one at least, may go at once. reserve may be
// nil.
func NewLimiter(perSecond float64, reserve Reserve) *Limiter {
	burst := max(1, int(perSecond))
	return &Limiter{
		perSecond: perSecond, burst: burst, reserve: reserve, own: rate.NewLimiter(rate.Limit(perSecond), burst),
	}
}

const (
	reserveTimeout = 2 * time.Second // a shared allowance that answers later counts as unavailable
	mostPatience   = time.Minute     // the longest wait of a caller without a deadline
)

// Wait returns when the next request may go. Its error means that ctx ends before that, or that too many requests wait
// already.
func (l *Limiter) Wait(ctx context.Context) error {
	if l.reserve == nil {
		return l.own.Wait(ctx)
	}

	patience := mostPatience
	if deadline, ok := ctx.Deadline(); ok {
		patience = max(0, min(patience, time.Until(deadline)))
	}

	asking, cancel := context.WithTimeout(ctx, reserveTimeout)
	defer cancel()

	wait, err := l.reserve(asking, l.perSecond, l.burst, patience)

	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case fault.CodeOf(err) == fault.RateLimited:
		return err
	case err != nil:
		return l.own.Wait(ctx)
	}

	return sleep(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}

	timer := time.NewTimer(d)
	defer timer.Stop()

	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
