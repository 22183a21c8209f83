// Package wait has the one way in which tests wait for what happens later.
package wait

import (
	"testing"
	"time"
)

// Patience ends a test that waits in vain. It is longer than anything takes on a busy machine: a frozen worker takes work
// from the server as long as its requests are open, about a minute, and each task costs a heartbeat time-out. Package
// tests have 15 minutes.
const Patience = 5 * time.Minute

// Eventually waits until holds returns true, and fails the test after Patience. What holds cannot find out now, because a
// request fails for example, does not hold yet.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	pause := 5 * time.Millisecond
	for deadline := time.Now().Add(Patience); !holds(); time.Sleep(pause) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %s: %s", Patience, what)
		}
		pause = min(2*pause, 100*time.Millisecond) // many wait at a time
	}
}
