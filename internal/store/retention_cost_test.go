package store_test

import (
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/operations"
)

// TestNightRetentionReadsFewRows deletes a few of many old rows of each kind, repeatedly: each time PostgreSQL reads
// those, and not the tables.
func TestNightRetentionReadsFewRows(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const batch = 20
	url := testdb.URL(t)
	fillWith(t, url, fillLists+`;`+fillRest)

	policy := operations.Retention{}
	for _, name := range []string{"deliveries", "tasks", "downloads", "events", "answers", "news", "alerts", "audit", "findings", "refusals"} {
		policy[name] = 1
	}

	open := func() *store.Store {
		s, err := store.OpenPool(t.Context(), url, core.Pool{Connections: 2}, testdb.Key)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}

	s := open()
	kinds := s.Operations.OldKinds(policy)
	s.Close()
	for _, old := range kinds {
		s := open()
		old.Days = 0
		before, next, err := testdb.RowsRead(t, url), int64(0), error(nil)
		for range listRuns {
			if _, next, err = s.Operations.DeleteOld(t.Context(), old, next, batch); err != nil {
				t.Fatalf("%s: %v", old.Kind, err)
			}
		}

		s.Close() // PostgreSQL gets a session's statistics when it ends
		if read := (testdb.RowsRead(t, url) - before) / listRuns; read > lying/20 {
			t.Errorf("%s: %d rows are read for each %d", old.Kind, read, batch)
		}
	}
}
