package store_test

import (
	"testing"
	"testing/fstest"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// TestMigrateRepeatsAfterADeadlock makes a running process and a migration wait for each other: PostgreSQL ends the
// migration, and Migrate retries it.
func TestMigrateRepeatsAfterADeadlock(t *testing.T) {
	t.Parallel()
	url := testdb.Bare(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	w := &rig{Store: s, t: t, url: url}
	w.exec(`CREATE TABLE first (); CREATE TABLE second ()`)
	migration := fstest.MapFS{"00001_both.sql": {Data: []byte(`-- +goose Up
ALTER TABLE first ADD COLUMN x int;
ALTER TABLE second ADD COLUMN x int;

-- +goose Down
SELECT 1;`)}}

	process := testdb.Connect(t, url)
	_, err = process.Exec(t.Context(), `SET deadlock_timeout = '10min'; BEGIN; LOCK TABLE second IN ACCESS SHARE MODE`)
	w.must(err)

	migrated := make(chan error, 1)
	go func() { migrated <- s.MigrateWith(t.Context(), migration) }()
	observer := testdb.Connect(t, url)
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		select {
		case err := <-migrated:
			t.Fatal("it waits for nobody: ", err)
		default:
		}
		w.must(observer.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks
			WHERE NOT granted AND relation = 'second'::regclass)`).Scan(&waits))
	}

	_, err = process.Exec(t.Context(), `LOCK TABLE first IN ACCESS SHARE MODE`)
	w.must(err) // the migration gave way
	_, err = process.Exec(t.Context(), `COMMIT`)
	w.must(err)
	w.must(<-migrated)
}
