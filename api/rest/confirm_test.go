package rest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// inSession makes a request as a page does: within this process, for a person whose identity was confirmed that long
// ago.
func (w *rig) inSession(user account.User, ago time.Duration, method, target string, body any) reply {
	w.t.Helper()
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			w.t.Fatal(err)
		}
	}

	now := time.Now()
	session := account.Session{
		ID: 1, Scopes: account.Scopes, ConfirmedAt: now.Add(-ago), StartedAt: now.Add(-time.Hour), ExpiresAt: now.Add(time.Hour),
	}
	who := server.Principal{User: user, Token: session.Token(user.ID), Session: &session}
	r, err := http.NewRequestWithContext(
		server.WithPrincipal(w.t.Context(), who), method, "http://pages.example"+target, bytes.NewReader(text),
	)
	if err != nil {
		w.t.Fatal(err)
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return w.by(&http.Client{Transport: server.InProcess{Handler: w.api}}, r)
}

// asking are the operations that require a confirmed identity from a session.
var asking = []string{
	"change-user", "create-agent", "create-agent-token", "create-sign-in-link", "create-token", "create-user",
	"forget-user", "pause-payments", "renew-user-token", "resolve-transaction", "resume-payments", "retry-transaction",
	"review-transaction", "rotate-token", "write-off-transaction",
}

// TestSessionsAskAgain calls each operation with a session that was confirmed too long ago and with one that was just
// confirmed. What moves money or grants access is refused to the first, and changes nothing.
func TestSessionsAskAgain(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	var found []string
	for _, c := range w.cells() {
		if !slices.Contains(asking, c.id) {
			continue
		}
		found = append(found, c.id)
		w.unchanged(c.id, func() {
			w.inSession(w.admin, 6*time.Minute, c.method, c.target, c.body).refused(http.StatusForbidden, fault.ConfirmationRequired, "")
		})
	}
	if !slices.Equal(slices.Sorted(slices.Values(found)), asking) {
		t.Errorf("asked %v", found)
	}

	w.inSession(w.admin, 6*time.Minute, "GET", "/v1/users", nil).ok(http.StatusOK)
	for _, c := range w.cells() { // last, because this changes the record
		if !slices.Contains(asking, c.id) {
			continue
		}
		got := w.inSession(w.admin, time.Minute, c.method, c.target, c.body)
		if got.status == http.StatusUnauthorized || got.body["code"] == string(fault.ConfirmationRequired) {
			t.Errorf("%s in a session that was confirmed a minute ago: %s", c.id, got.raw)
		}
		if got = w.call(c, w.adminToken, c.target, c.body); got.body["code"] == string(fault.ConfirmationRequired) {
			t.Errorf("%s with a token: %s", c.id, got.raw)
		}
	}
}

// TestPagesMakeNoAdministratorsToken requests an administrator's token in every way with a session that was just
// confirmed: whoever stole the session could keep the token.
func TestPagesMakeNoAdministratorsToken(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	second := w.send(w.adminToken, "POST", "/v1/users", `{"name":"s","role":"ADMIN"}`).ok(http.StatusCreated).body
	full, fullID := w.token(w.admin, account.Scopes...)

	now := func(method, target string, body any) reply {
		return w.inSession(w.admin, 0, method, target, body)
	}
	w.unchanged("a session", func() {
		for _, scope := range []string{"money", "operate", "users"} {
			now("POST", "/v1/tokens", map[string]any{"name": "x", "scopes": []string{"read", scope}}).
				refused(http.StatusForbidden, fault.InsufficientAccess, "")
			now("POST", "/v1/users", map[string]any{"name": "x", "role": "ADMIN", "scopes": []string{scope}}).
				refused(http.StatusForbidden, fault.InsufficientAccess, "")
		}
		now("POST", "/v1/users", map[string]any{"name": "x", "role": "ADMIN"}).refused(http.StatusForbidden, fault.InsufficientAccess, "")
		now("POST", fmt.Sprintf("/v1/users/%v/token", second["id"]), nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
		now("POST", "/v1/tokens/"+fullID+"/rotate", nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	})
	w.send(full, "GET", "/v1/users", nil).ok(http.StatusOK)

	// What a user may have is created, and so is an administrator without a token.
	now("POST", "/v1/tokens", map[string]any{"name": "x", "scopes": []string{"read", "tokens"}}).ok(http.StatusCreated)
	user := now("POST", "/v1/users", map[string]any{"name": "u"}).ok(http.StatusCreated).body
	if user["token"] == nil {
		t.Errorf("a user has no token: %v", user)
	}
	now("POST", fmt.Sprintf("/v1/users/%v/token", user["id"]), nil).ok(http.StatusOK)
	admin := now("POST", "/v1/users", map[string]any{"name": "a", "role": "ADMIN", "scopes": []string{}}).ok(http.StatusCreated).body
	if admin["token"] != nil {
		t.Errorf("an administrator has a token: %v", admin)
	}
}
