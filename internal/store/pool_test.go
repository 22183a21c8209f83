package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/core"
)

// withTableLocked gives a store on a database of the test's own, and the connection that keeps a table locked.
func withTableLocked(t *testing.T, table string, pool core.Pool) (*store.Store, *pgx.Conn) {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.OpenPool(t.Context(), url, pool, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)

	lock := testdb.Connect(t, url)
	if _, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE `+table); err != nil {
		t.Fatal(err)
	}
	return s, lock
}

// waitForLock waits until so many statements wait for a table.
func waitForLock(t *testing.T, conn *pgx.Conn, table string, statements int) {
	t.Helper()
	for waiting := 0; waiting < statements; time.Sleep(10 * time.Millisecond) {
		err := conn.QueryRow(
			t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = $1::text::regclass`, table,
		).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestAdministratorsDoNotQueueBehindUsers lets users' statements take all their connections and wait for more.
func TestAdministratorsDoNotQueueBehindUsers(t *testing.T) {
	t.Parallel()
	s, lock := withTableLocked(t, "books", core.Pool{Connections: 5})

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 20)
	for range cap(ended) {
		go func() { _, _ = s.Downloads.BookByID(ctx, 1); ended <- struct{}{} }()
	}

	waitForLock(t, lock, "books", 4) // all that are the users'
	if _, err := s.Accounts.Users(core.Reserved(t.Context()), "", 0, 1); err != nil {
		t.Error(err)
	}

	cancel()
	for range cap(ended) {
		<-ended
	}
}

// TestStatementsHaveATimeOut makes one wait for a lock for too long, and lets a transaction do nothing for too long.
func TestStatementsHaveATimeOut(t *testing.T) {
	t.Parallel()
	s, _ := withTableLocked(
		t, "books", core.Pool{Connections: 5, Statement: time.Second, Idle: time.Second},
	)
	if _, err := s.Downloads.BookByID(t.Context(), 1); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("a statement that waits for a lock: %v", err)
	}

	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		time.Sleep(3 * time.Second)
		_, err := tx.Exec(t.Context(), `SELECT 1`)
		return err
	})
	if fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("a transaction that does nothing: %v", err)
	}
	if err := s.Migrate(t.Context()); err != nil {
		t.Errorf("a migration has no time-out: %v", err)
	}
}

// TestLongWorkHasNoTimeOut lets what runs over whole tables wait for them for longer than a statement of the pool may
// take.
func TestLongWorkHasNoTimeOut(t *testing.T) {
	t.Parallel()
	for name, work := range map[string]struct {
		table string
		do    func(*store.Store) error
	}{
		"counts": {"jobs", func(s *store.Store) error {
			_, err := s.Operations.RefreshCounts(t.Context())
			return err
		}},
		"reseal": {"oauth_tokens", func(s *store.Store) error { _, err := s.Accounts.Reseal(t.Context()); return err }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, lock := withTableLocked(t, work.table, core.Pool{Connections: 5, Statement: time.Second})
			ended := make(chan error, 1)
			go func() { ended <- work.do(s) }()

			waitForLock(t, lock, work.table, 1)
			time.Sleep(2 * time.Second)
			if _, err := lock.Exec(t.Context(), `ROLLBACK`); err != nil {
				t.Fatal(err)
			}
			if err := <-ended; err != nil {
				t.Errorf("ended early: %v", err)
			}
		})
	}
}
