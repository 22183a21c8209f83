package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// TestArgumentsAsAgentsWriteThem accepts what is unambiguous, and refuses the rest.
func TestArgumentsAsAgentsWriteThem(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	a := w.agent(w.adminToken)
	made := func(arguments map[string]any) string {
		t.Helper()
		arguments["workspace_id"] = space
		return a.call("task_create", arguments)["tasks"].([]any)[0].(map[string]any)["id"].(string)
	}
	id := made(map[string]any{"tasks": []any{map[string]any{"title": "First task", "description": "Old", "labels": []any{"docs", "web"}}}})
	number := 0
	_, _ = fmt.Sscan(id, &number)

	for _, arguments := range []map[string]any{
		{"status": nil},
		{"status": ""},
		{"status": "new"},
		{"status": " NEW "},
		{"assignee": nil, "cursor": ""},
		{"workspace_id": ""},
		{"limit": "5"},
		{"limit": " 5 "},
		{"limit": 5.0},
		{"limit": ""},
		{"ready": "true"},
		{"ready": "True"},
		{"ready": nil},
		{"workspace_id": " " + space + " "},
	} {
		if found := a.call("tasks_find", arguments)["tasks"].([]any); len(found) != 1 {
			t.Errorf("%v finds %v", arguments, found)
		}
	}
	for _, task := range []any{id, number, float64(number), " " + id} {
		if got := a.call("task_get", map[string]any{"task_id": task}); got["id"] != id {
			t.Errorf("%v gives %v", task, got["id"])
		}
	}

	for _, tasks := range []any{
		`[{"title":"As JSON text","labels":"[\"docs\"]"}]`,
		map[string]any{"title": "Not in a list", "labels": "docs"},
		`{"title":"One as JSON text"}`,
		[]any{`{"title":"One of a list"}`},
		[]any{map[string]any{"title": "With null", "ref": nil, "labels": nil, "priority": "High"}},
		[]any{map[string]any{"title": "After another", "blocked_by": []any{number}}},
	} {
		made(map[string]any{"tasks": tasks})
	}
	a.call("task_update", map[string]any{"task_id": number, "action": "Comment", "comment": "said", "submission": nil, "labels": nil})

	for name, c := range map[string]struct {
		arguments map[string]any
		field     string
	}{
		"a word for a number":    {map[string]any{"limit": "five"}, "limit"},
		"half a number":          {map[string]any{"limit": "5.5"}, "limit"},
		"a number out of bounds": {map[string]any{"limit": "500"}, "limit"},
		"nothing for a boolean":  {map[string]any{"ready": ""}, "ready"},
		"a word for a boolean":   {map[string]any{"ready": "perhaps"}, "ready"},
		"a boolean for a status": {map[string]any{"status": true}, "status"},
		"another status":         {map[string]any{"status": "FINISHED"}, "status"},
		"a list for an id":       {map[string]any{"workspace_id": []any{space}}, "workspace_id"},
		"an unknown argument":    {map[string]any{"stat": "NEW"}, "stat"},
	} {
		problem := a.refused("tasks_find", c.arguments, fault.Validation)
		if text := fmt.Sprint(problem); !strings.Contains(text, c.field) || strings.Contains(text, "reflect") {
			t.Errorf("%s: %v", name, problem)
		}
	}
	a.refused("task_create", map[string]any{"workspace_id": space, "tasks": `[{"title":"Cut`}, fault.Validation)
	a.refused("task_get", map[string]any{"task_id": nil}, fault.Validation)

	// An explicitly empty value clears a field, over HTTP too.
	a.call("task_update", map[string]any{"task_id": id, "action": "edit", "description": "", "labels": []any{}})
	shown := w.send(w.adminToken, "GET", "/v1/tasks/"+id, nil).ok(http.StatusOK).body
	if shown["description"] != "" || len(shown["labels"].([]any)) != 0 || shown["title"] != "First task" {
		t.Errorf("cleared by a tool: %v", shown)
	}
	w.send(w.adminToken, "PATCH", "/v1/tasks/"+id, map[string]any{"description": "New", "labels": []string{"web"}}).ok(http.StatusOK)
	shown = w.send(w.adminToken, "PATCH", "/v1/tasks/"+id, map[string]any{"description": "", "labels": []string{}}).ok(http.StatusOK).body
	if shown["description"] != "" || len(shown["labels"].([]any)) != 0 {
		t.Errorf("cleared over HTTP: %v", shown)
	}
	for _, wrong := range []map[string]any{{"priority": nil}, {"priority": "High"}, {"labels": "docs"}} { // HTTP stays strict
		w.send(w.adminToken, "PATCH", "/v1/tasks/"+id, wrong).refused(http.StatusUnprocessableEntity, fault.Validation, "")
	}
}

