// Package night marks long tests: make test skips them. A prefix of their names says which part of make night runs
// them.
package night

import (
	"os"
	"regexp"
	"testing"
)

// Wanted is the environment variable that enables long tests.
const Wanted = "STAGECOACH_NIGHT"

// Enabled reports whether long tests run.
func Enabled() bool { return os.Getenv(Wanted) != "" }

// parts are the prefixes that the Makefile names.
var parts = regexp.MustCompile(`^Test(Night|Cluster|Versions|Containers|Debian)`)

// Only skips a test unless long tests are enabled.
func Only(t testing.TB) {
	t.Helper()
	if !parts.MatchString(t.Name()) {
		t.Fatalf("no part of make night runs a test of this name: %s", parts)
	}
	if !Enabled() {
		t.Skip("takes long: make night runs it")
	}
}
