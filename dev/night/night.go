// Package night marks tests that take long: make night runs them, make test skips them.
package night

import (
	"os"
	"testing"
)

// Wanted is the environment variable that enables the tests that take long.
const Wanted = "STAGECOACH_NIGHT"

// Enabled says whether the tests that take long run.
func Enabled() bool { return os.Getenv(Wanted) != "" }

// Only skips a test unless the tests that take long are enabled.
func Only(t testing.TB) {
	t.Helper()
	if !Enabled() {
		t.Skip("takes long: make night runs it")
	}
}
