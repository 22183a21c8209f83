// Package night marks tests that take long: make test skips them. A prefix of their names says which part of make night
// runs them.
package night

import (
	"flag"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// Wanted is the environment variable that enables the tests that take long.
const Wanted = "STAGECOACH_NIGHT"

// Enabled says whether the tests that take long run.
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

// parts are the prefixes that the Makefile names.
var parts = regexp.MustCompile(`^Test(Night|Long|Cluster|Versions|Containers|Debian)`)

// Only skips a test unless the tests that take long are enabled.
func Only(t testing.TB) {
	t.Helper()
	if !parts.MatchString(t.Name()) {
		t.Fatalf("no part of make night runs a test of this name: %s", parts)
	}
	if !Enabled() {
		t.Skip("takes long: make night runs it")
	}
}
