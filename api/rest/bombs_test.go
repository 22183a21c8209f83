package rest_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// mostErrors is how many invalid fields a response lists.
const mostErrors = 20

// TestErrorBombs sends bodies with as many errors as possible. The errors created and reported, and the memory for one
// request, are bounded whatever the body. It does not run in parallel: it measures the process's allocations.
func TestErrorBombs(t *testing.T) {
	w := newRig(t)
	const mib = 1 << 20
	fill := func(before, item, after string, size int) string {
		n := (size - len(before) - len(after)) / (len(item) + 1)
		return before + strings.Repeat(item+",", n-1) + item + after
	}

	blocked := fill(`{"title":"A task","blocked_by":[`, "0", "]}", 230)
	for name, c := range map[string]struct {
		path, body string
		status     int
		field      string // of the only error; empty: as many as are reported
	}{
		"scopes, 1 MiB": {
			"/v1/tokens", fill(`{"name":"a","scopes":[`, "0", "]}", mib), http.StatusRequestEntityTooLarge, "body",
		},
		"scopes": {
			"/v1/tokens", fill(`{"name":"a","scopes":[`, "0", "]}", 60<<10), http.StatusUnprocessableEntity, "scopes",
		},
		"tasks, 1 MiB": {
			"/v1/tasks/batch", fill(`{"workspace_id":"1","tasks":[`, "{}", "]}", mib), http.StatusUnprocessableEntity, "tasks",
		},
		"blockers of 500 tasks": {
			"/v1/tasks/batch", `{"workspace_id":"1","tasks":[` + strings.Repeat(blocked+",", 499) + blocked + "]}",
			http.StatusUnprocessableEntity, "",
		},
		"lists in a title": {
			"/v1/tasks/batch", fill(`{"workspace_id":"1","tasks":[{"title":[`, "[]", "]}]}", mib),
			http.StatusUnprocessableEntity, "tasks[0].title",
		},
		"unknown fields": {
			"/v1/tasks/batch", fill(`{"workspace_id":"1","tasks":[],`, `"x":0`, "}", mib), http.StatusUnprocessableEntity, "",
		},
		"a list for an object": {
			"/v1/tasks/batch", fill("[", "0", "]", mib), http.StatusUnprocessableEntity, "body",
		},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := w.send(w.adaToken, "POST", c.path, c.body, "Idempotency-Key", "bomb")
		runtime.ReadMemStats(&after)

		code := fault.Validation
		if c.status == http.StatusRequestEntityTooLarge {
			code = fault.BodyTooLarge
		}

		r.refused(c.status, code, c.field)
		told, want := len(r.body["errors"].([]any)), 1
		if c.field == "" {
			want = mostErrors
		}
		if told != want {
			t.Errorf("%s: %d errors are told, want %d:\n%.500s", name, told, want, r.raw)
		}
		if len(r.raw) > 16<<10 {
			t.Errorf("%s: the answer has %d bytes", name, len(r.raw))
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 20*mib {
			t.Errorf("%s: the request allocates %d KiB", name, made>>10)
		}
	}
}

// TestQueriesOfManyParameters sends as many unknown parameters as fit into a request line.
func TestQueriesOfManyParameters(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	var query strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&query, "x%d&", i)
	}

	r := w.send(w.adaToken, "GET", "/v1/tasks?"+query.String(), nil).refused(http.StatusBadRequest, fault.Validation, "query")
	if told := len(r.body["errors"].([]any)); told != 1 {
		t.Errorf("%d errors are told", told)
	}
}
