package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// task creates a task in a workspace; more has further fields.
func (w *rig) task(token, workspace string, more map[string]any) map[string]any {
	w.t.Helper()
	body := map[string]any{"workspace_id": workspace, "title": "Write it down"}
	for name, value := range more {
		body[name] = value
	}
	return w.send(token, "POST", "/v1/tasks", body).ok(http.StatusCreated).body
}

// act performs an action on a task.
func (w *rig) act(token string, task any, action, comment string, headers ...string) reply {
	w.t.Helper()
	return w.actAt(token, task, action, comment, "", headers...)
}

// actAt is act with a query.
func (w *rig) actAt(token string, task any, action, comment, query string, headers ...string) reply {
	w.t.Helper()
	body := map[string]any{"comment": comment}
	if to, isStatus := strings.CutPrefix(action, "status "); isStatus {
		action, body["to"] = "status", to
	}

	switch action {
	case "submit":
		body["result"] = 1
	case "approve", "reject": // what the task shows, or a number if it shows none
		body["submission"] = 1
		if shown := w.send(token, "GET", fmt.Sprintf("/v1/tasks/%v", task), nil).body["submission"]; shown != nil {
			body["submission"] = shown
		}
	case "edit":
		return w.send(token, "PATCH", fmt.Sprintf("/v1/tasks/%v%s", task, query), map[string]any{"title": "Write it up"}, headers...)
	}
	return w.send(token, "POST", fmt.Sprintf("/v1/tasks/%v/%s%s", task, action, query), body, headers...)
}

func TestATask(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	first := w.task(w.adaToken, space, nil)
	made := w.task(w.adaToken, space, map[string]any{
		"title": " Ship it 🦊 ", "description": "two\nlines", "visibility": "private", "priority": "critical", "labels": []string{"a", "б"},
		"assignee_id": fmt.Sprint(w.bob.ID), "blocked_by": []any{first["id"]},
	})

	for name, want := range map[string]any{
		"workspace_id": space, "title": "Ship it 🦊", "description": "two\nlines", "visibility": "private", "priority": "critical",
		"labels": "[a б]", "status": "NEW", "creator_id": fmt.Sprint(w.ada.ID), "assignee_id": fmt.Sprint(w.bob.ID),
		"blocked_by": fmt.Sprintf("[%v]", first["id"]), "blockers": fmt.Sprintf("[map[id:%v status:NEW]]", first["id"]),
		"ready": false, "allowed_actions": "[status edit]", "allowed_statuses": "[CANCELLED]", "workflow_id": fmt.Sprint("task/", made["id"]),
		"started_at": nil, "finished_at": nil, "release_at": nil,
	} {
		if got, ok := made[name]; !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}

	for name, want := range map[string]any{
		"description": "", "visibility": "public", "priority": "normal", "labels": "[]", "assignee_id": nil, "blocked_by": "[]",
		"blockers": "[]", "ready": true, "allowed_actions": "[claim status edit]",
	} {
		if got, ok := first[name]; !ok || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("by default %s is %v, want %v", name, got, want)
		}
	}

	if first["status_deadline_at"] == nil || first["created_at"] == nil || first["updated_at"] == nil || first["status_since"] == nil {
		t.Errorf("times of %v", first)
	}
	if got := w.send(w.bobToken, "GET", fmt.Sprint("/v1/tasks/", made["id"]), nil).ok(http.StatusOK).body; got["title"] != "Ship it 🦊" ||
		fmt.Sprint(got["allowed_actions"]) != "[]" {
		t.Errorf("Bob sees %v", got)
	}
	if len(w.temporal.started) != 2 {
		t.Errorf("started %v", w.temporal.started)
	}
}

