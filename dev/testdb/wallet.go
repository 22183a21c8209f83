package testdb

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/store"
)

// AsWallet returns the URL of the migrated database at address for a role with exactly the rights of the payments
// process.
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

// WalletRole creates a role without any rights, and returns its name and its URL of the database at address.
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
