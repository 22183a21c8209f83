// Package doctor checks whether each process reaches the systems that it is configured for, and which account it has
// there. A process checks with its own credentials, once at its start and once per request of an administrator, and
// writes the results to the record. A check renews nothing and buys nothing.
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
	checkTime = 20 * time.Second // for one check, the wait for a system's rate limit included
	askEvery  = 2 * time.Second  // between two reads of the record for a request
	checkRest = 5 * time.Second  // between two checks of the systems, whatever the number of requests
)

// Check checks one system.
type Check struct {
	System string
	Run    func(context.Context) operations.Check // leaves the system's name out
}

// Examiner runs the checks of one process.
type Examiner struct {
	Store    Record
	Identity string // of the process, as in its heartbeat
	Checks   []Check
	Every    time.Duration // between two reads of the record for a request; default 2 s
	Rest     time.Duration // the least time between two checks of the systems; default 5 s
	Log      *slog.Logger
}

// Record is what an Examiner needs of the record.
type Record interface {
	LastCheckRequest(ctx context.Context) (operations.CheckRequest, error)
	SaveChecks(ctx context.Context, identity string, request int64, checks []operations.Check) error
}

// Run checks once, and again after requests, until ctx ends. It rests between two checks, whatever the number of
// requests; the second check answers all requests of the meantime. Results that cannot be saved are saved later: no
// system is checked twice for one request.
func (e *Examiner) Run(ctx context.Context) {
	ctx = core.Reserved(ctx) // administrators wait for it
	ticker := time.NewTicker(cmp.Or(e.Every, askEvery))
	defer ticker.Stop()

	var found []operations.Check
	var checkedAt time.Time
	answered, saved := int64(-1), true
	for {
		request, err := e.Store.LastCheckRequest(ctx)
		if err == nil && request.Number > answered && time.Since(checkedAt) >= cmp.Or(e.Rest, checkRest) {
			checkedAt = time.Now()
			found, answered, saved = e.check(ctx), request.Number, false
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

// check runs all checks in parallel.
func (e *Examiner) check(ctx context.Context) []operations.Check {
	found := make([]operations.Check, len(e.Checks))
	var running sync.WaitGroup
	for i, check := range e.Checks {
		running.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, checkTime)
			defer cancel()
			found[i] = check.Run(ctx)
			found[i].System = check.System
		})
	}

	running.Wait()
	return found
}

func (e *Examiner) save(ctx context.Context, request int64, found []operations.Check) bool {
	if ctx.Err() != nil { // the process is ending: its results mean nothing
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
