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

// graphOf builds a batch of tasks, each of which depends on so many before it.
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

// TestGraphsHaveABoundedNumberOfEdges sends a graph with too many blocked_by entries.
func TestGraphsHaveABoundedNumberOfEdges(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.send(w.adaToken, "POST", "/v1/workspaces", map[string]any{"name": "w"}, "Idempotency-Key", "w").ok(http.StatusCreated)
	// the tasks up to 459 have 55 + 449 × 11 = 4,994 entries
	w.send(w.adaToken, "POST", "/v1/tasks/batch", graphOf(space.body["id"], 500, 11), "Idempotency-Key", "large").
		refused(unprocessable, fault.Validation, "tasks[460].blocked_by")
	w.send(w.adaToken, "POST", "/v1/tasks/batch", graphOf(space.body["id"], 500, 10), "Idempotency-Key", "fits").
		ok(http.StatusCreated)
}

// TestNightGraphsPayByTheirSize sends one graph again and again: it costs as much as many requests, even when it is
// repeated.
func TestNightGraphsPayByTheirSize(t *testing.T) {
	night.Only(t)
	t.Parallel()
	const perSecond, burst, weight = 10, 50, 1 + 500/25 + 4945/250
	w := newRigWith(t, func(o *rest.Options) { o.Requests = allowance.NewUsers(perSecond) })
	space := w.send(w.adaToken, "POST", "/v1/workspaces", map[string]any{"name": "w"}, "Idempotency-Key", "w").ok(http.StatusCreated)
	graph := graphOf(space.body["id"], 500, 10)

	began, through := time.Now(), 0
	for range 20 {
		r := w.send(w.adaToken, "POST", "/v1/tasks/batch", graph, "Idempotency-Key", "graph")
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
