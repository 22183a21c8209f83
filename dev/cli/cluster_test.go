package cli

import (
	"strings"
	"testing"

	"stagecoach/dev/night"
)

// TestClusterDev runs the demonstration on a cluster, and again on the state that the first run left.
func TestClusterDev(t *testing.T) {
	skipInShort(t)
	night.Only(t)
	state := newState(t)
	first := launch(t, "--cluster", "--once", "--state", state)
	if code := first.wait(patience); code != 0 || !strings.Contains(first.output(), "All 10 ended as expected") {
		t.Fatalf("exit code %d", code)
	}

	second := launch(t, "--cluster", "--once", "--state", state)
	if code := second.wait(patience); code != 0 || !strings.Contains(second.output(), "earlier run: 10") {
		t.Errorf("exit code %d of the second run", code)
	}

	foreign := launchWith(t, []string{"DATABASE_URL=postgres://127.0.0.1:1/none"}, "--cluster", "--state", newState(t))
	if code := foreign.wait(patience); code == 0 || !strings.Contains(foreign.output(), "unset DATABASE_URL") {
		t.Errorf("exit code %d with somebody's PostgreSQL", code)
	}
}
