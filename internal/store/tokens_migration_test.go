package store_test

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

// lastOf010 is the schema that release 0.1.0 has.
const lastOf010 = 9

// TestOldTokensBecomeRows migrates a database as 0.1.0 has left it: each token opens as before and grants all that its
// user's role allows, only what the configuration once named counts as configured, and nobody else has a row.
func TestOldTokensBecomeRows(t *testing.T) {
	t.Parallel()
	url := testdb.Bare(t)
	s, err := store.Open(t.Context(), url, testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	w := &rig{Store: s, t: t, url: url}
	w.must(s.MigrateTo(t.Context(), lastOf010))

	old := []struct {
		name, role, status string
		telegram           *int64
		token              string // empty: none
		asked              bool   // an administrator made the user
		origin             string
	}{
		{name: "administrator", role: "ADMIN", status: "ACTIVE", token: "of the configuration", origin: "configured"},
		{name: "administrator", role: "ADMIN", status: "ACTIVE", token: "of the configuration before", origin: "configured"},
		{name: "administrator", role: "ADMIN", status: "ACTIVE", token: "of a person with that name", asked: true, origin: "first"},
		{name: "administrator", role: "ADMIN", status: "ACTIVE", token: "of a Telegram user with that name", telegram: new(int64(7)), origin: "first"},
		{name: "administrator", role: "USER", status: "ACTIVE", token: "of a user with that name", origin: "first"},
		{name: "Ann", role: "ADMIN", status: "ACTIVE", token: "of Ann", asked: true, origin: "first"},
		{name: "Bob", role: "USER", status: "ACTIVE", token: "of Bob", asked: true, origin: "first"},
		{name: "Eve", role: "USER", status: "BLOCKED", token: "of Eve", asked: true, origin: "first"},
		{name: "Tom", role: "USER", status: "ACTIVE", telegram: new(int64(8))},
	}

	ids := make([]int64, len(old))
	for i, user := range old {
		var hash []byte
		if user.token != "" {
			sum := sha256.Sum256([]byte(user.token))
			hash = sum[:]
		}

		w.scan(`INSERT INTO users (name, role, status, telegram_id, token_hash, created_at) VALUES ($1, $2, $3, $4, $5, '2026-01-02') RETURNING id`,
			&ids[i], user.name, user.role, user.status, user.telegram, hash)
		if user.asked {
			w.exec(
				`INSERT INTO audit_log (action, subject, outcome, door) VALUES ('create-user', $1, 'done', 'http')`,
				fmt.Sprintf("user/%d", ids[i]),
			)
		}
	}

	w.must(s.Migrate(t.Context()))
	for i, user := range old {
		rows := 0
		w.scan(`SELECT count(*) FROM tokens WHERE user_id = $1`, &rows, ids[i])
		if user.token == "" {
			if rows != 0 {
				t.Errorf("%s had no token and has %d", user.name, rows)
			}
			continue
		}

		var origin string
		var sameDay bool
		w.scan(`SELECT origin FROM tokens WHERE user_id = $1`, &origin, ids[i])
		w.scan(
			`SELECT created_at = '2026-01-02' AND expires_at IS NULL AND revoked_at IS NULL FROM tokens WHERE user_id = $1`,
			&sameDay, ids[i],
		)
		if rows != 1 || origin != user.origin || !sameDay {
			t.Errorf(
				"the token %s has %d rows, its origin is %s, want %s; as old and open as it was: %v", user.token, rows, origin,
				user.origin, sameDay,
			)
		}

		found, token, err := w.Authenticate(t.Context(), user.token)
		if user.status == "BLOCKED" {
			if err == nil && found.Status != account.UserBlocked {
				t.Errorf("the token %s opens", user.token)
			}
			continue
		}
		if err != nil || found.ID != ids[i] {
			t.Errorf("the token %s opens for %d, %v (%s)", user.token, found.ID, err, fault.CodeOf(err))
			continue
		}

		if got := token.Grants(user.role); !slices.Equal(got, account.ScopesOf(user.role)) {
			t.Errorf("the token %s grants %v", user.token, got)
		}
	}
}
