package rest_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"stagecoach/api/rest"
	"stagecoach/dev/night"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
)

// graphOf makes a batch of tasks, each of which waits for so many before it.
func graphOf(workspace any, tasks, blockers int) map[string]any {
	list := make([]any, tasks)
	for i := range list {
		before := []string{}
		for j := max(0, i-blockers); j < i; j++ {
			before = append(before, fmt.Sprint("t", j))
		}
		list[i] = map[string]any{"ref": fmt.Sprint("t", i), "title": "A task", "blocked_by": before}
	}
	return map[string]any{"workspace_id": workspace, "tasks": list}
}

// TestGraphsHaveABoundedNumberOfEdges sends a graph with more entries of blocked_by than one may have.
func TestGraphsHaveABoundedNumberOfEdges(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.send(w.adaToken, "POST", "/v1/workspaces", map[string]any{"name": "w"}, "Idempotency-Key", "w").ok(http.StatusCreated)
	for _, path := range []string{"/v1/tasks/batch", "/v1/tasks/batch?dry_run=true"} {
		// the tasks up to 459 have 55 + 449 × 11 = 4,994 entries
		r := w.send(w.adaToken, "POST", path, graphOf(space.body["id"], 500, 11), "Idempotency-Key", "large")
		r.refused(unprocessable, fault.Validation, "tasks[460].blocked_by")
	}
	w.send(
		w.adaToken, "POST", "/v1/tasks/batch?dry_run=true", graphOf(space.body["id"], 500, 10), "Idempotency-Key", "fits",
	).ok(http.StatusOK)
}

// TestNightGraphsPayByTheirSize tries one graph again and again: it is worth many requests, whether it is tried or made.
func TestNightGraphsPayByTheirSize(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const perSecond, burst, weight = 10, 50, 1 + 500/25 + 4945/250
	w := newRigWith(t, func(o *rest.Options) { o.Requests = allowance.NewUsers(perSecond) })
	space := w.send(w.adaToken, "POST", "/v1/workspaces", map[string]any{"name": "w"}, "Idempotency-Key", "w").ok(http.StatusCreated)
	graph := graphOf(space.body["id"], 500, 10)

	began, through := time.Now(), 0
	for i := range 20 {
		path := "/v1/tasks/batch?dry_run=true"
		if i == 0 {
			path = "/v1/tasks/batch"
		}
		r := w.send(w.adaToken, "POST", path, graph, "Idempotency-Key", "graph")
		if r.status < 300 {
			through++
			continue
		}
		r.refused(http.StatusTooManyRequests, fault.RateLimited, "")
	}

	if most := 1 + int((burst+perSecond*time.Since(began).Seconds())/weight); through == 0 || through > most {
		t.Errorf("%d graphs of 500 tasks got through, want 1 to %d", through, most)
	}
}