// TestTheNewestEventsOfATask come first, and lead to all others.
func TestTheNewestEventsOfATask(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	a := w.agent(w.adminToken)
	id := a.call("task_create", map[string]any{"workspace_id": space, "tasks": []any{map[string]any{"title": "Much discussed"}}})["tasks"].([]any)[0].(map[string]any)["id"].(string)
	for i := range 130 {
		w.send(w.adminToken, "POST", "/v1/tasks/"+id+"/comments", map[string]any{"comment": fmt.Sprint("Comment ", i)}).ok(http.StatusCreated)
	}

	var comments []string
	arguments := map[string]any{"task_id": id}
	for more := true; more; {
		got := a.call("task_get", arguments)
		for _, event := range got["events"].([]any) {
			if others, said := event.(map[string]any)["written_by_others"].(map[string]any); said {
				comments = append(comments, others["comment"].(string))
			}
		}
		arguments["events_cursor"], more = got["events_cursor"]
	}
	if len(comments) != 130 || comments[0] != "Comment 129" || comments[129] != "Comment 0" {
		t.Errorf("%d comments: %q", len(comments), comments)
	}

	oldest := w.send(w.adminToken, "GET", "/v1/tasks/"+id+"/events?limit=2", nil).ok(http.StatusOK)
	w.send(w.adminToken, "GET", "/v1/tasks/"+id+"/events?order=newest&cursor="+oldest.body["next_cursor"].(string), nil).
		refused(http.StatusUnprocessableEntity, fault.Validation, "cursor")
}

// TestClientsOfTheTools may request plain JSON, and be pages of this machine.
func TestClientsOfTheTools(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	ask := func(method string, headers ...string) reply {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, w.url+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+w.adaToken)
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		return w.do(r)
	}

	for _, accept := range []string{"application/json", "*/*", "", "application/json;q=0.9", "application/json, text/event-stream", "text/event-stream, application/json"} {
		if answer := ask(http.MethodPost, "Accept", accept); answer.status != http.StatusOK || !strings.Contains(answer.raw, `"task_claim"`) {
			t.Errorf("Accept: %s is answered %d, %s", accept, answer.status, answer.raw)
		}
	}

	for origin, want := range map[string]bool{
		"http://localhost:6274": true, "http://127.0.0.1:6274": true, "http://[::1]:6274": true, "http://localhost": true, w.url: true,
		"https://evil.example": false, "http://localhost.evil.example": false, "null": false, "http://192.168.1.2": false,
	} {
		answer := ask(http.MethodPost, "Origin", origin, "Sec-Fetch-Site", "cross-site")
		if allowed := answer.header.Get("Access-Control-Allow-Origin") == origin; allowed != want || (answer.status == http.StatusOK) != want {
			t.Errorf("a page of %s is answered %d, %v, %s", origin, answer.status, answer.header, answer.raw)
		}
		answer = ask(http.MethodOptions, "Origin", origin, "Authorization", "", "Access-Control-Request-Method", "POST",
			"Access-Control-Request-Headers", "authorization,content-type,mcp-protocol-version")
		allowed := answer.header.Get("Access-Control-Allow-Headers") == "authorization,content-type,mcp-protocol-version"
		if allowed != want || (answer.status == http.StatusNoContent) != want || answer.header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("a preflight of %s is answered %d, %v", origin, answer.status, answer.header)
		}
	}
}

// TestTextsOfNothing are blank, whatever characters they consist of.
func TestTextsOfNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, nil)["id"].(string)
	for _, blank := range []string{"\u200b\u200b\u200b\u200b\u200b", "\u3164\u3164\u3164\u3164\u3164", "\u2800\u2800\u2800\u2800\u2800\u2800"} {
		w.send(w.adaToken, "POST", "/v1/tasks", map[string]any{"workspace_id": space, "title": blank}).refused(http.StatusUnprocessableEntity, fault.Validation, "title")
		w.send(w.adaToken, "PATCH", "/v1/tasks/"+id, map[string]any{"title": blank}).refused(http.StatusUnprocessableEntity, fault.Validation, "title")
		w.send(w.adaToken, "POST", "/v1/tasks/"+id+"/comments", map[string]any{"comment": blank}).refused(http.StatusUnprocessableEntity, fault.CommentRequired, "comment")
		w.send(w.adaToken, "POST", "/v1/books", map[string]any{"title": blank}).refused(http.StatusUnprocessableEntity, fault.Validation, "title")
		w.send(w.adaToken, "POST", "/v1/workspaces", map[string]any{"name": blank}).refused(http.StatusUnprocessableEntity, fault.Validation, "name")
	}
}

// TestNumbersAsRefs checks that numbers only refer to the batch: a missing ref is not the task with that number.
func TestNumbersAsRefs(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	for range 4 {
		w.task(w.adaToken, space, nil)
	}
	batch := func(refs []string, blockedBy string) reply {
		tasks := make([]map[string]any, len(refs))
		for i, ref := range refs {
			tasks[i] = map[string]any{"title": "Task " + ref + " of these", "ref": ref}
		}
		tasks[len(tasks)-1]["blocked_by"] = []string{blockedBy}
		return w.send(w.adaToken, "POST", "/v1/tasks/batch", map[string]any{"workspace_id": space, "tasks": tasks})
	}
	batch([]string{"1", "2", "4"}, "3").refused(http.StatusUnprocessableEntity, fault.UnknownBlocker, "tasks[2].blocked_by[0]")
	batch([]string{"a", "1"}, "3").refused(http.StatusUnprocessableEntity, fault.UnknownBlocker, "tasks[1].blocked_by[0]")
	batch([]string{"1", "2", "4"}, "2").ok(http.StatusCreated)
	batch([]string{"a", "b"}, "3").ok(http.StatusCreated)
}
