package app

import (
	"log/slog"
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/operations/liveness"
	"stagecoach/internal/store"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// TestKeepAliveCounts lets a process live, and wants it to count the rows.
func TestKeepAliveCounts(t *testing.T) {
	t.Parallel()
	url := testdb.URL(t)
	record, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(record.Close)

	db := testdb.Connect(t, url)
	if _, err := db.Exec(t.Context(), `INSERT INTO users (telegram_id) VALUES (7);
		INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('w', 1, '{}');
		INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', 1)`); err != nil {
		t.Fatal(err)
	}

	process := Connections{Store: record, Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Liveness: liveness.New(liveness.Options{
		Store: record, Identity: "1@h@api", Service: "api", Log: slog.New(slog.DiscardHandler),
	})}
	defer process.KeepAlive(t.Context())()
	for n := 0; n == 0; time.Sleep(10 * time.Millisecond) {
		if err := db.QueryRow(t.Context(), `SELECT count(*) FROM counts WHERE kind = 'task' AND key = 'NEW' AND n = 1`).Scan(&n); err != nil {
			t.Fatal(err)
		}
	}
}
