package testdb

import (
	"testing"

	"stagecoach/internal/store"
)

// Recount counts all rows now, as a process does every few seconds.
func Recount(t testing.TB, s *store.Store) {
	t.Helper()
	if err := s.Operations.ResetCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Operations.RefreshCounts(t.Context()); err != nil {
		t.Fatal(err)
	}
}
