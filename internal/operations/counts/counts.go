// Package counts keeps the counts of rows that a status shows.
package counts

import (
	"context"
	"log/slog"
	"time"
)

// every is the time between two attempts of a process. The record counts at most once in ten seconds, so a count is 15
// seconds old at most while any process runs.
const every = 5 * time.Second

// Store is what the counts need of the record.
type Store interface {
	RefreshCounts(ctx context.Context) error
}

// Keeper counts repeatedly. It runs in each process, and one of them counts.
type Keeper struct {
	Store Store
	Log   *slog.Logger
}

// Run counts until ctx ends.
func (k Keeper) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()

	for {
		if err := k.Store.RefreshCounts(ctx); err != nil && ctx.Err() == nil {
			k.Log.Warn("the rows were not counted", "error", err) // an outage: the next round repeats it
		}

		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
