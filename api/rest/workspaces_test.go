package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// workspace creates a workspace of Ada's with Bob as a member, and returns its id.
func (w *rig) workspace() string {
	w.t.Helper()
	id := w.send(w.adaToken, "POST", "/v1/workspaces", `{"name":"Shop"}`).ok(http.StatusCreated).body["id"].(string)
	w.joins(id, w.bob.ID, w.bobToken)
	return id
}

// joins makes somebody a member of a workspace of Ada's: she invites them, and they accept.
func (w *rig) joins(space string, user int64, token string) {
	w.t.Helper()
	w.asks(w.adaToken, space, user)
	w.send(token, "POST", "/v1/workspaces/"+space+"/agree", nil).ok(http.StatusNoContent)
}

func TestAWorkspace(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	made := w.send(
		w.adaToken, "POST", "/v1/workspaces",
		`{"name":" Shop 🦊 ","status_deadlines":{"NEW":0.5,"BLOCKED":0},"stuck_release_after":7,"new_deadline_waits_for_blockers":true}`,
	).
		ok(http.StatusCreated).body

	id := made["id"].(string)
	for name, want := range map[string]any{
		"name": "Shop 🦊", "owner_id": fmt.Sprint(w.ada.ID), "stuck_release_after": 7.0, "new_deadline_waits_for_blockers": true,
		"status_deadlines": "map[BLOCKED:0 IN_PROGRESS:1440 NEW:0.5]",
	} {
		if fmt.Sprint(made[name]) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, made[name], want)
		}
	}

	usual := w.send(w.adaToken, "POST", "/v1/workspaces", `{"name":"Usual"}`).ok(http.StatusCreated).body
	if fmt.Sprint(usual["status_deadlines"]) != "map[BLOCKED:2880 IN_PROGRESS:1440 NEW:120]" || usual["stuck_release_after"] != 0.0 ||
		usual["new_deadline_waits_for_blockers"] != false {
		t.Errorf("defaults %v", usual)
	}

	target := "/v1/workspaces/" + id
	changed := w.send(
		w.adaToken, "PATCH", target, `{"status_deadlines":{"NEW":60},"stuck_release_after":0}`,
	).ok(http.StatusOK).body
	if fmt.Sprint(changed["status_deadlines"]) != "map[BLOCKED:0 IN_PROGRESS:1440 NEW:60]" || changed["name"] != "Shop 🦊" ||
		changed["stuck_release_after"] != 0.0 || changed["new_deadline_waits_for_blockers"] != true {
		t.Errorf("changed %v", changed)
	}

	w.send(w.adaToken, "PATCH", target, `{}`).refused(unprocessable, fault.Validation, "body")
	if got := w.send(w.adaToken, "GET", target, nil).ok(http.StatusOK).body; fmt.Sprint(got) != fmt.Sprint(changed) {
		t.Errorf("got %v, want %v", got, changed)
	}

	w.joins(id, w.bob.ID, w.bobToken)
	member := fmt.Sprintf("%s/members/%d", target, w.bob.ID)
	for range 2 { // a member stays one
		if a := w.send(w.adaToken, "PUT", member, nil).ok(http.StatusNoContent); a.raw != "" {
			t.Errorf("%s answers %q", a.call, a.raw)
		}
	}

	w.send(w.bobToken, "GET", target, nil).ok(http.StatusOK)
	for _, nobody := range []string{"x", "0", "01"} {
		w.send(w.adaToken, "PUT", target+"/members/"+nobody, nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	}

	if rows := w.audited(); len(rows) != 0 {
		t.Errorf("people who use what is theirs are audited: %v", rows)
	}

	w.send(w.bobToken, "PATCH", target, `{"name":"Bob's"}`).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(w.bobToken, "PUT", member, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.send(w.adminToken, "PATCH", target, `{"name":"Root's"}`).ok(http.StatusOK)
	want := []string{
		fmt.Sprintf("%d change-workspace workspace/%s refused http", w.bob.ID, id),
		fmt.Sprintf("%d add-workspace-member workspace/%s refused http", w.bob.ID, id),
		fmt.Sprintf("1 change-workspace workspace/%s done http", id),
	}
	if rows := w.audited(); !slices.Equal(rows, want) {
		t.Errorf("audited %v, want %v", rows, want)
	}
}

func TestMembers(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.workspace()
	target := "/v1/workspaces/" + id + "/members"
	ada, bob := fmt.Sprint(w.ada.ID), fmt.Sprint(w.bob.ID)

	for _, limit := range []string{"1", "2", "200"} {
		if got := w.walk(w.bobToken, target+"?limit="+limit, "user_id"); !slices.Equal(got, []string{ada, bob}) {
			t.Errorf("limit %s: %v", limit, got)
		}
	}

	if got := w.send(w.adaToken, "GET", target, nil).ok(http.StatusOK).items()[0]; got["name"] != w.ada.Name || got["joined_at"] == nil || got["owner_name"] != "" || len(got) != 4 {
		t.Errorf("a member is %v", got)
	}

	kept := w.task(w.bobToken, id, nil)["id"].(string)
	w.send(w.bobToken, "DELETE", target+"/"+ada, nil).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	for _, token := range []string{w.adaToken, w.adminToken} {
		w.send(token, "DELETE", target+"/"+ada, nil).refused(unprocessable, fault.Validation, "user")
	}

	w.send(w.adaToken, "DELETE", target+"/x", nil).refused(http.StatusNotFound, fault.UserNotFound, "")
	w.send(w.bobToken, "DELETE", target+"/"+bob, nil).ok(http.StatusNoContent) // leaving
	w.send(w.bobToken, "GET", target, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(w.bobToken, "DELETE", target+"/"+bob, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.send(
		w.bobToken, "POST", "/v1/tasks", fmt.Sprintf(`{"workspace_id":"%s","title":"a title"}`, id),
	).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	if got := w.walk(w.bobToken, "/v1/tasks", "id"); !slices.Equal(got, []string{kept}) {
		t.Errorf("of the workspace that he has left Bob sees the tasks %v, want his own", got)
	}

	w.joins(id, w.bob.ID, w.bobToken)
	for range 2 { // removing again is a no-op
		w.send(w.adminToken, "DELETE", target+"/"+bob, nil).ok(http.StatusNoContent)
	}

	want := []string{
		fmt.Sprintf("%s remove-workspace-member workspace/%s refused http", bob, id),
		fmt.Sprintf("%s list-workspace-members workspace/%s refused http", bob, id),
		fmt.Sprintf("%s create-task workspace/%s refused http", bob, id),
		fmt.Sprintf("1 remove-workspace-member workspace/%s done http", id),
		fmt.Sprintf("1 remove-workspace-member workspace/%s done http", id),
	}
	known := map[string]bool{}
	rows := slices.DeleteFunc(w.audited(), func(row string) bool { // the same refusal is another row in another minute
		again := known[row] && strings.Contains(row, "refused")
		known[row] = true
		return again
	})
	if !slices.Equal(rows, want) {
		t.Errorf("audited %v, want %v", rows, want)
	}
}

func TestAnothersWorkspaceIsNotThere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.send(w.adaToken, "POST", "/v1/workspaces", `{"name":"Ada's"}`).ok(http.StatusCreated).body["id"].(string)
	calls := [][3]string{
		{"GET", "/v1/workspaces/%s", ""},
		{"PATCH", "/v1/workspaces/%s", `{"name":"x"}`},
		{"GET", "/v1/workspaces/%s/members", ""},
		{"PUT", "/v1/workspaces/%s/members/2", ""},
		{"DELETE", "/v1/workspaces/%s/members/2", ""},
		{"GET", "/v1/stats/tasks?workspace_id=%s", ""},
		{"POST", "/v1/tasks", `{"workspace_id":"%s","title":"a title"}`},
		{"POST", "/v1/tasks/batch", `{"workspace_id":"%s","tasks":[{"title":"a title"}]}`},
	}

	for _, call := range calls {
		for _, id := range []string{id, "999999"} {
			target, body := call[1], any(nil)
			if call[0] != "POST" {
				target = fmt.Sprintf(target, id)
			}

			if call[2] != "" {
				body = call[2]
			}

			if call[0] == "POST" {
				body = fmt.Sprintf(call[2], id)
			}

			w.send(w.bobToken, call[0], target, body).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
		}
	}

	for _, nobodys := range []string{"abc", "0", "-1", "01", "99999999999999999999", "%00"} {
		w.send(w.adaToken, "GET", "/v1/workspaces/"+nobodys, nil).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	}

	var want []string
	for _, op := range []string{"get-workspace", "change-workspace", "list-workspace-members", "add-workspace-member", "remove-workspace-member", "get-task-stats", "create-task", "create-tasks"} {
		want = append(want, fmt.Sprintf("%d %s workspace/%s refused http", w.bob.ID, op, id))
	}

	if rows := w.audited(); !slices.Equal(rows, want) {
		t.Errorf("audited %v, want %v", rows, want)
	}
}

func TestListsOfWorkspaces(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var adas, all []string
	for i := range 7 {
		token := w.adaToken
		if i%3 == 0 {
			token = w.bobToken
		}
		id := w.send(token, "POST", "/v1/workspaces", `{"name":"x"}`).ok(http.StatusCreated).body["id"].(string)
		all = append(all, id)
		if token == w.adaToken {
			adas = append(adas, id)
		}
	}

	for _, limit := range []int{1, 2, 7, 200} {
		if got := w.walk(w.adaToken, fmt.Sprintf("/v1/workspaces?limit=%d", limit), "id"); !slices.Equal(got, adas) {
			t.Errorf("limit %d: %v, want %v", limit, got, adas)
		}
		if got := w.walk(w.adminToken, fmt.Sprintf("/v1/workspaces?limit=%d", limit), "id"); !slices.Equal(got, all) {
			t.Errorf("limit %d: %v, want %v", limit, got, all)
		}
	}
}
