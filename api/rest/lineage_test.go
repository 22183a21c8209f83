package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// tokenUntil creates a token with an expiry directly in the record.
func (w *rig) tokenUntil(user account.User, ends time.Time, scopes ...account.Scope) (secret, id string) {
	w.t.Helper()
	secret = account.NewToken()
	token, err := w.store.Accounts.CreateToken(
		w.t.Context(), account.Token{UserID: user.ID, Name: "test", Scopes: scopes, ExpiresAt: &ends}, secret,
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret, fmt.Sprint(token.ID)
}

// made creates a token with another token, through the API.
func (w *rig) made(by string, scopes ...string) (secret, id string) {
	w.t.Helper()
	body := w.send(by, "POST", "/v1/tokens", map[string]any{"name": "made", "scopes": scopes}).ok(http.StatusCreated).body
	return body["token"].(string), body["id"].(string)
}

// out checks that a token no longer grants access.
func (w *rig) out(what, secret string) {
	w.t.Helper()
	if a := w.send(secret, "GET", "/v1/overview", nil); a.status != http.StatusUnauthorized {
		w.t.Errorf("%s goes on: %d", what, a.status)
	}
}

// TestRevokingEndsWhatATokenMade revokes a token that has created tokens that created tokens, an agent with a task in
// progress, a webhook and a session: all of them end with it, and nothing else does.
func TestRevokingEndsWhatATokenMade(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	leaked, leakedID := w.made(w.bobToken, "read", "tasks", "webhooks", "tokens")
	child, _ := w.made(leaked, "read", "tokens")
	grandchild, _ := w.made(child, "read")
	other, _ := w.made(w.bobToken, "read", "tasks", "tokens")

	agent, agentSecret := w.agentOf(leaked, "read", "tasks", "webhooks", "tokens")
	second := w.send(w.bobToken, "POST", "/v1/agents/"+agent+"/tokens", `{"name":"own","scopes":["read"]}`).ok(http.StatusCreated).body
	ofAgent, _ := w.made(agentSecret, "read")
	kept, keptSecret := w.agentOf(other, "read")

	space := w.workspace()
	w.send(w.bobToken, "PUT", fmt.Sprintf("/v1/workspaces/%v/members/%s", space, agent), nil).ok(http.StatusNoContent)
	task := w.task(w.adaToken, space, nil)["id"]
	w.act(agentSecret, task, "claim", "mine").ok(http.StatusOK)

	hook := w.send(leaked, "POST", "/v1/webhooks", `{"address":"`+receiver+`"}`).ok(http.StatusCreated).body["id"]
	ownHook := w.send(w.bobToken, "POST", "/v1/webhooks", `{"address":"`+receiver+`"}`).ok(http.StatusCreated).body["id"]
	agentHook := w.send(agentSecret, "POST", "/v1/webhooks", `{"address":"`+receiver+`"}`).ok(http.StatusCreated).body["id"]

	shown := w.send(w.bobToken, "GET", "/v1/tokens/"+leakedID+"/descendants", nil).ok(http.StatusOK).body
	if got := fmt.Sprint(shown["tokens"], shown["agents"], shown["webhooks"], shown["users"]); got != "5 1 2 0" {
		t.Errorf("shown before: %v", shown)
	}
	if items := shown["items"].([]any); len(items) != 8 {
		t.Errorf("items %v", items)
	}
	w.send(w.adaToken, "GET", "/v1/tokens/"+leakedID+"/descendants", nil).refused(http.StatusNotFound, fault.TokenNotFound, "")

	w.send(w.bobToken, "DELETE", "/v1/tokens/"+leakedID, nil).ok(http.StatusNoContent)
	for what, secret := range map[string]string{
		"the token": leaked, "its child": child, "its grandchild": grandchild, "its agent": agentSecret,
		"another token of the agent": second["token"].(string), "the agent's token": ofAgent,
	} {
		w.out(what, secret)
	}
	for what, secret := range map[string]string{"the maker": w.bobToken, "another token": other, "another agent": keptSecret} {
		if a := w.send(secret, "GET", "/v1/overview", nil); a.status != http.StatusOK {
			t.Errorf("%s has ended: %s", what, a.raw)
		}
	}

	if got := w.send(w.bobToken, "GET", "/v1/agents/"+agent, nil).ok(http.StatusOK).body; got["status"] != "BLOCKED" {
		t.Errorf("its agent is %v", got)
	}
	if got := w.send(w.bobToken, "GET", "/v1/agents/"+kept, nil).ok(http.StatusOK).body; got["status"] != "ACTIVE" {
		t.Errorf("another agent is %v", got)
	}
	if got := w.send(w.adaToken, "GET", fmt.Sprintf("/v1/tasks/%v", task), nil).ok(http.StatusOK).body; got["status"] != "NEW" {
		t.Errorf("its agent's task is %v", got["status"])
	}

	got := w.send(w.bobToken, "GET", fmt.Sprintf("/v1/webhooks/%v", hook), nil).ok(http.StatusOK).body
	if got["state"] != "PAUSED" || got["reason"] != "token_ended" {
		t.Errorf("its webhook is %v", got)
	}
	if got := w.send(w.bobToken, "GET", fmt.Sprintf("/v1/webhooks/%v", ownHook), nil).ok(http.StatusOK).body; got["state"] != "ACTIVE" {
		t.Errorf("another webhook is %v", got)
	}
	var state string
	if err := w.db.QueryRow(t.Context(), `SELECT state FROM webhooks WHERE id = $1::text::bigint`, agentHook).Scan(&state); err != nil || state != "PAUSED" {
		t.Errorf("its agent's webhook is %s, %v", state, err)
	}
	var told int
	if err := w.db.QueryRow(t.Context(), `SELECT count(*) FROM news WHERE user_id = $1 AND workload = 'webhook'`, w.bob.ID).Scan(&told); err != nil || told != 2 {
		t.Errorf("the owner is told of %d webhooks, %v", told, err)
	}

	audit := w.send(w.adminToken, "GET", "/v1/audit?limit=1", nil).ok(http.StatusOK).items()[0]
	if audit["action"] != "revoke-token" || audit["subject"] != "token/"+leakedID || audit["detail"] != "ended 5 tokens, 1 agents, 2 webhooks" {
		t.Errorf("audited %v", audit)
	}

	// Resuming it takes it over, with the resuming user's own token.
	w.send(other, "PATCH", fmt.Sprintf("/v1/webhooks/%v", hook), `{"state":"ACTIVE"}`).refused(http.StatusForbidden, fault.InsufficientScope, "")
	resumed := w.send(w.bobToken, "PATCH", fmt.Sprintf("/v1/webhooks/%v", hook), `{"state":"ACTIVE"}`).ok(http.StatusOK).body
	if resumed["state"] != "ACTIVE" {
		t.Errorf("resumed %v", resumed)
	}
}

// TestWhatAnAdministratorsTokenMadeEndsWithIt creates a user, renews another's token and creates an administrator with
// a token that expires: none of it outlives the token, and revoking the token ends all of it.
func TestWhatAnAdministratorsTokenMadeEndsWithIt(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ends := time.Now().Add(time.Hour).UTC().Truncate(time.Microsecond)
	short, shortID := w.tokenUntil(w.admin, ends, account.Scopes...)

	until := func(what, user string) {
		t.Helper()
		list := w.send(w.adminToken, "GET", "/v1/users/"+user+"/tokens", nil).ok(http.StatusOK).items()
		for _, one := range list {
			at, err := time.Parse(time.RFC3339Nano, fmt.Sprint(one["expires_at"]))
			if err != nil || at.After(ends) {
				t.Errorf("%s ends at %v, want %s", what, one["expires_at"], ends)
			}
		}
		if len(list) == 0 {
			t.Errorf("%s is not there", what)
		}
	}

	user := w.send(short, "POST", "/v1/users", `{"name":"u"}`).ok(http.StatusCreated).body
	until("a new user's token", user["id"].(string))
	boss := w.send(short, "POST", "/v1/users", `{"name":"boss","role":"ADMIN"}`).ok(http.StatusCreated).body
	until("a new administrator's token", boss["id"].(string))
	ofBoss, _ := w.made(boss["token"].(string), "read")
	renewed := w.send(short, "POST", fmt.Sprintf("/v1/users/%d/token", w.ada.ID), nil).ok(http.StatusOK).body
	until("a renewed token", fmt.Sprint(w.ada.ID))

	// A person with a Telegram account needs no token, so this would never end.
	w.send(short, "POST", "/v1/users", `{"name":"x","role":"ADMIN","telegram_id":"900"}`).
		refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(short, "PATCH", fmt.Sprintf("/v1/users/%d", w.bob.ID), `{"role":"ADMIN"}`).
		refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(short, "PATCH", "/v1/users/4", `{"status":"ACTIVE"}`).refused(http.StatusForbidden, fault.InsufficientAccess, "")

	promoted := w.send(w.adminToken, "POST", "/v1/users", `{"name":"p"}`).ok(http.StatusCreated).body["id"].(string)
	w.send(w.adminToken, "PATCH", "/v1/users/"+promoted, `{"role":"ADMIN"}`).ok(http.StatusOK)
	var own string
	for _, one := range w.send(w.adminToken, "GET", "/v1/tokens", nil).ok(http.StatusOK).items() {
		if one["current"] == true {
			own = one["id"].(string)
		}
	}
	if people := w.send(w.adminToken, "GET", "/v1/tokens/"+own+"/descendants", nil).ok(http.StatusOK).body; people["users"] != 1.0 {
		t.Errorf("whom it promoted: %v", people)
	}

	w.send(w.adminToken, "DELETE", fmt.Sprintf("/v1/users/%d/tokens/%s", w.admin.ID, shortID), nil).ok(http.StatusNoContent)
	for what, secret := range map[string]string{
		"the token": short, "the user's": user["token"].(string), "the administrator's": boss["token"].(string),
		"what that one made": ofBoss, "the renewed one": renewed["token"].(string),
	} {
		w.out(what, secret)
	}
}

// TestSessionsEndWithTheTokenOfTheirLink signs in with a link from a token that expires: the session, and what it
// creates, end no later. A link ends with its token.
func TestSessionsEndWithTheTokenOfTheirLink(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ends := time.Now().Add(time.Hour)
	short, id := w.tokenUntil(w.ada, ends, account.ScopesOf(account.RoleUser)...)
	link := func(by string) string {
		t.Helper()
		url := w.send(by, "POST", "/v1/sign-in-links", nil).ok(http.StatusCreated).body["url"].(string)
		return url[len(url)-52:]
	}

	if _, err := w.store.Accounts.SpendLink(t.Context(), link(short), "cookie", 7*24*time.Hour); err != nil {
		t.Fatal(err)
	}
	_, session, err := w.store.Accounts.SessionOf(t.Context(), "cookie")
	if err != nil || session.ExpiresAt.After(ends) || session.Token(w.ada.ID).ExpiresAt.After(ends) {
		t.Errorf("the session ends at %s, want %s, %v", session.ExpiresAt, ends, err)
	}

	left := link(short)
	w.send(w.adaToken, "DELETE", "/v1/tokens/"+id, nil).ok(http.StatusNoContent)
	if _, err := w.store.Accounts.SpendLink(t.Context(), left, "late", time.Hour); fault.CodeOf(err) != fault.Unauthenticated {
		t.Errorf("the link of a revoked token signs in: %v", err)
	}
}

// TestRotationStaysWithinTheLineage rotates a token with another one, whose end becomes its end, and never past its
// parent's expiry.
func TestRotationStaysWithinTheLineage(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ends := time.Now().Add(time.Hour).UTC()
	parent, parentID := w.tokenUntil(w.bob, ends, account.ScopesOf(account.RoleUser)...)
	_, childID := w.made(parent, "read", "tokens")
	late := map[string]any{"expires_at": ends.Add(time.Hour).Format(time.RFC3339Nano)}
	rotated := w.send(w.bobToken, "POST", "/v1/tokens/"+childID+"/rotate", late).ok(http.StatusOK).body
	if at, err := time.Parse(time.RFC3339Nano, rotated["expires_at"].(string)); err != nil || at.After(ends) {
		t.Errorf("a rotated child ends at %s, its parent at %s, %v", rotated["expires_at"], ends, err)
	}

	// Shortening a parent shortens its children.
	sooner := ends.Add(-30 * time.Minute)
	w.send(w.bobToken, "POST", "/v1/tokens/"+parentID+"/rotate", map[string]any{"expires_at": sooner.Format(time.RFC3339Nano)}).ok(http.StatusOK)
	for _, one := range w.send(w.bobToken, "GET", "/v1/tokens", nil).ok(http.StatusOK).items() {
		if one["id"] != childID {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, one["expires_at"].(string)); err != nil || at.After(sooner) {
			t.Errorf("a child ends at %s, its parent at %s, %v", one["expires_at"], sooner, err)
		}
	}

	// What a leaked token has rotated is in the attacker's hands.
	leaked, leakedID := w.made(w.bobToken, "read", "tokens")
	_, victimID := w.made(w.bobToken, "read")
	taken := w.send(leaked, "POST", "/v1/tokens/"+victimID+"/rotate", nil).ok(http.StatusOK).body["token"].(string)
	w.send(w.bobToken, "DELETE", "/v1/tokens/"+leakedID, nil).ok(http.StatusNoContent)
	w.out("what it rotated", taken)
}

// TestManagingTokensIsAScope requires the scope to create, change or revoke tokens, but lets any token revoke itself.
func TestManagingTokensIsAScope(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	read, readID := w.token(w.ada, account.ScopeRead)
	_, other := w.token(w.ada, account.ScopeRead)
	for _, call := range []struct{ method, target, body string }{
		{"POST", "/v1/tokens", `{"name":"x","scopes":["read"]}`},
		{"POST", "/v1/tokens/" + other + "/rotate", `{}`},
		{"POST", "/v1/tokens/" + readID + "/rotate", `{}`},
		{"POST", "/v1/sign-in-links", ""},
		{"DELETE", "/v1/tokens/" + other, ""},
		{"POST", "/v1/agents", `{"name":"x","scopes":["read"]}`},
	} {
		var body any
		if call.body != "" {
			body = call.body
		}
		a := w.send(read, call.method, call.target, body).refused(http.StatusForbidden, fault.InsufficientScope, "")
		if missing := fmt.Sprint(a.body["details"].(map[string]any)["missing"]); missing != "[tokens]" {
			t.Errorf("%s: missing %s", a.call, missing)
		}
	}

	w.send(read, "GET", "/v1/tokens", nil).ok(http.StatusOK)
	tasks, tasksID := w.token(w.ada, lifecycle.TaskScope)
	w.send(tasks, "GET", "/v1/tokens", nil).refused(http.StatusForbidden, fault.InsufficientScope, "")
	w.send(tasks, "DELETE", "/v1/tokens/"+tasksID, nil).ok(http.StatusNoContent)
	w.out("a token that has ended itself", tasks)
}

// TestBothAddressesCompareScopes revokes a token at its owner's endpoint and at the administrators' endpoint: at
// neither can a token with only the scope users revoke one that grants more.
func TestBothAddressesCompareScopes(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	users, _ := w.token(w.admin, account.ScopeUsers)
	_, strong := w.token(w.admin, account.ScopeUsers, account.ScopeRead)
	_, foreign := w.token(w.ada, account.ScopeRead)
	w.send(users, "DELETE", "/v1/tokens/"+strong, nil).refused(http.StatusForbidden, fault.InsufficientScope, "")
	for user, token := range map[int64]string{w.admin.ID: strong, w.ada.ID: foreign} {
		a := w.send(users, "DELETE", fmt.Sprintf("/v1/users/%d/tokens/%s", user, token), nil).
			refused(http.StatusForbidden, fault.InsufficientScope, "")
		if missing := fmt.Sprint(a.body["details"].(map[string]any)["missing"]); missing != "[read]" && missing != "[read tokens]" {
			t.Errorf("%s: missing %s", a.call, missing)
		}
	}

	both, _ := w.token(w.admin, account.ScopeUsers, account.ScopeRead)
	w.send(both, "DELETE", fmt.Sprintf("/v1/users/%d/tokens/%s", w.ada.ID, foreign), nil).ok(http.StatusNoContent)
}

// TestRenewingTheConfiguredTokenIsRefused at the endpoint that renews users' tokens: it would lock the owner out.
func TestRenewingTheConfiguredTokenIsRefused(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	if err := w.store.Accounts.EnsureAdmins(t.Context(), "of the configuration", nil); err != nil {
		t.Fatal(err)
	}
	owner, _, err := w.store.Accounts.Authenticate(t.Context(), "of the configuration")
	if err != nil {
		t.Fatal(err)
	}

	w.send(w.adminToken, "POST", fmt.Sprintf("/v1/users/%d/token", owner.ID), nil).refused(conflict, fault.InvalidTransition, "")
	w.send("of the configuration", "GET", "/v1/users", nil).ok(http.StatusOK)
}
