package testdb

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// RowsRead counts the rows and index entries that all sessions have read in our tables, after those sessions have
// ended. It ends those of DB.
func RowsRead(t testing.TB, url string) (read int64) {
	t.Helper()
	closeDB(url)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()

	// Sessions end a moment after their connections.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var others int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'`).Scan(&others)
		if err != nil {
			t.Fatal(err)
		}
		if others == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the sessions do not end")
		}
	}

	err = conn.QueryRow(
		t.Context(),
		`SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT coalesce(sum(idx_tup_read), 0) FROM pg_stat_user_indexes)`,
	).Scan(&read)
	if err != nil {
		t.Fatal(err)
	}

	return read
}
