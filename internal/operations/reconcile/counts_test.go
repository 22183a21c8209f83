package reconcile

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// TestCountsAreKept makes a count drift, and wants the reconciler to add up and to correct it.
func TestCountsAreKept(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(t.Context(), `INSERT INTO count_changes VALUES ('task', 'NEW', 3)`); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}

	var corrected []string
	counts := &Counts{
		Store: s, Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		OnCorrected: func(kind string) { corrected = append(corrected, kind) },
	}

	counts.keep(t.Context())
	counts.wait()

	if len(corrected) != 1 || corrected[0] != "task" {
		t.Errorf("corrected %v, want one count of tasks", corrected)
	}

	whole, err := s.CountOverview(t.Context(), time.Now())
	if err != nil || whole.Counts["task"]["NEW"] != 0 {
		t.Errorf("%d NEW tasks are counted, %v", whole.Counts["task"]["NEW"], err)
	}
}
