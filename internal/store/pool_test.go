package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/testdb"
)

// withBooksLocked gives a store on a database of the test's own, and the connection that keeps the table of books locked.
func withBooksLocked(t *testing.T, pool store.Pool) (*store.Store, *pgx.Conn) {
	t.Helper()
	url := testdb.URL(t)
	s, err := store.OpenPool(t.Context(), url, pool, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)

	lock, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close(context.WithoutCancel(t.Context())) })
	if _, err := lock.Exec(t.Context(), `BEGIN; LOCK TABLE books`); err != nil {
		t.Fatal(err)
	}
	return s, lock
}

// TestAdministratorsDoNotQueueBehindUsers lets users' statements take all their connections and wait for more.
func TestAdministratorsDoNotQueueBehindUsers(t *testing.T) {
	t.Parallel()
	s, lock := withBooksLocked(t, store.Pool{Connections: 5})

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{}, 20)
	for range cap(ended) {
		go func() { _, _ = s.BookByID(ctx, 1); ended <- struct{}{} }()
	}
	for waiting := 0; waiting < 4; time.Sleep(10 * time.Millisecond) { // all that are the users'
		if err := lock.QueryRow(t.Context(), `SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'books'::regclass`).Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Users(store.Reserved(t.Context()), "", 0, 1); err != nil {
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
	s, _ := withBooksLocked(t, store.Pool{Connections: 5, Statement: 200 * time.Millisecond, Idle: 200 * time.Millisecond})
	if _, err := s.BookByID(t.Context(), 1); fault.CodeOf(err) != fault.StoreUnavailable {
		t.Errorf("a statement that waits for a lock: %v", err)
	}

	err := s.InTx(t.Context(), func(tx pgx.Tx) error {
		time.Sleep(2 * time.Second)
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
