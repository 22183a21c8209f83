// Package night marks the tests that take long: make night runs them, make test leaves them out.
package night

import (
	"os"
	"testing"
)

// Wanted is the variable that asks for the tests that take long.
const Wanted = "STAGECOACH_NIGHT"

// Only skips a test unless the tests that take long are wanted.
func Only(t testing.TB) {
	t.Helper()
	if os.Getenv(Wanted) == "" {
		t.Skip("takes long: make night runs it")
	}
}
