// Package night marks long tests: make test skips them. A prefix of their names says which part of make night runs
// them.
package night

import (
	"flag"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Wanted is the environment variable that enables long tests.
const Wanted = "STAGECOACH_NIGHT"

// Enabled reports whether long tests run.
func Enabled() bool { return os.Getenv(Wanted) != "" }

// RapidChecks bounds how many cases each property of a package is tried with outside of make night, where they are rapid's
// hundred. A package's init calls it.
func RapidChecks(most int) {
	if !Enabled() {
		if err := flag.Set("rapid.checks", strconv.Itoa(most)); err != nil {
			panic(err) // rapid is not linked: a mistake in the test
		}
	}
}

// Cases are the cases of a test by their names: in the night all, else those that the test names.
func Cases[C any](t testing.TB, all map[string]C, always ...string) map[string]C {
	t.Helper()
	if Enabled() {
		return all
	}

	some := make(map[string]C, len(always))
	for _, name := range always {
		c, ok := all[name]
		if !ok {
			t.Fatalf("no case has this name: %s", name)
		}
		some[name] = c
	}
	return some
}

// parts are the prefixes that the Makefile names.
var parts = regexp.MustCompile(`^Test(Night|Long|Cluster|Versions|Containers|Debian)`)

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
