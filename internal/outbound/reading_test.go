package outbound_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"stagecoach/internal/outbound"
)

// TestReading queries once for many callers, again when the answer is old, and caches a failure for a while too.
func TestReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // a failure is kept for a while, and no time passes
		var r outbound.Reading[int64]
		var asked atomic.Int64
		ask := func(context.Context) (int64, error) { return asked.Add(1), nil }

		var all sync.WaitGroup
		for range 50 {
			all.Go(func() {
				if got, at, err := r.Get(t.Context(), time.Hour, ask); got != 1 || err != nil || at.IsZero() {
					t.Errorf("got %d, %v, %v", got, at, err)
				}
			})
		}

		all.Wait()

		if got, _, err := r.Get(t.Context(), 0, ask); got != 2 || err != nil {
			t.Errorf("an old answer: got %d, %v", got, err)
		}

		away := errors.New("away")
		gone, leave := context.WithCancel(t.Context())
		leave()
		for range 2 {
			_, _, err := r.Get(
				gone, 0, func(ctx context.Context) (int64, error) { asked.Add(1); return 0, errors.Join(away, ctx.Err()) },
			)
			if !errors.Is(err, away) || errors.Is(err, context.Canceled) {
				t.Errorf("a failure: %v", err)
			}
		}

		if n := asked.Load(); n != 3 {
			t.Errorf("asked %d times, want 3", n)
		}
	})
}
