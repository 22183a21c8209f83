// Package doctor checks whether a process reaches the systems that it is configured for, and which account it has
// there, with the process's own credentials. A check renews nothing and buys nothing.
package doctor

import (
	"context"
	"slices"
	"sync"
	"time"

	"stagecoach/internal/fault"
)

// checkTime is for one check, the wait for a system's rate limit included.
const checkTime = 20 * time.Second

// State is the result of a check of a system.
type State string

// States of checks. Only StateWorks and StateOff need no action.
const (
	StateWorks       State = "works"
	StateRefused     State = "refused"     // the system answers, and refuses the process's work
	StateUnreachable State = "unreachable" // no answer, or a failure that may pass
	StateUnverified  State = "unverified"  // only a renewal or a purchase could prove it
	StateOff         State = "off"         // nothing is configured
)

// Result is what a check has found. It contains no secret and no person's name.
type Result struct {
	System  string
	State   State
	Account string // the account of the process there; empty: unknown
	Detail  string
	Code    fault.Code // empty: there is no failure
	Next    string     // what an administrator can do; empty: nothing
}

// Check checks one system.
type Check struct {
	System string
	Run    func(context.Context) Result // leaves the system's name out
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

// Works reports whether everything that is configured works.
func Works(found []Result) bool {
	return !slices.ContainsFunc(found, func(r Result) bool { return r.State != StateWorks && r.State != StateOff })
}
