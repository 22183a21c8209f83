package store_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"stagecoach/dev/testdb"
)

// TestTheWalletsRoleMayPayOnly tries what somebody might do who has taken over the process for payments.
func TestTheWalletsRoleMayPayOnly(t *testing.T) {
	t.Parallel()
	db := testdb.Connect(t, testdb.AsWallet(t, testdb.URL(t)))
	for _, statement := range []string{
		"SELECT * FROM users", "SELECT * FROM tokens", "SELECT * FROM sessions", "SELECT * FROM sign_in_links",
		"SELECT * FROM oauth_tokens", "SELECT * FROM webhooks", "SELECT * FROM audit_log", "SELECT * FROM tasks",
		"SELECT * FROM books", "SELECT * FROM jobs",
		"UPDATE users SET username = 'x'", "INSERT INTO tokens DEFAULT VALUES", "UPDATE tasks SET title = 'x'", "DELETE FROM jobs",
		"DELETE FROM transactions", "DELETE FROM payments", "DELETE FROM ledger_entries", "UPDATE ledger_postings SET amount_nano = 0",
		"DELETE FROM events", "UPDATE events SET comment = 'x'", "TRUNCATE ledger_balances", "DELETE FROM chain_transactions",
		"CREATE TABLE own (id int)", "DROP TABLE payments",
	} {
		_, err := db.Exec(t.Context(), statement)
		if refused := new(pgconn.PgError); !errors.As(err, &refused) || refused.Code != "42501" {
			t.Errorf("%s gave %v", statement, err)
		}
	}
}

// TestGrantsNeedARole that exists; the error says how to make one.
func TestGrantsNeedARole(t *testing.T) {
	t.Parallel()
	if err := testdb.New(t).GrantWallet(t.Context(), "nobody"); err == nil || !strings.Contains(err.Error(), `CREATE ROLE "nobody"`) {
		t.Errorf("a role that does not exist gave %v", err)
	}
}
