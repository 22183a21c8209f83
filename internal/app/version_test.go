package app

import (
	"runtime"
	"strings"
	"testing"
)

// TestThisBuild names the version, and the Go version with which the test was built.
func TestThisBuild(t *testing.T) {
	t.Parallel()
	b := ThisBuild()
	if b.Version != Version || b.Commit == "" || !strings.HasPrefix(runtime.Version(), b.Go) {
		t.Errorf("got %+v", b)
	}
	if want := "Stagecoach " + Version + ", commit "; !strings.HasPrefix(b.String(), want) {
		t.Errorf("%q does not begin with %q", b, want)
	}
}

// TestAsksVersion with the one argument that does, and with none, others or more.
func TestAsksVersion(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]bool{"version": true, "--version": true, "": false, "serve": false, "version now": false} {
		if got := AsksVersion(strings.Fields(args)); got != want {
			t.Errorf("%q: %t", args, got)
		}
	}
}
