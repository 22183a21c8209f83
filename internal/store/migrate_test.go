package store_test

import (
	"testing"
	"time"

	"stagecoach/dev/testdb"
	"stagecoach/internal/store"
)

// TestMigrateRepeatsAfterADeadlock lets a process at work and a migration wait for each other: PostgreSQL ends the
// migration, and Migrate repeats it.
func TestMigrateRepeatsAfterADeadlock(t *testing.T) {
	t.Parallel()
	url := testdb.Bare(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	w := &rig{Store: s, t: t, url: url}
	const beforeTwoTables = 15 // the next migration alters payment_queue, then transactions
	w.must(s.MigrateTo(t.Context(), beforeTwoTables))
	process := testdb.Connect(t, url)
	_, err = process.Exec(t.Context(), `SET deadlock_timeout = '10min'; BEGIN; LOCK TABLE transactions IN ACCESS SHARE MODE`)
	w.must(err)

	migrated := make(chan error, 1)
	go func() { migrated <- s.Migrate(t.Context()) }()
	observer := testdb.Connect(t, url)
	for waits := false; !waits; time.Sleep(time.Millisecond) {
		w.must(observer.QueryRow(t.Context(), `SELECT EXISTS (SELECT 1 FROM pg_locks
			WHERE NOT granted AND relation = 'transactions'::regclass)`).Scan(&waits))
	}

	_, err = process.Exec(t.Context(), `LOCK TABLE payment_queue IN ACCESS SHARE MODE`)
	w.must(err) // the migration gave way
	_, err = process.Exec(t.Context(), `COMMIT`)
	w.must(err)
	w.must(<-migrated)
}
