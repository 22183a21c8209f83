package run

import (
	"context"
	"log/slog"
	"sync/atomic"
	"testing"

	"stagecoach/internal/app"
	"stagecoach/internal/fault"
)

// TestStartsThroughAnOutage runs a part's setup while PostgreSQL or Temporal is briefly unavailable, and stops the
// worker in an outage that does not end.
func TestStartsThroughAnOutage(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()

	away := fault.New(fault.StoreUnavailable, "the database cannot be reached")
	var asked atomic.Int64
	p := process{&app.Connections{Log: slog.New(slog.DiscardHandler)}}
	p.start(ctx, part{start: func(context.Context) error {
		if asked.Add(1) <= 2 {
			return away
		}
		return nil
	}})
	if asked.Load() != 3 {
		t.Errorf("started %d times", asked.Load())
	}

	p.start(ctx, part{start: func(context.Context) error {
		stop()
		return away
	}})
}
