package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"stagecoach/internal/app"
	"stagecoach/internal/fault"
)

// TestStartsThroughAnOutage begins a workflow while PostgreSQL or Temporal is away for a moment: the worker waits, and
// does not end.
func TestStartsThroughAnOutage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var asked atomic.Int64
	p := process{&app.Connections{Log: slog.New(slog.DiscardHandler)}}
	err := p.keepRunning(ctx, "a workflow", func() error {
		if asked.Add(1) <= 2 {
			return fault.New(fault.StoreUnavailable, "the database cannot be reached")
		}
		return nil
	})
	if err != nil || asked.Load() != 3 {
		t.Errorf("started %d times, %v", asked.Load(), err)
	}
}
