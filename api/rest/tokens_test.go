package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// token creates a user's token directly in the record.
func (w *rig) token(user account.User, scopes ...account.Scope) (secret, id string) {
	w.t.Helper()
	secret = account.NewToken()
	token, err := w.store.Accounts.CreateToken(w.t.Context(), account.Token{UserID: user.ID, Name: "test", Scopes: scopes}, secret)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret, fmt.Sprint(token.ID)
}

// TestTokens follows a token from its creation to its deletion.
func TestTokens(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.send(
		w.adaToken, "POST", "/v1/tokens", `{"name":"import","scopes":["read","files"]}`,
	).ok(http.StatusCreated).body

	secret, path := made["token"].(string), "/v1/tokens/"+made["id"].(string)
	if fmt.Sprint(made["scopes"]) != "[read files]" || made["expires_at"] != nil || made["last_used_at"] != nil || made["current"] != false {
		t.Errorf("made %v", made)
	}

	w.send(secret, "GET", "/v1/deliveries", nil).ok(http.StatusOK)
	w.send(
		secret, "POST", "/v1/deliveries", `{"file_id":"1"}`, "Idempotency-Key", "k",
	).refused(http.StatusForbidden, fault.InsufficientScope, "")

	list := w.send(secret, "GET", "/v1/tokens", nil).ok(http.StatusOK).items()
	if len(list) != 2 || list[0]["current"] != false || list[1]["current"] != true || list[1]["last_used_at"] == nil || list[1]["token"] != nil {
		t.Errorf("listed %v", list)
	}

	for _, mine := range []string{"/v1/tokens/999", "/v1/tokens/x", fmt.Sprintf("/v1/tokens/%s", list[0]["id"])} {
		w.send(w.bobToken, "DELETE", mine, nil).refused(http.StatusNotFound, fault.TokenNotFound, "")
		w.send(w.bobToken, "POST", mine+"/rotate", nil).refused(http.StatusNotFound, fault.TokenNotFound, "")
	}

	rotated := w.send(w.adaToken, "POST", path+"/rotate", `{"grace_seconds":600}`).ok(http.StatusOK).body
	if rotated["id"] != made["id"] || rotated["token"] == secret || fmt.Sprint(rotated["scopes"]) != "[read files]" {
		t.Errorf("rotated %v", rotated)
	}

	w.send(secret, "GET", "/v1/deliveries", nil).ok(http.StatusOK)
	again := w.send(w.adaToken, "POST", path+"/rotate", nil).ok(http.StatusOK).body
	for _, old := range []string{secret, rotated["token"].(string)} {
		w.send(old, "GET", "/v1/deliveries", nil).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	}

	w.send(again["token"].(string), "DELETE", path, nil).ok(http.StatusNoContent)
	w.send(
		again["token"].(string), "GET", "/v1/deliveries", nil,
	).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	w.send(w.adaToken, "DELETE", path, nil).refused(http.StatusNotFound, fault.TokenNotFound, "")
}

// TestATokenGrantsNoMoreThanItsMaker in scopes, in time, and over others.
func TestATokenGrantsNoMoreThanItsMaker(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	refused := func(a reply, missing string) {
		t.Helper()
		a.refused(http.StatusForbidden, fault.InsufficientScope, "")
		if got := fmt.Sprint(a.body["details"].(map[string]any)["missing"]); got != missing {
			t.Errorf("missing %s, want %s", got, missing)
		}
	}

	// her role does not have it
	refused(w.send(w.adaToken, "POST", "/v1/tokens", `{"name":"x","scopes":["read","money"]}`), "[money]")
	read, _ := w.token(w.admin, account.ScopeRead, account.ScopeTokens)
	_, tasks := w.token(w.admin, lifecycle.TaskScope)
	refused(w.send(read, "POST", "/v1/tokens", `{"name":"x","scopes":["tasks","read"]}`), "[tasks]")
	refused(w.send(read, "DELETE", "/v1/tokens/"+tasks, nil), "[tasks]")
	refused(w.send(read, "POST", "/v1/tokens/"+tasks+"/rotate", nil), "[tasks]")
	w.send(
		read, "POST", "/v1/tokens", `{"name":"x","scopes":["nonsense"]}`,
	).refused(http.StatusUnprocessableEntity, fault.Validation, "scopes[0]")

	for _, odd := range []string{"[[],[]]", `[{},{}]`, `[["read"],["read"]]`} { // of an incomparable type
		w.send(read, "POST", "/v1/tokens", `{"name":"x","scopes":`+odd+`}`).refused(
			http.StatusUnprocessableEntity, fault.Validation, "scopes[0]",
		)
		w.send(
			w.adminToken, "POST", "/v1/users", `{"name":"x","scopes":`+odd+`}`,
		).refused(http.StatusUnprocessableEntity, fault.Validation, "scopes[0]")
	}

	w.send(
		read, "POST", "/v1/tokens", `{"name":"x","scopes":["read","read"]}`,
	).refused(http.StatusUnprocessableEntity, fault.Validation, "scopes")
	w.send(
		w.adminToken, "POST", "/v1/users", `{"name":"x","scopes":["read","read"]}`,
	).refused(http.StatusUnprocessableEntity, fault.Validation, "scopes")
	w.send(read, "POST", "/v1/tokens", `{"name":"x","scopes":[]}`).refused(
		http.StatusUnprocessableEntity, fault.Validation, "scopes",
	)

	ends := time.Now().Add(time.Hour).UTC()
	body := func(at time.Time) map[string]any {
		return map[string]any{"name": "x", "scopes": []any{"read", "tokens"}, "expires_at": at.Format(time.RFC3339Nano)}
	}

	w.send(read, "POST", "/v1/tokens", body(time.Now().Add(-time.Hour))).refused(
		http.StatusUnprocessableEntity, fault.Validation, "expires_at",
	)
	short := w.send(read, "POST", "/v1/tokens", body(ends)).ok(http.StatusCreated).body["token"].(string)
	w.send(short, "POST", "/v1/tokens", body(ends.Add(time.Hour))).refused(
		http.StatusUnprocessableEntity, fault.Validation, "expires_at",
	)
	child := w.send(short, "POST", "/v1/tokens", `{"name":"x","scopes":["read"]}`).ok(http.StatusCreated).body
	if got := child["expires_at"]; got == nil || !strings.HasPrefix(got.(string), ends.Format("2006-01-02T15:04:05")) {
		t.Errorf("a child without an end of its own ends at %v, want %s", got, ends)
	}

	_, endless := w.token(w.admin, account.ScopeRead)
	w.send(short, "POST", "/v1/tokens/"+endless+"/rotate", nil).refused(
		http.StatusUnprocessableEntity, fault.Validation, "expires_at",
	)

	users, _ := w.token(w.admin, account.ScopeUsers)
	refused(w.send(users, "POST", "/v1/users", `{"name":"x"}`), "[read library files deliveries tasks downloads webhooks tokens]")
	refused(
		w.send(users, "POST", "/v1/users", `{"name":"x","role":"ADMIN","scopes":["users"]}`),
		"[read library files deliveries tasks downloads webhooks tokens money operate]",
	)
	refused(
		w.send(users, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), `{"role":"ADMIN"}`),
		"[read library files deliveries tasks downloads webhooks tokens money operate]",
	)
	refused(
		w.send(users, "PATCH", "/v1/users/5", `{"status":"ACTIVE"}`),
		"[read library files deliveries tasks downloads webhooks tokens money operate]",
	)
	refused(
		w.send(users, "POST", fmt.Sprintf("/v1/users/%d/token", w.ada.ID), nil),
		"[read library files deliveries tasks downloads webhooks tokens]",
	)
	w.send(users, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), `{"status":"BLOCKED"}`).ok(http.StatusOK)
	if _, given := w.send(users, "POST", "/v1/users", `{"name":"x","scopes":[]}`).ok(http.StatusCreated).body["token"]; given {
		t.Error("a user without scopes got a token")
	}
}

