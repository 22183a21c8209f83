package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// nobody is an id that no user has.
const nobody = "999999"

// asks has a workspace's owner invite somebody.
func (w *rig) asks(token, space string, user any) {
	w.t.Helper()
	w.send(token, "PUT", fmt.Sprintf("/v1/workspaces/%s/members/%v", space, user), nil).ok(http.StatusNoContent)
}

// space creates a workspace without other members.
func (w *rig) space(token, name string) string {
	w.t.Helper()
	return w.send(token, "POST", "/v1/workspaces", map[string]any{"name": name}).ok(http.StatusCreated).body["id"].(string)
}

// members lists a workspace's members.
func (w *rig) members(token, space string) []string {
	w.t.Helper()
	return w.walk(token, "/v1/workspaces/"+space+"/members", "user_id")
}

// TestNothingOfAWorkspaceBeforeOneAgrees has a stranger invite somebody to a workspace with an urgent task: neither
// they nor their agent see, claim or are given any of it until they accept.
func TestNothingOfAWorkspaceBeforeOneAgrees(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	agent, agentToken := w.agentOf(w.bobToken, "read", "tasks")
	own := w.space(w.bobToken, "Bob's")
	w.asks(w.bobToken, own, agent)
	theirs := w.space(w.adaToken, "<b>Ada's</b>")
	for _, asked := range []any{w.bob.ID, agent} {
		w.asks(w.adaToken, theirs, asked)
	}

	stream, _ := w.listen(w.bobToken, "")
	urgent := w.task(w.adaToken, theirs, map[string]any{"priority": "critical"})["id"].(string)
	plain := w.task(w.bobToken, own, nil)["id"].(string)
	if event := w.next(stream); event.Data["entity_id"] != plain {
		t.Errorf("the stream shows %v before the person has agreed", event.Data)
	}

	if got := w.claimNext(agentToken, nil).nextID(); got != plain {
		t.Errorf("the agent gets task %v of a stranger before its owner's %v", got, plain)
	}
	if got := w.claimNext(agentToken, nil).nextID(); got != nil {
		t.Errorf("the agent gets the stranger's task %v", got)
	}

	for _, token := range []string{w.bobToken, agentToken} {
		for _, target := range []string{"", "/members", "/board", "/graph"} {
			w.send(token, "GET", "/v1/workspaces/"+theirs+target, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
		}
		w.send(token, "GET", "/v1/tasks/"+urgent, nil).refused(http.StatusNotFound, fault.TaskNotFound, "")
		w.act(token, urgent, "claim", "mine").refused(http.StatusNotFound, fault.TaskNotFound, "")
		w.act(token, urgent, "comments", "hello").refused(http.StatusNotFound, fault.TaskNotFound, "")
		w.claimNext(token, map[string]any{"workspace_id": theirs}).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
		w.send(token, "POST", "/v1/tasks", map[string]any{"workspace_id": theirs, "title": "a title"}).
			refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
		if got := w.walk(token, "/v1/workspaces", "id"); !slices.Equal(got, []string{own}) {
			t.Errorf("workspaces %v", got)
		}
		if got := w.walk(token, "/v1/tasks", "id"); !slices.Equal(got, []string{plain}) {
			t.Errorf("tasks %v", got)
		}
	}

	for _, asked := range []any{w.bob.ID, agent, nobody} {
		w.send(w.adaToken, "POST", "/v1/tasks", map[string]any{"workspace_id": theirs, "title": "a title", "assignee_id": fmt.Sprint(asked)}).
			refused(unprocessable, fault.Validation, "assignee_id")
	}
	if got := w.members(w.adaToken, theirs); !slices.Equal(got, []string{fmt.Sprint(w.ada.ID)}) {
		t.Errorf("the stranger sees the members %v", got)
	}

	asked := w.send(w.bobToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items()
	if len(asked) != 1 || asked[0]["workspace_id"] != theirs || asked[0]["workspace_name"] != "<b>Ada's</b>" ||
		asked[0]["invited_by"] != fmt.Sprint(w.ada.ID) || asked[0]["invited_by_name"] != w.ada.Name || len(asked[0]) != 6 {
		t.Errorf("Bob is asked %v", asked)
	}
	if asked := w.send(agentToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items(); len(asked) != 0 {
		t.Errorf("an agent is asked %v", asked)
	}
	w.send(agentToken, "POST", "/v1/workspaces/"+theirs+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")

	for range 2 {
		w.send(w.bobToken, "POST", "/v1/workspaces/"+theirs+"/agree", nil).ok(http.StatusNoContent)
	}
	w.send(w.bobToken, "GET", "/v1/tasks/"+urgent, nil).ok(http.StatusOK)
	w.send(agentToken, "GET", "/v1/tasks/"+urgent, nil).refused(http.StatusNotFound, fault.TaskNotFound, "")
	if got := w.members(w.adaToken, theirs); !slices.Equal(got, []string{fmt.Sprint(w.ada.ID), fmt.Sprint(w.bob.ID)}) {
		t.Errorf("after Bob has agreed the members are %v", got)
	}
	if asked := w.send(w.bobToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items(); len(asked) != 0 {
		t.Errorf("after Bob has agreed he is asked %v", asked)
	}
}

// TestAskingTellsNothing invites ids of all kinds: the response, the list of members and the rate are the same.
func TestAskingTellsNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.space(w.adaToken, "Ada's")
	agent, _ := w.agentOf(w.bobToken, "read")
	blocked, _ := w.user("Blocked", 501, account.RoleUser, account.UserBlocked)
	pending, _ := w.user("Pending", 502, account.RoleUser, account.UserPending)
	kinds := []any{w.bob.ID, nobody, agent, blocked.ID, pending.ID}
	for _, token := range []string{w.adaToken, w.adaToken, w.adminToken} { // again: already invited
		if token == w.adminToken {
			kinds = slices.DeleteFunc(kinds, func(one any) bool { return one == agent }) // an administrator's are added
		}
		for _, one := range kinds {
			if a := w.send(token, "PUT", fmt.Sprintf("/v1/workspaces/%s/members/%v", space, one), nil).ok(http.StatusNoContent); a.raw != "" {
				t.Errorf("%s answers %q", a.call, a.raw)
			}
		}
	}

	w.send(w.bobToken, "POST", "/v1/workspaces/"+space+"/refuse", nil).ok(http.StatusNoContent)
	w.asks(w.adaToken, space, w.bob.ID)
	for _, one := range kinds { // nobody is a member, so nobody is removed
		w.send(w.adaToken, "DELETE", fmt.Sprintf("/v1/workspaces/%s/members/%v", space, one), nil).ok(http.StatusNoContent)
	}
	if got := w.members(w.adaToken, space); !slices.Equal(got, []string{fmt.Sprint(w.ada.ID)}) {
		t.Errorf("members %v", got)
	}

	const already, allowed = 11, 50
	for n := range allowed - already {
		w.asks(w.adaToken, space, 1_000_000+n)
	}
	for _, one := range []any{w.bob.ID, nobody, w.admin.ID} {
		a := w.send(w.adaToken, "PUT", fmt.Sprintf("/v1/workspaces/%s/members/%v", space, one), nil).
			refused(http.StatusTooManyRequests, fault.RateLimited, "")
		if a.header.Get("Retry-After") == "" || a.body["details"].(map[string]any)["limit"] != "invitations" {
			t.Errorf("%s answers %s", a.call, a.raw)
		}
	}
	w.asks(w.adaToken, space, w.ada.ID) // a member
	w.asks(w.adminToken, space, nobody)
}

// TestARefusalIsForGood declines an invitation: nobody can invite the person again, and it is too late to accept. A
// person who leaves may be invited again.
func TestARefusalIsForGood(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.space(w.adaToken, "Ada's")
	target := "/v1/workspaces/" + space
	asked := func() int {
		return len(w.send(w.bobToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items())
	}

	for _, answer := range []string{"/agree", "/refuse"} { // there is no invitation
		w.send(w.bobToken, "POST", target+answer, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	}

	w.asks(w.adaToken, space, w.bob.ID)
	w.send(w.adaToken, "DELETE", fmt.Sprintf("%s/members/%d", target, w.bob.ID), nil).ok(http.StatusNoContent)
	if asked() != 0 {
		t.Error("what the owner has taken back is open still")
	}

	w.asks(w.adaToken, space, w.bob.ID)
	w.send(w.bobToken, "POST", target+"/agree", nil).ok(http.StatusNoContent)
	w.send(w.bobToken, "POST", target+"/refuse", nil).refused(conflict, fault.InvalidTransition, "") // he leaves instead
	w.send(w.bobToken, "DELETE", fmt.Sprintf("%s/members/%d", target, w.bob.ID), nil).ok(http.StatusNoContent)
	w.send(w.bobToken, "GET", target, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.bobToken, "POST", target+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")

	w.asks(w.adaToken, space, w.bob.ID)
	if asked() != 1 {
		t.Error("who has left is not asked again")
	}
	for range 2 {
		w.send(w.bobToken, "POST", target+"/refuse", nil).ok(http.StatusNoContent)
	}
	w.send(w.adaToken, "DELETE", fmt.Sprintf("%s/members/%d", target, w.bob.ID), nil).ok(http.StatusNoContent)
	for _, token := range []string{w.adaToken, w.adminToken} {
		w.asks(token, space, w.bob.ID)
	}
	if asked() != 0 {
		t.Error("who has refused is asked again")
	}
	w.send(w.bobToken, "POST", target+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	if got := w.members(w.adaToken, space); !slices.Equal(got, []string{fmt.Sprint(w.ada.ID)}) {
		t.Errorf("members %v", got)
	}
}

// TestABlockedUserAsksNobody blocks the inviting user: the invited person is not notified, and another user may invite
// them.
func TestABlockedUserAsksNobody(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.space(w.adaToken, "Ada's")
	w.asks(w.adaToken, space, w.bob.ID)
	w.send(w.adminToken, "PATCH", fmt.Sprintf("/v1/users/%d", w.ada.ID), map[string]any{"status": "BLOCKED"}).ok(http.StatusOK)
	if asked := w.send(w.bobToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items(); len(asked) != 0 {
		t.Errorf("a blocked user asks: %v", asked)
	}
	w.send(w.bobToken, "POST", "/v1/workspaces/"+space+"/agree", nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")

	w.asks(w.adminToken, space, w.bob.ID)
	if asked := w.send(w.bobToken, "GET", "/v1/invitations", nil).ok(http.StatusOK).items(); len(asked) != 1 || asked[0]["invited_by"] != "1" {
		t.Errorf("after an administrator has asked: %v", asked)
	}
}

// TestAgentsAreMovedByTheirOwners adds and removes agents: only owners and administrators may.
func TestAgentsAreMovedByTheirOwners(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.space(w.adaToken, "Ada's")
	agent, agentToken := w.agentOf(w.bobToken, "read", "tasks")
	target := "/v1/workspaces/" + space + "/members/" + agent
	inside := func() bool { return slices.Contains(w.members(w.adminToken, space), agent) }

	w.send(w.bobToken, "PUT", target, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "") // he is not a member
	w.send(w.adaToken, "PUT", target, nil).ok(http.StatusNoContent)
	if inside() {
		t.Error("the owner of the workspace has added another's agent")
	}

	w.asks(w.adaToken, space, w.bob.ID)
	w.send(w.bobToken, "PUT", target, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.bobToken, "POST", "/v1/workspaces/"+space+"/agree", nil).ok(http.StatusNoContent)
	for range 2 {
		w.send(w.bobToken, "PUT", target, nil).ok(http.StatusNoContent)
	}
	if !inside() {
		t.Error("a member's agent is not added")
	}

	w.send(w.adaToken, "DELETE", target, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(agentToken, "DELETE", target, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	for range 2 {
		w.send(w.bobToken, "DELETE", target, nil).ok(http.StatusNoContent)
	}
	if inside() {
		t.Error("the agent's owner has not removed it")
	}

	w.send(w.adminToken, "PUT", target, nil).ok(http.StatusNoContent)
	w.send(w.adaToken, "DELETE", fmt.Sprintf("/v1/workspaces/%s/members/%d", space, w.bob.ID), nil).ok(http.StatusNoContent)
	if inside() {
		t.Error("the agent stays without its owner")
	}

	w.send(w.adminToken, "PUT", target, nil).ok(http.StatusNoContent)
	w.send(w.bobToken, "DELETE", target, nil).ok(http.StatusNoContent) // he is not a member of the workspace
	w.send(w.adminToken, "PUT", target, nil).ok(http.StatusNoContent)
	w.send(w.adminToken, "DELETE", target, nil).ok(http.StatusNoContent)
	if inside() {
		t.Error("an administrator has not removed the agent")
	}
}

// TestAPersonIsInvitedByName invites by the name of a Telegram account; the response is the same for an unknown name.
func TestAPersonIsInvitedByName(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	theirs := w.space(w.adaToken, "Ada's")
	if err := w.store.Accounts.SaveUsername(t.Context(), w.bob.ID, "bob_by_name"); err != nil {
		t.Fatal(err)
	}
	w.asks(w.adaToken, theirs, "@nobody_here")
	w.asks(w.adaToken, theirs, "@Bob_By_Name")
	if got := w.walk(w.bobToken, "/v1/invitations", "workspace_id"); !slices.Equal(got, []string{theirs}) {
		t.Errorf("the person is asked into %v", got)
	}
	w.send(w.adaToken, "PUT", "/v1/workspaces/"+theirs+"/members/bob_by_name", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
}
