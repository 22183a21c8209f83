package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

func TestUsers(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.send(
		w.adminToken, "POST", "/v1/users", `{"name":"Eve \"🦊\"","telegram_id":777,"role":"USER","language":"ru"}`,
	).ok(http.StatusCreated).body

	id, token := made["id"].(string), made["token"].(string)
	for name, want := range map[string]any{"name": `Eve "🦊"`, "telegram_id": "777", "role": "USER", "language": "ru", "status": "ACTIVE"} {
		if made[name] != want {
			t.Errorf("%s is %v, want %v", name, made[name], want)
		}
	}

	w.send(token, "GET", "/v1/deliveries", nil).ok(http.StatusOK)
	w.send(
		w.adminToken, "POST", "/v1/users", `{"name":"twin","telegram_id":"777"}`,
	).refused(http.StatusConflict, fault.UserExists, "telegram_id")
	agent := w.send(w.adminToken, "POST", "/v1/users", `{"name":"agent","telegram_id":null}`).ok(http.StatusCreated).body
	if agent["role"] != "USER" || agent["language"] != "en" || agent["telegram_id"] != nil {
		t.Errorf("defaults %v", agent)
	}

	got := w.send(w.adminToken, "GET", "/v1/users/"+id, nil).ok(http.StatusOK).body
	if _, shown := got["token"]; shown || got["name"] != made["name"] {
		t.Errorf("got %v", got)
	}

	changed := w.send(w.adminToken, "PATCH", "/v1/users/"+id, `{"role":"ADMIN","name":"Eva","language":"ru"}`).ok(http.StatusOK).body
	if changed["role"] != "ADMIN" || changed["name"] != "Eva" || changed["status"] != "ACTIVE" {
		t.Errorf("changed %v", changed)
	}
	number, _ := shape.ParseID(id)
	if eva, err := w.store.Accounts.UserByID(t.Context(), number); err != nil || eva.LanguageChosen {
		t.Errorf("a form sends the language that there is, and it is chosen: %+v, %v", eva, err)
	}

	renewed := w.send(w.adminToken, "POST", "/v1/users/"+id+"/token", nil).ok(http.StatusOK).body
	w.send(token, "GET", "/v1/deliveries", nil).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	w.send(renewed["token"].(string), "GET", "/v1/users", nil).ok(http.StatusOK)

	for _, call := range [][3]string{{"GET", "", ""}, {"PATCH", "", `{"name":"x"}`}, {"POST", "/token", ""}} {
		for _, nobody := range []string{"999999", "x", "0", "01", "99999999999999999999"} {
			var body any
			if call[2] != "" {
				body = call[2]
			}
			w.send(w.adminToken, call[0], "/v1/users/"+nobody+call[1], body).refused(http.StatusNotFound, fault.UserNotFound, "")
		}
	}

	want := []string{
		fmt.Sprintf("1 create-user user/%s done http", id), fmt.Sprintf("1 create-user user/%s done http", agent["id"]),
		fmt.Sprintf("1 change-user user/%s done http", id), fmt.Sprintf("1 renew-user-token user/%s done http", id),
	}
	if rows := w.audited(); !slices.Equal(rows, want) {
		t.Errorf("audited %v, want %v", rows, want)
	}

	log := w.send(w.adminToken, "GET", "/v1/audit?limit=1", nil).ok(http.StatusOK).items()[0]
	if log["action"] != "renew-user-token" || log["subject"] != "user/"+id || log["outcome"] != "done" || log["door"] != "http" || log["actor_id"] != "1" {
		t.Errorf("audit %v", log)
	}
}

func TestAdministratorsDoNotLockThemselvesOut(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	self := fmt.Sprintf("/v1/users/%d", w.admin.ID)
	w.send(w.adminToken, "PATCH", self, `{"role":"USER"}`).refused(http.StatusConflict, fault.OwnAccess, "role")
	w.send(
		w.adminToken, "PATCH", self, `{"status":"BLOCKED","name":"x"}`,
	).refused(http.StatusConflict, fault.OwnAccess, "status")
	w.send(w.adminToken, "PATCH", self, `{"status":"PENDING"}`).refused(http.StatusConflict, fault.OwnAccess, "status")
	got := w.send(
		w.adminToken, "PATCH", self, `{"role":"ADMIN","status":"ACTIVE","name":"Boss","language":"ru"}`,
	).ok(http.StatusOK).body
	if got["name"] != "Boss" || got["role"] != "ADMIN" || got["status"] != "ACTIVE" {
		t.Errorf("changed %v", got)
	}
}

func TestListsOfUsersAndOfTheAudit(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.exec(`INSERT INTO users (name) SELECT 'u' || n FROM generate_series(1, 30) n`)
	w.exec(
		`INSERT INTO audit_log (actor_id, action, outcome, door) SELECT 1, 'a' || n, 'done', 'bot' FROM generate_series(1, 30) n`,
	)
	var ids []string
	for i := range 35 {
		ids = append(ids, fmt.Sprint(i+1))
	}

	if got := w.walk(w.adminToken, "/v1/users?limit=7", "id"); !slices.Equal(got, ids) {
		t.Errorf("users %v", got)
	}
	if got := w.walk(w.adminToken, "/v1/users?status=PENDING&limit=31", "id"); len(got) != 31 {
		t.Errorf("pending %v", got)
	}

	entries := w.walk(w.adminToken, "/v1/audit?limit=7", "id")
	slices.Reverse(entries)
	if !slices.Equal(entries, ids[:30]) {
		t.Errorf("audit %v", entries)
	}
}
