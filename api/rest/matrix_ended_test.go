package rest_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"stagecoach/api/mcp/tool"
	"stagecoach/dev/race"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// ended returns secrets by the way in which each has just ended. All except the browser's were valid a moment before;
// those of users have all administrator scopes.
func (w *rig) ended() map[string]string {
	w.t.Helper()
	ended, telegram := map[string]string{}, int64(900)
	admin := func(name string) (account.User, string) {
		telegram++
		return w.user(name, telegram, account.RoleAdmin, account.UserActive)
	}
	end := func(how, secret string, by func()) {
		w.t.Helper()
		w.send(secret, "GET", "/v1/tasks", nil).ok(http.StatusOK)
		by()
		ended[how] = secret
	}
	admins := func(method string, body any, path string, of ...any) func() {
		return func() {
			if got := w.send(w.adminToken, method, fmt.Sprintf(path, of...), body); got.status >= 300 {
				w.t.Fatalf("%s is answered with %d %s", got.call, got.status, got.raw)
			}
		}
	}

	root, _ := admin("Tokens")
	revoked, id := w.token(root, account.Scopes...)
	end("a token that was revoked", revoked, admins("DELETE", nil, "/v1/users/%d/tokens/%s", root.ID, id))

	maker, id := w.token(root, account.Scopes...)
	made := w.send(maker, "POST", "/v1/tokens", object{"name": "made", "scopes": account.Scopes}).ok(http.StatusCreated).body
	_, of := w.agentOf(maker, "read", "tasks")
	end("a token of an agent that a revoked token has made", of, func() {})
	revoke := admins("DELETE", nil, "/v1/users/%d/tokens/%s", root.ID, id)
	end("a token that a revoked token has made", at[string](made, "token"), revoke)

	expired, id := w.token(root, account.Scopes...)
	end("a token that has expired", expired, func() { w.exec(`UPDATE tokens SET expires_at = now() WHERE id = $1`, id) })

	rotated, id := w.token(w.admin, account.Scopes...)
	end("a token that was rotated", rotated, admins("POST", object{"grace_seconds": 0}, "/v1/tokens/%s/rotate", id))

	renewing, renewed := admin("Renewed")
	end("a user's token that was renewed", renewed, admins("POST", nil, "/v1/users/%d/token", renewing.ID))

	blocking, blocked := admin("Blocked")
	_, of = w.agentOf(blocked, "read", "tasks")
	end("a token of an agent whose owner is blocked", of, func() {})
	block := admins("PATCH", object{"status": account.UserBlocked}, "/v1/users/%d", blocking.ID)
	end("a token of a user who is blocked", blocked, block)

	forgetting, forgotten := admin("Forgotten")
	_, of = w.agentOf(forgotten, "read", "tasks")
	end("a token of an agent whose owner is forgotten", of, func() {})
	end("a token of a user who is forgotten", forgotten, admins("POST", nil, "/v1/users/%d/forget", forgetting.ID))

	agent, of := w.agentOf(w.bobToken, "read", "tasks")
	end("a token of an agent that has ended", of, func() {
		w.send(w.bobToken, "DELETE", "/v1/agents/"+agent, nil).ok(http.StatusOK)
	})

	session, link := account.NewSecret(), account.NewSecret()
	token := account.Token{ID: w.idOfToken(root), UserID: root.ID, Scopes: account.Scopes}
	if err := w.store.Accounts.StartSession(w.t.Context(), token, session, time.Hour); err != nil {
		w.t.Fatal(err)
	}
	if err := w.store.Accounts.NewLink(w.t.Context(), root.ID, link, account.Scopes, account.Maker{}); err != nil {
		w.t.Fatal(err)
	}
	ended["the secret of a browser's session"], ended["the secret of a link that signs in"] = session, link
	return ended
}

// idOfToken is the id of a user's first token.
func (w *rig) idOfToken(user account.User) int64 {
	w.t.Helper()
	tokens, err := w.store.Accounts.Tokens(w.t.Context(), user.ID, 0, 1)
	if err != nil || len(tokens) != 1 {
		w.t.Fatal(tokens, err)
	}
	return tokens[0].ID
}

// turnedAway checks that a response is the one to somebody unknown or no longer active.
func (w *rig) turnedAway(how string, got reply) {
	w.t.Helper()
	code := fault.Code(fmt.Sprint(got.body["code"]))
	unknown := got.status == http.StatusUnauthorized && code == fault.Unauthenticated
	inactive := got.status == http.StatusForbidden && code == fault.UserNotActive
	if !unknown && !inactive {
		w.t.Errorf("%s: %s is answered with %d %s", how, got.call, got.status, got.raw)
	}
}

// TestMatrixOfEndedTokens calls each operation and each tool with tokens that have just ended in every possible way.
func TestMatrixOfEndedTokens(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	ended := w.ended()
	hows := slices.Sorted(maps.Keys(ended))
	for _, c := range w.cells() {
		if c.open {
			continue
		}
		w.unchanged(c.id, func() {
			for _, how := range hows {
				w.turnedAway(how, w.call(c, ended[how], c.target, c.body))
			}
		})
	}

	for name, arguments := range usual() {
		call := object{"name": name, "arguments": arguments}
		message := object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
		w.unchanged(name, func() {
			for _, how := range hows {
				w.turnedAway(how, w.send(ended[how], "POST", tool.Path, message, "Accept", "application/json, text/event-stream"))
			}
		})
	}
}

// TestMatrixOfAnAdministratorNoMore calls each administrators' operation with the token of a demoted administrator.
func TestMatrixOfAnAdministratorNoMore(t *testing.T) {
	if race.Enabled {
		t.Skip("runs without the race detector: it asks thousands of requests one after the other")
	}
	t.Parallel()
	w := newRig(t)
	w.callersOutOfReach()
	w.oneOfEverything()
	was, secret := w.user("Was", 900, account.RoleAdmin, account.UserActive)
	w.send(secret, "GET", "/v1/users", nil).ok(http.StatusOK)
	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", was.ID), object{"role": account.RoleUser}).ok(http.StatusOK)
	for _, c := range w.cells() {
		if c.admin {
			w.unchanged(c.id, func() {
				w.call(c, secret, c.target, c.body).refused(http.StatusForbidden, fault.InsufficientAccess, "")
			})
		}
	}
}