func TestABatch(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	old := w.task(w.adaToken, space, nil)["id"]
	batch := func(tasks string, headers ...string) reply {
		return w.send(
			w.adaToken, "POST", "/v1/tasks/batch", fmt.Sprintf(`{"workspace_id":"%s","tasks":[%s]}`, space, tasks), headers...,
		)
	}

	// A task may refer to a later one.
	items := batch(fmt.Sprintf(
		`{"ref":"b","title":"second","blocked_by":["a","%v","a"]},{"ref":"a","title":"first"},{"title":"nameless"}`, old,
	)).
		ok(http.StatusCreated).items()
	if len(items) != 3 || items[0]["ref"] != "b" || items[1]["ref"] != "a" || items[2]["ref"] != "" || items[0]["title"] != "second" {
		t.Fatalf("made %v", items)
	}
	if want := fmt.Sprintf("[%v %v]", old, items[1]["id"]); fmt.Sprint(items[0]["blocked_by"]) != want {
		t.Errorf("blocked by %v, want %s", items[0]["blocked_by"], want)
	}

	before := len(w.walk(w.adaToken, "/v1/tasks", "id"))
	cycle := batch(
		`{"ref":"x","title":"xxxxx","blocked_by":["y"]},{"ref":"y","title":"yyyyy","blocked_by":["z"]},{"ref":"z","title":"zzzzz","blocked_by":["x"]},{"ref":"w","title":"wwwww","blocked_by":["x"]}`,
	).
		refused(unprocessable, fault.CyclicDependency, "tasks[0].blocked_by[0]")
	if got := fmt.Sprint(cycle.body["details"].(map[string]any)["cycle"]); got != "[x y z x]" {
		t.Errorf("cycle %s", got)
	}

	batch(`{"ref":"x","title":"xxxxx","blocked_by":["x"]}`).refused(
		unprocessable, fault.CyclicDependency, "tasks[0].blocked_by[0]",
	)
	unknown := batch(`{"ref":"x","title":"xxxxx","blocked_by":["y","999999"]}`).refused(
		unprocessable, fault.UnknownBlocker, "tasks[0].blocked_by[0]",
	)
	if got := fmt.Sprint(unknown.body["details"].(map[string]any)["unknown"]); got != "[y]" {
		t.Errorf("unknown %s", got)
	}

	batch(`{"ref":"x","title":"xxxxx"},{"ref":"x","title":"yyyyy"}`).refused(
		unprocessable, fault.Validation, "tasks[1].ref",
	)
	batch(`{"title":"xxxxx"},{"title":"yyyyy","assignee_id":"999999"}`).refused(
		unprocessable, fault.Validation, "tasks[1].assignee_id",
	)
	batch(fmt.Sprintf(`{"title":"xxxxx"},{"title":"yyyyy","blocked_by":["%v","999999"]}`, old)).refused(
		unprocessable, fault.UnknownBlocker, "tasks[1].blocked_by[1]",
	)
	w.send(
		w.adaToken, "POST", "/v1/tasks", fmt.Sprintf(`{"workspace_id":"%s","title":"xxxxx","blocked_by":["999999"]}`, space),
	).
		refused(unprocessable, fault.UnknownBlocker, "blocked_by[0]")
	other := w.send(w.adaToken, "POST", "/v1/workspaces", `{"name":"Other"}`).ok(http.StatusCreated).body["id"].(string)
	w.send(
		w.adaToken, "POST", "/v1/tasks", fmt.Sprintf(`{"workspace_id":"%s","title":"xxxxx","blocked_by":["%v"]}`, other, old),
	).
		refused(unprocessable, fault.UnknownBlocker, "blocked_by[0]")
	if after := len(w.walk(w.adaToken, "/v1/tasks", "id")); after != before {
		t.Errorf("refused batches left %d tasks", after-before)
	}
}

func TestListsOfTasks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space, other := w.workspace(), w.workspace()
	var here []string
	for range 3 {
		here = append(here, w.task(w.adaToken, space, nil)["id"].(string))
		w.task(w.adaToken, other, nil)
	}

	slices.Reverse(here)
	if got := w.walk(w.bobToken, "/v1/tasks?limit=1&workspace_id="+space, "id"); !slices.Equal(got, here) {
		t.Errorf("of the workspace: %v, want %v", got, here)
	}

	w.act(w.bobToken, here[0], "claim", "mine").ok(http.StatusOK)
	waits := w.task(w.adaToken, space, map[string]any{"blocked_by": []string{here[0]}})["id"].(string)
	private := w.task(w.adaToken, space, map[string]any{"visibility": "private"})["id"].(string)
	for query, want := range map[string][]string{
		"status=IN_PROGRESS": here[:1], "assignee=me": here[:1], fmt.Sprintf("assignee=%d", w.bob.ID): here[:1],
		fmt.Sprintf("assignee=%d", w.ada.ID): nil, "workspace_id=999999": nil, "status=DONE": nil,
		"ready=true&workspace_id=" + space: here[1:], "ready=true&status=IN_PROGRESS": nil,
	} {
		if got := w.walk(w.bobToken, "/v1/tasks?"+query, "id"); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v (%s waits, %s is private)", query, got, want, waits, private)
		}
	}

	for _, item := range w.send(w.bobToken, "GET", "/v1/tasks?ready=true&limit=200", nil).ok(http.StatusOK).items() {
		if item["ready"] != true || !slices.Contains(item["allowed_actions"].([]any), "claim") {
			t.Errorf("listed as ready: %v", item)
		}
	}

	for query, field := range map[string]string{
		"status=new": "status", "status=NONE": "status", "ready=maybe": "ready", "assignee=x": "assignee", "assignee=0": "assignee",
		"assignee=9999999999999999999": "assignee", "workspace_id=x": "workspace_id", "workspace_id=9999999999999999999": "workspace_id",
	} {
		w.send(w.adaToken, "GET", "/v1/tasks?"+query, nil).refused(unprocessable, fault.Validation, field)
	}
}
