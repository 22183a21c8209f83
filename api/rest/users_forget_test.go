package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// TestAPersonIsForgotten searches for everything of Ada's after she was forgotten: no row of the record names her, and
// her running work ends.
func TestAPersonIsForgotten(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space, ada := w.workspace(), fmt.Sprintf("/v1/users/%d", w.ada.ID)
	w.exec(`UPDATE users SET name = 'Ada Lovelace', username = 'lovelace', telegram_id = 555101 WHERE id = $1`, w.ada.ID)
	file := w.file("/ok.pdf", 5)
	delivery := w.send(
		w.adaToken, "POST", "/v1/deliveries", fmt.Sprintf(`{"file_id":"%d"}`, file.ID), "Idempotency-Key", "adas",
	).ok(http.StatusCreated).body["id"].(string)

	book := w.book("Wheels")
	download := w.send(
		w.adaToken, "POST", "/v1/downloads",
		fmt.Sprintf(`{"book_id":"%s","media_type":"text","source_url":"%s"}`, book, magnet), "Idempotency-Key", "adas-too",
	).
		ok(http.StatusCreated).body["id"].(string)

	w.exec(
		`INSERT INTO media_assets (book_id, media_type, job_id, status, path, source_url, owner_id) VALUES ($1, 'text', 1, 'available', '/d/a', 'magnet:lovelace', $2)`,
		book, w.ada.ID,
	)
	task := w.task(w.bobToken, space, nil)["id"].(string)
	w.send(
		w.adaToken, "POST", "/v1/tasks/"+task+"/claim", `{"comment":"call me at lovelace"}`, "Idempotency-Key", "lovelace",
	).ok(http.StatusOK)
	w.send(w.adaToken, "POST", "/v1/tokens", `{"name":"lovelace","scopes":["read"]}`).ok(http.StatusCreated)
	w.exec(`INSERT INTO conversations (chat_id, query) VALUES (555101, 'lovelace')`)
	w.exec(
		`INSERT INTO news (user_id, workload, entity_id, seq, due_at) VALUES ($1, 'task', $2, 1, now())`, w.ada.ID, task,
	)

	w.send(w.bobToken, "POST", ada+"/forget", nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(
		w.adminToken, "POST", fmt.Sprintf("/v1/users/%d/forget", w.admin.ID), nil,
	).refused(http.StatusConflict, fault.OwnAccess, "id")
	var first any

	for range 2 {
		got := w.send(w.adminToken, "POST", ada+"/forget", nil).ok(http.StatusOK).body
		if got["name"] != "" || got["telegram_id"] != nil || got["status"] != account.UserBlocked || got["role"] != account.RoleUser || got["forgotten_at"] == nil {
			t.Errorf("she is %v", got)
		}
		if first == nil {
			first = got["forgotten_at"]
		}
		if got["forgotten_at"] != first {
			t.Errorf("forgotten at %v, then %v", first, got["forgotten_at"])
		}
	}

	w.send(w.adaToken, "GET", "/v1/deliveries", nil).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	if got := w.send(w.adminToken, "GET", "/v1/deliveries/"+delivery, nil).ok(http.StatusOK).body; got["state"] != string(lifecycle.DeliveryCancelled) {
		t.Errorf("her delivery is %v", got)
	}
	if got := w.send(w.adminToken, "GET", "/v1/downloads/"+download, nil).ok(http.StatusOK).body; got["cancel_requested"] != true && got["status"] != string(lifecycle.DownloadCanceled) {
		t.Errorf("her download is %v", got)
	}
	if got := w.send(w.bobToken, "GET", "/v1/tasks/"+task, nil).ok(http.StatusOK).body; got["status"] != "NEW" || got["assignee_id"] != nil {
		t.Errorf("her task is %v", got)
	}

	for _, of := range w.holding("lovelace", "555101", magnet) {
		t.Error("still there: ", of)
	}

	w.send(w.adminToken, "PATCH", ada, `{"status":"ACTIVE"}`).refused(http.StatusNotFound, fault.UserNotFound, "")
	w.send(w.adminToken, "POST", ada+"/token", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	w.send(w.adminToken, "POST", "/v1/users/999999/forget", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	if rows := w.audited(); !slices.Contains(rows, fmt.Sprintf("1 forget-user user/%d done http", w.ada.ID)) {
		t.Errorf("audited %v", rows)
	}
}

// holding lists tables with a row that contains one of the words.
func (w *rig) holding(words ...string) (tables []string) {
	w.t.Helper()
	rows, err := w.db.Query(
		w.t.Context(), `SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`,
	)
	if err != nil {
		w.t.Fatal(err)
	}

	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil || len(names) < 20 {
		w.t.Fatal(names, err)
	}

	for _, name := range names {
		for _, word := range words {
			var found int
			if err := w.db.QueryRow(w.t.Context(), `SELECT count(*) FROM `+name+` r WHERE position($1 IN lower(r::text)) > 0`, strings.ToLower(word)).Scan(&found); err != nil {
				w.t.Fatal(err)
			}
			if found > 0 {
				tables = append(tables, name+" holds "+word)
			}
		}
	}

	return tables
}

// TestForgettingIsFinishedLater starts while Temporal is unavailable: the record forgets at once, and the same request
// ends the running work later.
func TestForgettingIsFinishedLater(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	file := w.file("/ok.pdf", 5)
	delivery := w.send(
		w.adaToken, "POST", "/v1/deliveries", fmt.Sprintf(`{"file_id":"%d"}`, file.ID), "Idempotency-Key", "adas",
	).ok(http.StatusCreated).body["id"].(string)

	forget := fmt.Sprintf("/v1/users/%d/forget", w.ada.ID)
	w.temporal.setDown(true)
	w.send(w.adminToken, "POST", forget, nil).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
	if got, err := w.store.Accounts.UserByID(t.Context(), w.ada.ID); err != nil || got.Name != "" || got.TelegramID != nil {
		t.Errorf("she is %+v %v", got, err)
	}

	w.temporal.setDown(false)
	w.send(w.adminToken, "POST", forget, nil).ok(http.StatusOK)
	if got := w.send(w.adminToken, "GET", "/v1/deliveries/"+delivery, nil).ok(http.StatusOK).body; got["state"] != string(lifecycle.DeliveryCancelled) {
		t.Errorf("her delivery is %v", got)
	}
}
