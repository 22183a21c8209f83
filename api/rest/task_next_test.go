package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
)

// claimNext requests the next task; more has further fields.
func (w *rig) claimNext(token string, more map[string]any, headers ...string) reply {
	w.t.Helper()
	body := map[string]any{"comment": "mine"}
	for name, value := range more {
		body[name] = value
	}
	return w.send(token, "POST", "/v1/tasks/claim", body, headers...)
}

// nextID is the id of the task in a response; nil if there is none.
func (a reply) nextID() any {
	a.t.Helper()
	task, there := a.ok(http.StatusOK).body["task"]
	if !there {
		a.t.Fatalf("%s has no task:\n%s", a.call, a.raw)
	}
	if task == nil {
		return nil
	}
	return task.(map[string]any)["id"]
}

func TestClaimNext(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, map[string]any{"labels": []string{"docs"}})["id"]
	urgent := w.task(w.adaToken, space, map[string]any{"priority": "high"})["id"]

	for _, wish := range []map[string]any{{"labels": []string{"docs", "go"}}, {"priority": "critical"}} {
		if got := w.claimNext(w.bobToken, wish).nextID(); got != nil {
			t.Errorf("the wish %v is answered with task %v", wish, got)
		}
	}
	if got := w.claimNext(w.bobToken, map[string]any{"workspace_id": space}).nextID(); got != urgent {
		t.Errorf("the next task is %v, want the urgent %v", got, urgent)
	}

	got := w.claimNext(w.bobToken, nil, "Idempotency-Key", "k").ok(http.StatusOK)
	task := got.body["task"].(map[string]any)
	if task["id"] != id || task["status"] != "IN_PROGRESS" || task["assignee_id"] != fmt.Sprint(w.bob.ID) {
		t.Errorf("the next task is %v", task)
	}

	w.act(w.bobToken, id, "status NEW", "free").ok(http.StatusOK)
	more := w.task(w.adaToken, space, map[string]any{"priority": "critical"})["id"]
	if again := w.claimNext(w.bobToken, nil, "Idempotency-Key", "k").ok(http.StatusOK); again.raw != got.raw {
		t.Errorf("the same key is answered\n%s\nafter\n%s", again.raw, got.raw)
	}
	if other := w.claimNext(w.adaToken, nil, "Idempotency-Key", "k").nextID(); other != more {
		t.Errorf("another user's key is answered with %v, want %v", other, more)
	}

	w.claimNext(w.bobToken, map[string]any{"priority": "low"}, "Idempotency-Key", "k").refused(unprocessable, fault.Validation, "Idempotency-Key")
	w.act(w.bobToken, id, "claim", "mine", "Idempotency-Key", "k").refused(unprocessable, fault.Validation, "Idempotency-Key")
	w.act(w.adaToken, id, "comments", "hm", "Idempotency-Key", "used").ok(http.StatusCreated)
	w.claimNext(w.adaToken, nil, "Idempotency-Key", "used").refused(unprocessable, fault.Validation, "Idempotency-Key")
}

// TestClaimNextRefuses impossible requests.
func TestClaimNextRefuses(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	w.exec(`DELETE FROM workspace_members WHERE user_id = $1`, w.bob.ID)
	w.task(w.adaToken, space, nil)

	w.claimNext(w.adaToken, map[string]any{"comment": " "}).refused(unprocessable, fault.CommentRequired, "comment")
	w.claimNext(w.adaToken, map[string]any{"priority": "urgent"}).refused(unprocessable, fault.Validation, "priority")
	w.claimNext(w.adaToken, map[string]any{"labels": []string{""}}).refused(unprocessable, fault.Validation, "labels[0]")
	w.claimNext(w.adaToken, map[string]any{"wait_seconds": 51}).refused(unprocessable, fault.Validation, "wait_seconds")
	w.claimNext(w.adaToken, map[string]any{"workspace_id": "99"}).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.claimNext(w.bobToken, map[string]any{"workspace_id": space}).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	w.claimNext(w.bobToken, map[string]any{"workspace_id": space, "wait_seconds": 50}).refused(http.StatusNotFound, fault.WorkspaceNotFound, "")
	if got := w.claimNext(w.bobToken, nil).nextID(); got != nil {
		t.Errorf("a stranger gets task %v", got)
	}
	if got := w.claimNext(w.adminToken, nil).nextID(); got != nil {
		t.Errorf("an administrator who names no workspace gets task %v of others", got)
	}
	if got := w.claimNext(w.adminToken, map[string]any{"workspace_id": space}).nextID(); got == nil {
		t.Error("an administrator gets no task")
	}
	if rows := w.audited(); !slices.Contains(rows, fmt.Sprintf("1 claim-next-task workspace/%s done http", space)) {
		t.Errorf("what an administrator did is not audited: %v", rows)
	}

	w.withoutTemporal()
	w.task(w.adaToken, space, nil)
	w.claimNext(w.adaToken, nil).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
}

// TestClaimNextWaits makes callers wait: they are woken by events, limited in number, and answered when the process
// stops.
func TestClaimNextWaits(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	waits := func(token string) <-chan reply {
		answered := make(chan reply, 1)
		go func() { answered <- w.claimNext(token, map[string]any{"wait_seconds": 50}) }()
		return answered
	}

	first := waits(w.bobToken)
	wait.Eventually(w.t, "somebody waits", func() bool { return w.waiting.Load() == 1 })
	id := w.task(w.adaToken, space, nil)["id"]
	if got := (<-first).nextID(); got != id {
		t.Errorf("who waits gets %v, want %v", got, id)
	}

	one, two := waits(w.bobToken), waits(w.bobToken)
	wait.Eventually(w.t, "two wait", func() bool { return w.waiting.Load() == 2 })
	full := w.claimNext(w.bobToken, map[string]any{"wait_seconds": 1}).refused(conflict, fault.QuotaExceeded, "")
	if details := full.body["details"].(map[string]any); details["limit"] != "waiting claims" || details["maximum"] != 2.0 {
		t.Errorf("refused with %v", details)
	}
	if got := w.claimNext(w.bobToken, nil).nextID(); got != nil {
		t.Errorf("without a wait: %v", got)
	}
	admin := waits(w.adminToken)
	wait.Eventually(w.t, "three wait", func() bool { return w.waiting.Load() == 3 })

	// PostgreSQL may tell of the statements before with a delay.
	wait.Eventually(t, "at most 20 statements a second are sent while nothing happens", func() bool {
		before, began := w.statements(), time.Now()
		time.Sleep(time.Second)
		sent, seconds := w.statements()-before, time.Since(began).Seconds()
		return float64(sent) <= 20*seconds
	})

	w.tasks.Line.Stop()
	for _, answered := range []<-chan reply{one, two, admin, waits(w.bobToken)} {
		if got := <-answered; got.nextID() != nil || !strings.Contains(got.raw, `"task":null`) {
			t.Errorf("a process that stops answers %s", got.raw)
		}
	}
}
