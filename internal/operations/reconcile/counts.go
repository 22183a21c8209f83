package reconcile

import (
	"context"
	"log/slog"
	"sync"

	"stagecoach/internal/store/operations"
)

// CountStore is what the counts need of the record.
type CountStore interface {
	FoldCounts(ctx context.Context) error
	CheckCounts(ctx context.Context) (differences []operations.Count, err error)
}

// Counts maintains the counts that a status shows: it adds up what transitions have noted, and compares with the rows.
type Counts struct {
	Store       CountStore
	Log         *slog.Logger
	OnCorrected func(kind string) // counts differences; nil: not counted

	comparing sync.Mutex // held while this process compares
	running   sync.WaitGroup
}

// keep adds up, which takes milliseconds, and starts a comparison in the background for counts that were not compared
// for an hour: a comparison reads complete tables.
func (c *Counts) keep(ctx context.Context) {
	if err := c.Store.FoldCounts(ctx); err != nil {
		c.failed(ctx, err)
		return
	}
	if c.comparing.TryLock() {
		c.running.Go(func() {
			defer c.comparing.Unlock()
			c.compare(ctx)
		})
	}
}

// wait waits until a comparison has ended.
func (c *Counts) wait() { c.running.Wait() }

func (c *Counts) compare(ctx context.Context) {
	differences, err := c.Store.CheckCounts(ctx)
	if err != nil {
		c.failed(ctx, err)
	}
	for _, d := range differences {
		c.Log.Warn("a count differed from the rows and was corrected", "kind", d.Kind, "state", d.Key, "rows", d.N)
		if c.OnCorrected != nil {
			c.OnCorrected(d.Kind)
		}
	}
}

func (c *Counts) failed(ctx context.Context, err error) {
	if ctx.Err() == nil {
		c.Log.Warn("counts are not kept", "error", err) // an outage: the next round repeats it
	}
}
