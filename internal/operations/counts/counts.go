// Package counts maintains the row counts shown by an overview.
package counts

import (
	"context"
	"log/slog"
	"time"
)

// every is the interval between a process's attempts. The record counts at most once in ten seconds, so a count is at
// most 15 seconds old while any process runs.
const every = 5 * time.Second

// Store is what the counts need from the record.
type Store interface {
	RefreshCounts(ctx context.Context) (counted bool, err error)
}

// Keeper counts repeatedly. It runs in each process, and one of them counts.
type Keeper struct {
	Store Store
	Log   *slog.Logger
	// work that one process, the one that has just counted, does for all, by its description in the log
	Then map[string]func(ctx context.Context) error
}

// Run counts until ctx ends.
func (k Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		counted, err := k.Store.RefreshCounts(ctx)
		k.report(ctx, "count the rows", err)
		if counted {
			for what, do := range k.Then {
				k.report(ctx, what, do(ctx))
			}
		}

		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// report logs a failure. In an outage the next round retries what failed.
func (k Keeper) report(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		k.Log.Warn("this process failed to "+what, "error", err)
	}
}
