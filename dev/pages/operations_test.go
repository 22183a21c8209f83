package pages

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/night"
)

// found is what the service records about itself, in each state. The monitor ends incidents without a cause, so these
// are over.
const found = `
	INSERT INTO alerts (kind, opened_at, sent_at, resolved_at, over_sent_at) VALUES ('storage_unreachable', now() - interval '2 days', now(), now(), now());
	INSERT INTO alerts (kind, opened_at, sent_at) VALUES ('pages_test', now(), now());
	INSERT INTO reconciler_findings (workload, entity, workflow_id, run_id, finding, done, done_at)
		SELECT 'delivery', '1', 'delivery/1', n || 'r', (ARRAY['not_started', 'terminated', 'too_long', 'timed_out', 'ended', 'missing', 'reset', 'stale', 'no_row', 'over'])[n],
			(ARRAY['started', 'ended', 'terminated', 'refreshed', 'vanished'])[1 + n % 5], now() FROM generate_series(1, 10) n;
	INSERT INTO reconciler_findings (workload, entity, workflow_id, finding) VALUES ('task', '1', 'task/1', 'stale');
	INSERT INTO audit_log (actor_id, action, subject, outcome, door) VALUES (NULL, 'cancel-delivery', 'delivery/1', 'done', 'cli'), (1, 'get-status', '', 'refused', 'bot');
	INSERT INTO users (name, telegram_id, status) VALUES ('Waiting Wanda', 900001, 'PENDING'), ('Blocked Bert', 900002, 'BLOCKED');
	INSERT INTO users (name, status, forgotten_at) VALUES ('', 'BLOCKED', now());
	INSERT INTO outside_systems (name, succeeded_at, failed_at, error, failing_since) VALUES ('nowhere', now() - interval '1 hour', now(), 'TELEGRAM_UNAVAILABLE', now());
	INSERT INTO events (workload, entity_id, seq, type, to_state, comment) VALUES ('delivery', '999999', 1, 'failed', 'FAILED', 'TELEGRAM_UNAVAILABLE')`

// TestOperations views each operations page, with something in each state.
func TestOperations(t *testing.T) {
	t.Parallel()
	db, err := pgx.Connect(t.Context(), running.Info.DatabaseURL)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close(t.Context()) }()

	for statement := range strings.SplitSeq(found, ";\n") {
		if _, err := db.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}

	looksRight(
		t, running.Info.AdminToken, "/", "/operations", "/operations/alerts", "/operations/findings",
		"/operations/findings?workload=transaction", "/operations/audit", "/operations/users", "/operations/users?status=PENDING",
		"/operations/users/1",
	)
}

// TestNightOperationsWithoutScripts adds a user, and does everything that an administrator can do to one, without
// scripts.
func TestNightOperationsWithoutScripts(t *testing.T) {
	night.Only(t)
	t.Parallel()
	b := newBrowser(t, running.Info.API)
	b.withoutScripts()
	b.open("/operations/users")
	b.fill("#token", running.Info.AdminToken)
	b.press("main form button")

	b.fill("#name", "New Nora")
	b.fill("#telegram_id", "900010")
	b.press(`form[action="/operations/users"] button`)
	b.shows("Copy it now")
	token := evaluate[string](b, `document.querySelector("main .copy").textContent`)
	nora := &client.Client{Base: running.Info.API, Token: token}
	if _, err := client.Ask[shape.Page[shape.Task]](t.Context(), nora, client.Call{Method: http.MethodGet, Path: "/v1/tasks"}); err != nil {
		t.Errorf("the token that the page shows does not work: %v", err)
	}

	b.open("/operations/users")
	if strings.Contains(b.text(), "Copy it now") {
		t.Error("a token is shown twice")
	}
	b.fill("#name", "Nora again")
	b.fill("#telegram_id", "900010")
	b.press(`form[action="/operations/users"] button`)
	b.refused("USER_EXISTS")
	b.wantStatus(http.StatusConflict)

	b.open("/operations/users")
	b.click(`//a[text()="New Nora"]`)
	b.shows("Create a new token")
	b.press(`button[value="BLOCKED"]`)
	b.shows("blocked")
	b.press(`button[value="ACTIVE"]`)
	b.shows("active")
	b.fill("#name", " Second")
	b.press(`form.stack button:not(.danger)`)
	b.shows("Second")
	b.press(`form[action$="/token"] button`)
	b.shows("Copy it now")
	b.press(`form[action$="/revoke"] button`)
	b.shows("no tokens")
	b.click(`//input[@type="checkbox"]`)
	b.press(`form[action$="/forget"] button`)
	b.shows("Forgotten")

	b.open("/operations/audit")
	for _, action := range []string{"create-user", "change-user", "renew-user-token", "revoke-user-token", "forget-user"} {
		b.shows(action)
	}
}

// TestNightOperationsAreLive watches the status during deliveries. The page follows events, and shows counts that may be
// 15 s old: it changes with an event after that.
func TestNightOperationsAreLive(t *testing.T) {
	night.Only(t)
	t.Parallel()
	b := signedIn(t, running.Info.AdminToken)
	b.open("/operations")
	b.isLive()
	evaluate[int](b, `window.loadedOnce = 1`)
	evaluate[int](b, `window.before = document.querySelector("main .facts dd").innerText; 1`)
	changed := `document.querySelector("main .facts dd").innerText !== window.before`
	b.until("the page changes", func() bool {
		deliver(t, "small.txt")
		time.Sleep(4 * time.Second)
		return b.asks(changed)
	})
	if evaluate[int](b, `window.loadedOnce ?? 0`) != 1 {
		t.Error("the page was loaded again")
	}
}
