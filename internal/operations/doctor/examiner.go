// Package doctor finds out whether each process reaches the systems that it is configured for, and who it is there. A
// process looks with its own credentials, once at its start and once per request of an administrator, and writes what
// it has found into the record. Nothing is renewed and nothing is bought for it.
package doctor

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"time"

	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
)

const (
	lookTime = 20 * time.Second // for one check, the wait for a system's rate included
	askEvery = 2 * time.Second  // between two looks into the record for a request
	lookRest = 5 * time.Second  // between two looks at the systems, however many ask
)

// Check looks at one system.
type Check struct {
	System string
	Look   func(context.Context) operations.Check // leaves the system's name out
}

// Examiner makes the checks of one process.
type Examiner struct {
	Store    Record
	Identity string // of the process, as in its heartbeat
	Checks   []Check
	Every    time.Duration // between two looks into the record for a request; default 2 s
	Rest     time.Duration // between two looks at the systems, at least; default 5 s
	Log      *slog.Logger
}

// Record is what an Examiner needs of the record.
type Record interface {
	LastCheckRequest(ctx context.Context) (operations.CheckRequest, error)
	SaveChecks(ctx context.Context, identity string, request int64, checks []operations.Check) error
}

// Run looks once, and again after requests, until ctx ends. However many ask, it rests between two looks; the second of
// them answers all who asked meanwhile. What cannot be saved is saved later: no system is asked twice for one request.
func (e *Examiner) Run(ctx context.Context) {
	ctx = core.Reserved(ctx) // administrators wait for it
	ticker := time.NewTicker(cmp.Or(e.Every, askEvery))
	defer ticker.Stop()

	var found []operations.Check
	var lookedAt time.Time
	answered, saved := int64(-1), true
	for {
		request, err := e.Store.LastCheckRequest(ctx)
		if err == nil && request.Number > answered && time.Since(lookedAt) >= cmp.Or(e.Rest, lookRest) {
			lookedAt = time.Now()
			found, answered, saved = e.look(ctx), request.Number, false
		}

		if !saved {
			saved = e.save(ctx, answered, found)
		}

		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// look makes all checks at once.
func (e *Examiner) look(ctx context.Context) []operations.Check {
	found := make([]operations.Check, len(e.Checks))
	var looking sync.WaitGroup
	for i, check := range e.Checks {
		looking.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, lookTime)
			defer cancel()
			found[i] = check.Look(ctx)
			found[i].System = check.System
		})
	}

	looking.Wait()
	return found
}

func (e *Examiner) save(ctx context.Context, request int64, found []operations.Check) bool {
	if ctx.Err() != nil { // the process ends: what it found says nothing
		return false
	}
	if err := e.Store.SaveChecks(ctx, e.Identity, request, found); err != nil {
		e.Log.Warn("checks are not saved", "error", err)
		return false
	}

	for _, c := range found {
		if !c.Good() {
			e.Log.Warn("a check has failed", "system", c.System, "state", c.State, "code", c.Code)
		}
	}
	return true
}
