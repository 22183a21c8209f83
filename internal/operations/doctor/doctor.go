// Package doctor checks whether a process reaches its configured systems, and which account it has there, with the
// process's own credentials. A check renews nothing and buys nothing.
package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"stagecoach/internal/fault"
)

// checkTime bounds one check, including the wait for a system's rate limit.
const checkTime = 20 * time.Second

// State is the result of checking a system.
type State string

// States of checks. Only StateWorks and StateOff need no action.
const (
	StateWorks       State = "works"
	StateRefused     State = "refused"     // the system answers, but refuses the process's work
	StateUnreachable State = "unreachable" // no answer, or a failure that may pass
	StateUnverified  State = "unverified"  // only a renewal or a purchase could prove it
	StateOff         State = "off"         // nothing is configured
)

// Result is what a check found. It contains no secret and no person's name.
type Result struct {
	System  string
	State   State
	Account string // the process's account there; empty: unknown
	Detail  string
	Code    fault.Code // empty: no failure
	Next    string     // what an administrator can do; empty: nothing
}

// Check checks one system.
type Check struct {
	System string
	Run    func(context.Context) Result // omits the system's name
}

// Run runs all checks in parallel, and returns their results in the same order.
func Run(ctx context.Context, checks []Check) []Result {
	found := make([]Result, len(checks))
	var running sync.WaitGroup
	for i, check := range checks {
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

// Works reports whether everything configured works.
func Works(found []Result) bool {
	return !slices.ContainsFunc(found, func(r Result) bool { return r.State != StateWorks && r.State != StateOff })
}
