package rest_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"stagecoach/dev/testdb"
)

// TestOverview shows administrators everything in progress, and others what is theirs.
func TestOverview(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.exec(`INSERT INTO workspaces (name, owner_id, status_deadlines) VALUES ('room', $1, '{}')`, w.bob.ID)
	w.exec(`INSERT INTO tasks (workspace_id, title, creator_id) VALUES (1, 'a title', $1)`, w.bob.ID)
	testdb.Recount(t, w.store)
	w.exec(`INSERT INTO counts (kind, key, n, ended) VALUES
		('transaction', 'failed', 3, false), ('transaction', 'processed', 2, true), ('delivery', 'DELIVERED', 9, true)`)

	for token, want := range map[string]string{
		w.adminToken: `{"live":{"delivery":{},"download":{},"task":{"NEW":1},"transaction":{}},"waiting_users":1}`,
		w.adaToken:   `{"live":{"delivery":{},"download":{},"task":{},"transaction":{}},"waiting_users":0}`,
		w.bobToken:   `{"live":{"delivery":{},"download":{},"task":{"NEW":1},"transaction":{}},"waiting_users":0}`,
	} {
		got := w.send(token, http.MethodGet, "/v1/overview", nil)
		body, err := json.Marshal(got.body)
		if err != nil || got.status != http.StatusOK || string(body) != want {
			t.Errorf("%d %s, want %s", got.status, body, want)
		}
	}
}
