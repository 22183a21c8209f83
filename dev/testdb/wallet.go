package testdb

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store"
)

// AsWallet gives the URL of the migrated database at address for a role that may do what the process for payments does, and no
// more.
func AsWallet(t testing.TB, address string) string {
	t.Helper()
	role, target := WalletRole(t, address)
	record, err := store.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer record.Close()
	if err := record.GrantWallet(t.Context(), role); err != nil {
		t.Fatal(err)
	}
	return target
}

// WalletRole makes a role that may do nothing yet, and gives its name and its URL of the database at address.
func WalletRole(t testing.TB, address string) (role, itsURL string) {
	t.Helper()
	target, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}

	role = "wallet" + strings.ReplaceAll(target.Path, "/", "_")
	if _, err := Connect(t, address).Exec(t.Context(), "CREATE ROLE "+pgx.Identifier{role}.Sanitize()+" LOGIN PASSWORD 'wallet'"); err != nil {
		t.Fatal(err)
	}

	target.User = url.UserPassword(role, "wallet")
	return role, target.String()
}