// TestAdministratorsLookAfterOthersTokens lists and revokes them.
func TestAdministratorsLookAfterOthersTokens(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	narrow := w.send(
		w.adminToken, "POST", "/v1/users", `{"name":"agent","scopes":["read","tasks"]}`,
	).ok(http.StatusCreated).body

	w.send(
		w.adminToken, "POST", "/v1/users", `{"name":"x","scopes":["money"]}`,
	).refused(http.StatusUnprocessableEntity, fault.Validation, "scopes")
	path := fmt.Sprintf("/v1/users/%s/tokens", narrow["id"])
	list := w.send(w.adminToken, "GET", path, nil).ok(http.StatusOK).items()
	if len(list) != 1 || fmt.Sprint(list[0]["scopes"]) != "[read tasks]" {
		t.Fatalf("listed %v", list)
	}

	w.send(narrow["token"].(string), "GET", "/v1/tasks", nil).ok(http.StatusOK)
	w.send(w.adminToken, "DELETE", path+"/"+list[0]["id"].(string), nil).ok(http.StatusNoContent)
	w.send(narrow["token"].(string), "GET", "/v1/tasks", nil).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
	w.send(
		w.adminToken, "DELETE", path+"/"+list[0]["id"].(string), nil,
	).refused(http.StatusNotFound, fault.TokenNotFound, "")
	w.send(w.adminToken, "DELETE", "/v1/users/2/tokens/x", nil).refused(http.StatusNotFound, fault.TokenNotFound, "")
	w.send(w.adminToken, "DELETE", "/v1/users/999/tokens/1", nil).refused(http.StatusNotFound, fault.TokenNotFound, "")
	w.send(w.adminToken, "DELETE", "/v1/users/x/tokens/1", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	w.send(w.adminToken, "GET", "/v1/users/999/tokens", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	want := fmt.Sprintf("1 revoke-user-token user/%s done http", narrow["id"])
	if rows := w.audited(); !slices.Contains(rows, want) {
		t.Errorf("audited %v, want %s", rows, want)
	}
}

// TestASignInLink creates a link with a token of few scopes: the session has no more, and ends with the token.
func TestASignInLink(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	secret, id := w.token(w.ada, account.ScopeRead, account.ScopeFiles, account.ScopeTokens)
	made := w.send(secret, "POST", "/v1/sign-in-links", nil).ok(http.StatusCreated).body
	_, link, found := strings.Cut(made["url"].(string), "/sign-in/")
	ends, err := time.Parse(time.RFC3339, made["expires_at"].(string))
	if !found || err != nil || time.Until(ends) <= 0 {
		t.Fatalf("%v", made)
	}

	if user, err := w.store.Accounts.SpendLink(t.Context(), link, "cookie", time.Hour); err != nil || user.ID != w.ada.ID {
		t.Fatalf("%+v, %v", user, err)
	}
	if _, session, err := w.store.Accounts.SessionOf(t.Context(), "cookie"); err != nil || fmt.Sprint(session.Scopes) != "[read files tokens]" {
		t.Errorf("%+v, %v", session, err)
	}

	w.send(secret, "DELETE", "/v1/tokens/"+id, nil).ok(http.StatusNoContent)
	if _, _, err := w.store.Accounts.SessionOf(t.Context(), "cookie"); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("the session goes on: %v", err)
	}
}
