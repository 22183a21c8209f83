package core_test

import (
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/internal/store/core"
)

// TestOnlyTheDatabaseRefusesWrites distinguishes a database that accepts no writes from an unreachable one.
func TestOnlyTheDatabaseRefusesWrites(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"25006": true, "53100": true, "58030": true, "53300": false, "57014": false, "57P01": false, "08006": false} {
		if got := core.RefusesWrites(core.Unavailable(fmt.Errorf("query: %w", &pgconn.PgError{Code: code}))); got != want {
			t.Errorf("%s: %t", code, got)
		}
	}
	if core.RefusesWrites(nil) || core.RefusesWrites(core.Unavailable(&pgconn.ConnectError{})) {
		t.Error("no answer is a refusal")
	}
}
