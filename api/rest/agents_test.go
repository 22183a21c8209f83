package rest_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/api/rest"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

// agentOf creates an agent and returns its id and token.
func (w *rig) agentOf(token string, scopes ...string) (id, secret string) {
	w.t.Helper()
	made := w.send(token, "POST", "/v1/agents", map[string]any{"name": "night shift", "scopes": scopes}).ok(http.StatusCreated).body
	return made["id"].(string), made["token"].(string)
}

// TestTheLifeOfAnAgent creates an agent that claims a task with a lease, shows its owner what it does, and ends it.
func TestTheLifeOfAnAgent(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id, secret := w.agentOf(w.bobToken, "read", "tasks", "tokens")
	own := "/v1/agents/" + id

	// It can act where its owner has added it, and nowhere else.
	task := w.task(w.adaToken, space, nil)["id"]
	w.act(secret, task, "claim", "mine").refused(http.StatusNotFound, "TASK_NOT_FOUND", "")
	w.send(w.bobToken, "PUT", fmt.Sprintf("/v1/workspaces/%v/members/%s", space, id), nil).ok(http.StatusNoContent)
	w.act(secret, task, "claim", "mine").ok(http.StatusOK)

	did := w.send(w.bobToken, "GET", own+"/events", nil).ok(http.StatusOK).items()
	if len(did) != 1 || did[0]["type"] != "claimed" || did[0]["entity_id"] != task || did[0]["actor_id"] != id {
		t.Errorf("it did %v", did)
	}
	w.send(w.adaToken, "GET", own+"/events", nil).refused(http.StatusNotFound, "USER_NOT_FOUND", "")
	w.send(secret, "POST", "/v1/agents", map[string]any{"name": "x", "scopes": []string{"read"}}).
		refused(http.StatusForbidden, "INSUFFICIENT_ACCESS", "")
	narrow := w.send(w.bobToken, "POST", "/v1/tokens", map[string]any{"name": "narrow", "scopes": []string{"read", "tokens"}}).
		ok(http.StatusCreated).body["token"].(string)
	w.send(narrow, "DELETE", own, nil).refused(http.StatusForbidden, "INSUFFICIENT_SCOPE", "")
	w.send(w.adaToken, "DELETE", own, nil).refused(http.StatusNotFound, "USER_NOT_FOUND", "")

	another := w.send(w.bobToken, "POST", own+"/tokens", map[string]any{"name": "other", "scopes": []string{"read"}}).
		ok(http.StatusCreated).body
	if items := w.send(w.bobToken, "GET", own+"/tokens", nil).ok(http.StatusOK).items(); len(items) != 2 {
		t.Errorf("tokens %v", items)
	}
	w.send(another["token"].(string), "GET", "/v1/tasks", nil).ok(http.StatusOK)
	w.send(w.bobToken, "DELETE", fmt.Sprintf("%s/tokens/%v", own, another["id"]), nil).ok(http.StatusNoContent)
	w.send(another["token"].(string), "GET", "/v1/tasks", nil).refused(http.StatusUnauthorized, "UNAUTHENTICATED", "")

	ended := w.send(w.bobToken, "DELETE", own, nil).ok(http.StatusOK).body
	if ended["status"] != "BLOCKED" {
		t.Errorf("ended %v", ended)
	}
	w.send(secret, "GET", "/v1/tasks", nil).refused(http.StatusUnauthorized, "UNAUTHENTICATED", "")
	if back := w.send(w.adaToken, "GET", fmt.Sprintf("/v1/tasks/%v", task), nil).ok(http.StatusOK).body; back["status"] != "NEW" {
		t.Errorf("its task is %v", back["status"])
	}
	w.send(w.bobToken, "DELETE", own, nil).ok(http.StatusOK)
	w.send(w.bobToken, "POST", own+"/tokens", map[string]any{"name": "other", "scopes": []string{"read"}}).
		refused(conflict, "INVALID_TRANSITION", "")
}

// TestAgentsAreBlockedWithTheirOwner blocks an owner: the agent may do nothing, and its lease ends. Then it unblocks
// both.
func TestAgentsAreBlockedWithTheirOwner(t *testing.T) {
	t.Parallel()
	var told atomic.Int64
	w := newRigWith(t, func(o *rest.Options) { o.OnBlocked = func(_ context.Context, id int64) { told.Store(id) } })
	space := w.workspace()
	id, secret := w.agentOf(w.bobToken, "read", "tasks")
	w.send(w.bobToken, "PUT", fmt.Sprintf("/v1/workspaces/%v/members/%s", space, id), nil).ok(http.StatusNoContent)
	task := w.task(w.adaToken, space, nil)["id"]
	w.send(secret, "POST", fmt.Sprintf("/v1/tasks/%v/claim", task), map[string]any{"comment": "c", "lease_seconds": 3600}).ok(http.StatusOK)
	held := func() bool {
		row, err := w.store.Tasks.ByID(t.Context(), 0, 1)
		if err != nil || row.LeaseExpiresAt == nil {
			t.Fatal(row, err)
		}
		return row.LeaseExpiresAt.After(time.Now())
	}

	if !held() {
		t.Error("its lease has ended while it works")
	}
	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.bob.ID), map[string]any{"status": "BLOCKED"}).ok(http.StatusOK)
	w.send(secret, "POST", fmt.Sprintf("/v1/tasks/%v/heartbeat", task), map[string]any{}).refused(http.StatusForbidden, "USER_NOT_ACTIVE", "")
	if held() {
		t.Error("its lease goes on")
	}
	if got := told.Load(); got != w.bob.ID {
		t.Errorf("the end of the lease was told of user %d", got)
	}

	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.bob.ID), map[string]any{"status": "ACTIVE"}).ok(http.StatusOK)
	w.send(secret, "GET", "/v1/tasks", nil).ok(http.StatusOK)
	w.send(w.adminToken, "PATCH", "/v1/users/"+id, map[string]any{"role": "ADMIN"}).refused(http.StatusUnprocessableEntity, "VALIDATION_ERROR", "role")
}

// TestAgentsAreBounded refuses scopes that the owner's token lacks, and agents beyond the limit.
func TestAgentsAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	wanted := func(scopes ...string) map[string]any { return map[string]any{"name": "x", "scopes": scopes} }
	narrow := w.send(w.bobToken, "POST", "/v1/tokens", wanted("read", "tokens")).ok(http.StatusCreated).body["token"].(string)
	w.send(narrow, "POST", "/v1/agents", wanted("read", "tasks")).refused(http.StatusForbidden, "INSUFFICIENT_SCOPE", "")
	w.send(w.bobToken, "POST", "/v1/agents", wanted("users")).refused(http.StatusUnprocessableEntity, "VALIDATION_ERROR", "scopes")
	w.send(w.bobToken, "POST", "/v1/agents", wanted()).refused(http.StatusUnprocessableEntity, "VALIDATION_ERROR", "scopes")

	w.store.SetQuotas(core.Quotas{account.AgentQuota.Name: 2})
	first, _ := w.agentOf(w.bobToken, "read")
	w.agentOf(w.bobToken, "read")
	w.send(w.bobToken, "POST", "/v1/agents", wanted("read")).refused(conflict, "QUOTA_EXCEEDED", "")
	w.send(w.bobToken, "DELETE", "/v1/agents/"+first, nil).ok(http.StatusOK)
	w.agentOf(w.bobToken, "read")
}
