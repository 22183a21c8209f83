package temporalio_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/temporalio"
)

// TestWatchdog keeps an attempt whose loop progresses or waits, and reports that to Temporal, for longer than the
// heartbeat timeout.
func TestWatchdog(t *testing.T) {
	t.Parallel()
	h := testtemporal.NewHang()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	_ = h.Call(canceled)

	var steps atomic.Int32
	ends := h.Within(t, func(ctx context.Context) error {
		ctx, stop := temporalio.WithWatchdog(ctx)
		defer stop()

		limit := activity.GetInfo(ctx).HeartbeatTimeout
		for range 6 {
			// each takes less than the patience, all together more than the timeout
			_ = temporalio.LoopStep(ctx, func(context.Context) error {
				steps.Add(1)
				time.Sleep(limit / 4)
				return nil
			})
		}

		if temporalio.LoopWait(ctx, time.After(limit*5/4)) {
			_ = h.Call(ctx)
			temporalio.LoopWait(ctx, nil)
		}
		return temporalio.LoopOutcome(ctx)
	})
	if len(ends) != 1 || ends[0] != nil || steps.Load() != 6 {
		t.Errorf("after %d steps the attempts ended with %v", steps.Load(), ends)
	}
}

// TestProgressOfACommand reports progress outside an activity: starter restored iterates over the same pages of
// workflows as the reconciler.
func TestProgressOfACommand(t *testing.T) {
	t.Parallel()
	temporalio.Progressed(t.Context())
}
