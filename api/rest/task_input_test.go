package rest_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestTaskBodiesThatAreWrong(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := fmt.Sprint(w.task(w.adaToken, space, nil)["id"])
	long := func(n int) string { return strings.Repeat("x", n) }
	many := func(n int, item string) string { return strings.Repeat(item+",", n-1) + item }
	task := []wrongBody{ // after the valid fields
		{`"title":""`, "title"},
		{`"title":"     "`, "title"},
		{`"title":"` + long(201) + `"`, "title"},
		{`"title":null`, "title"},
		{`"title":5`, "title"},
		{`"title":"a\nb c d"`, "title"},
		{`"title":"abcde\u0000"`, "title"},
		{`"title":"title","description":"a\u0000"`, "description"},
		{`"title":"title","description":"` + long(20001) + `"`, "description"},
		{`"title":"title","description":7`, "description"},
		{`"title":"title","visibility":"secret"`, "visibility"},
		{`"title":"title","visibility":"Public"`, "visibility"},
		{`"title":"title","visibility":1`, "visibility"},
		{`"title":"title","priority":"urgent"`, "priority"},
		{`"title":"title","priority":0`, "priority"},
		{`"title":"title","labels":"a"`, "labels"},
		{`"title":"title","labels":[""]`, "labels[0]"},
		{`"title":"title","labels":["a",1]`, "labels[1]"},
		{`"title":"title","labels":["` + long(51) + `"]`, "labels[0]"},
		{`"title":"title","labels":["\u0000"]`, "labels[0]"},
		{`"title":"title","labels":[` + many(21, `"a"`) + `]`, "labels"},
		{`"title":"title","assignee_id":"x"`, "assignee_id"},
		{`"title":"title","assignee_id":1`, "assignee_id"},
		{`"title":"title","assignee_id":"0"`, "assignee_id"},
		{`"title":"title","assignee_id":"9999999999999999999"`, "assignee_id"},
		{`"title":"title","assignee_id":"999999"`, "assignee_id"},
		{`"title":"title","blocked_by":"1"`, "blocked_by"},
		{`"title":"title","blocked_by":[1]`, "blocked_by[0]"},
		{`"title":"title","blocked_by":[""]`, "blocked_by[0]"},
		{`"title":"title","blocked_by":[` + many(101, `"1"`) + `]`, "blocked_by"},
		{`"title":"title","blocked_by":["\u0000"]`, "blocked_by[0]"},
		{`"title":"title","status":"DONE"`, "status"},
		{`"title":"title","creator_id":"1"`, "creator_id"},
		{`"title":"title","id":"1"`, "id"},
		{`"TITLE":"title"`, "title"},
	}

	var single, batch []wrongBody
	for _, c := range task {
		single = append(single, wrongBody{fmt.Sprintf(`{"workspace_id":"%s",%s}`, space, c.body), c.field})
		batch = append(
			batch,
			wrongBody{fmt.Sprintf(`{"workspace_id":"%s","tasks":[{"title":"title"},{%s}]}`, space, c.body), "tasks[1]." + c.field},
		)
	}

	single = append(single, wrongBody{`{"title":"title"}`, "workspace_id"}, wrongBody{`{"workspace_id":1,"title":"title"}`, "workspace_id"},
		wrongBody{`{"workspace_id":"x","title":"title"}`, "workspace_id"}, wrongBody{`{"workspace_id":"` + space + `"}`, "title"}, wrongBody{`{"workspace_id":"` + space + `","title":"title","ref":"a"}`, "ref"})
	batch = append(batch, wrongBody{`{"workspace_id":"` + space + `"}`, "tasks"}, wrongBody{`{"workspace_id":"` + space + `","tasks":[]}`, "tasks"},
		wrongBody{`{"workspace_id":"` + space + `","tasks":{}}`, "tasks"}, wrongBody{
			`{"workspace_id":"` + space + `","tasks":[7]}`, "tasks[0]",
		},
		wrongBody{`{"workspace_id":"` + space + `","tasks":[` + many(501, `{"title":"title"}`) + `]}`, "tasks"},
		wrongBody{`{"workspace_id":"` + space + `","tasks":[{"ref":7,"title":"title"}]}`, "tasks[0].ref"}, wrongBody{`{"workspace_id":"` + space + `","tasks":[{"ref":"` + long(101) + `","title":"title"}]}`, "tasks[0].ref"})

	space1 := []wrongBody{
		{`{"name":""}`, "name"},
		{`{"name":" "}`, "name"},
		{`{"name":7}`, "name"},
		{`{"name":"a\u0000"}`, "name"},
		{`{"name":"` + long(201) + `"}`, "name"},
		{`{"name":"x","status_deadlines":{"NEW":-1}}`, "status_deadlines.NEW"},
		{`{"name":"x","status_deadlines":{"NEW":"5"}}`, "status_deadlines.NEW"},
		{`{"name":"x","status_deadlines":{"DONE":1}}`, "status_deadlines.DONE"},
		{`{"name":"x","status_deadlines":{"BLOCKED":1e300}}`, "status_deadlines.BLOCKED"},
		{`{"name":"x","status_deadlines":{"NEW":1e-9}}`, "status_deadlines.NEW"},
		{`{"name":"x","status_deadlines":{"IN_PROGRESS":0.016}}`, "status_deadlines.IN_PROGRESS"},
		{`{"name":"x","status_deadlines":5}`, "status_deadlines"},
		{`{"name":"x","stuck_release_after":0.99}`, "stuck_release_after"},
		{`{"name":"x","stuck_release_after":1e300}`, "stuck_release_after"},
		{`{"name":"x","stuck_release_after":-1}`, "stuck_release_after"},
		{`{"name":"x","stuck_release_after":"1"}`, "stuck_release_after"},
		{`{"name":"x","new_deadline_waits_for_blockers":1}`, "new_deadline_waits_for_blockers"},
		{`{"name":"x","owner_id":"1"}`, "owner_id"},
		{`{"name":"x","id":"1"}`, "id"},
	}

	comment := []wrongBody{
		{`{"comment":7}`, "comment"},
		{`{"comment":"a\u0000"}`, "comment"},
		{`{"comment":"` + long(4001) + `"}`, "comment"},
		{`{"comment":"x","actor":"1"}`, "actor"},
		{`{"Comment":"x"}`, "Comment"},
		{`[]`, "body"},
	}

	w.wrongBodies(w.adaToken, map[string][]wrongBody{
		"POST /v1/tasks": single, "POST /v1/tasks/batch": batch,
		"POST /v1/workspaces": append(space1, wrongBody{`{}`, "name"}), "PATCH /v1/workspaces/" + space: space1,
		"POST /v1/tasks/" + id + "/claim": comment, "POST /v1/tasks/" + id + "/escalate": comment,
		"POST /v1/tasks/" + id + "/takeover": comment,
		"POST /v1/tasks/" + id + "/comments": comment,
		"POST /v1/tasks/" + id + "/status": {
			{`{"comment":"x"}`, "to"},
			{`{"to":"done","comment":"x"}`, "to"},
			{`{"to":"","comment":"x"}`, "to"},
			{`{"to":null,"comment":"x"}`, "to"},
			{`{"to":1,"comment":"x"}`, "to"},
			{`{"to":"DONE","comment":7}`, "comment"},
			{`{"to":"DONE","comment":"x","assignee_id":"1"}`, "assignee_id"},
		},
	})
	if got := w.walk(w.adaToken, "/v1/tasks", "id"); len(got) != 1 {
		t.Errorf("wrong requests made tasks: %v", got)
	}
	if got := w.walk(w.adaToken, "/v1/tasks/"+id+"/events", "type"); len(got) != 1 {
		t.Errorf("wrong requests made events: %v", got)
	}
}
