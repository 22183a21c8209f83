package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

const conflict = http.StatusConflict

func TestTheLifeOfATask(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, nil)["id"]
	claimed := w.act(w.bobToken, id, "claim", "mine").ok(http.StatusOK).body
	if claimed["status"] != "IN_PROGRESS" || claimed["assignee_id"] != fmt.Sprint(w.bob.ID) || claimed["ready"] != false ||
		fmt.Sprint(claimed["allowed_actions"]) != "[status submit]" || fmt.Sprint(claimed["allowed_statuses"]) != "[DONE BLOCKED NEW CANCELLED]" {
		t.Errorf("claimed %v", claimed)
	}

	w.act(w.bobToken, id, "claim", "still mine").ok(http.StatusOK)
	if e := w.act(w.adaToken, id, "escalate", "why?").ok(http.StatusOK).body; e["status"] != "BLOCKED" {
		t.Errorf("escalated %v", e)
	}

	w.act(w.bobToken, id, "status IN_PROGRESS", "on it").ok(http.StatusOK)
	said := w.act(w.adaToken, id, "comments", "good").ok(http.StatusCreated).body
	if said["type"] != "commented" || said["comment"] != "good" || said["actor_id"] != fmt.Sprint(w.ada.ID) || said["seq"] != 5.0 {
		t.Errorf("said %v", said)
	}
	if d := w.act(w.bobToken, id, "status DONE", "there").ok(http.StatusOK).body; d["status"] != "DONE" || d["status_deadline_at"] != nil ||
		fmt.Sprint(d["allowed_actions"]) != "[]" {
		t.Errorf("done %v", d)
	}

	w.act(w.adaToken, id, "comments", "thanks").ok(http.StatusCreated)
	target := fmt.Sprintf("/v1/tasks/%v/events", id)
	want := []string{"created", "claimed", "escalated", "status_changed", "commented", "status_changed", "commented"}
	for _, limit := range []int{1, 3, 200} {
		if got := w.walk(w.bobToken, fmt.Sprintf("%s?limit=%d", target, limit), "type"); !slices.Equal(got, want) {
			t.Errorf("limit %d: events %v, want %v", limit, got, want)
		}
	}

	status := ""
	for i, event := range w.send(w.bobToken, "GET", target, nil).ok(http.StatusOK).items() {
		if event["seq"] != float64(i+1) || event["created_at"] == nil {
			t.Errorf("event %d is %v", i+1, event)
		}
		if event["type"] == "commented" {
			continue
		}
		if event["from"] != status {
			t.Errorf("event %v follows %s", event, status)
		}
		status = event["to"].(string)
	}

	if status != "DONE" {
		t.Errorf("the events end in %s", status)
	}
	if rows := w.audited(); len(rows) != 0 {
		t.Errorf("people who share work are audited: %v", rows)
	}
}

func TestRefusalsOfActions(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	detail := func(a reply, name string) string { return fmt.Sprint(a.body["details"].(map[string]any)[name]) }
	free := w.task(w.adaToken, space, nil)["id"]
	waits := w.task(w.adaToken, space, map[string]any{"blocked_by": []any{free}})["id"]
	taken := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, taken, "claim", "mine").ok(http.StatusOK)
	bob := fmt.Sprint(w.bob.ID)

	if a := w.act(w.adaToken, taken, "claim", "mine").refused(conflict, fault.TaskAlreadyClaimed, ""); detail(a, "holder") != bob {
		t.Errorf("details %v", a.body)
	}
	if a := w.act(w.bobToken, waits, "claim", "mine").refused(conflict, fault.UnresolvedBlockers, ""); detail(a, "blockers") != fmt.Sprintf("[%v]", free) {
		t.Errorf("details %v", a.body)
	}

	a := w.act(w.bobToken, taken, "status STUCK", "x").refused(conflict, fault.InvalidTransition, "")
	if detail(a, "current") != "IN_PROGRESS" || detail(a, "requested") != "STUCK" || detail(a, "allowed") != "[DONE BLOCKED NEW CANCELLED]" {
		t.Errorf("details %v", a.body)
	}

	w.act(w.bobToken, taken, "escalate", "x").refused(conflict, fault.CannotEscalateOwn, "")
	w.act(w.adaToken, free, "escalate", "x").refused(conflict, fault.InvalidTransition, "")
	w.act(w.adaToken, taken, "status DONE", "x").refused(http.StatusForbidden, fault.InsufficientAccess, "")
	for _, blank := range []string{"", "  \n"} {
		w.act(w.bobToken, free, "claim", blank).refused(unprocessable, fault.CommentRequired, "comment")
		w.act(w.bobToken, taken, "status DONE", blank).refused(unprocessable, fault.CommentRequired, "comment")
		w.act(w.bobToken, taken, "comments", blank).refused(unprocessable, fault.CommentRequired, "comment")
	}

	w.send(
		w.bobToken, "POST", fmt.Sprintf("/v1/tasks/%v/claim", free), `{}`,
	).refused(unprocessable, fault.CommentRequired, "comment")

	w.exec(
		`UPDATE tasks SET status = 'STUCK', status_deadline_at = NULL, last_seq = last_seq + 1 WHERE id = $1::bigint`,
		taken,
	)
	w.act(w.bobToken, taken, "takeover", "x").refused(conflict, fault.CannotTakeover, "")
	if over := w.act(w.adaToken, taken, "takeover", "let me").ok(http.StatusOK).body; over["assignee_id"] != fmt.Sprint(w.ada.ID) {
		t.Errorf("taken over %v", over)
	}

	w.act(w.adaToken, free, "status CANCELLED", "no").ok(http.StatusOK)
	w.act(w.bobToken, free, "claim", "x").refused(conflict, fault.InvalidTransition, "")
	if got := w.send(w.bobToken, "GET", fmt.Sprint("/v1/tasks/", waits), nil).ok(http.StatusOK).body; fmt.Sprint(got["blockers"]) != fmt.Sprintf("[map[id:%v status:CANCELLED]]", free) {
		t.Errorf("blockers %v", got["blockers"])
	}

	want := []string{fmt.Sprintf("%d change-task-status task/%v refused http", w.ada.ID, taken)}
	if rows := w.audited(); !slices.Equal(rows, want) {
		t.Errorf("audited %v, want %v", rows, want)
	}

	w.act(w.adminToken, taken, "escalate", "stop").ok(http.StatusOK)
	if rows := w.audited(); !slices.Contains(rows, fmt.Sprintf("1 escalate-task task/%v done http", taken)) {
		t.Errorf("what an administrator did is not audited: %v", rows)
	}

	other := w.task(w.adminToken, space, nil)["id"]
	foreign := w.task(w.adaToken, space, nil)["id"]
	before := len(w.audited())
	w.act(w.adminToken, other, "claim", "my own").ok(http.StatusOK)
	w.act(w.adminToken, foreign, "comments", "a word").ok(http.StatusCreated)
	w.act(w.adminToken, foreign, "claim", "mine now").ok(http.StatusOK)
	w.act(w.adminToken, foreign, "status DONE", "my own by now").ok(http.StatusOK)
	want = []string{
		fmt.Sprintf("1 comment-task task/%v done http", foreign), fmt.Sprintf("1 claim-task task/%v done http", foreign),
	}
	if rows := w.audited(); !slices.Equal(rows[before:], want) || rows[before-1] != fmt.Sprintf("1 create-task workspace/%s done http", space) {
		t.Errorf("audited %v, want %v", rows[before-1:], want)
	}
}

// TestRepeatedRequestsGiveTheFirstAnswer repeats each changing request with its key after the state has moved on.
func TestRepeatedRequestsGiveTheFirstAnswer(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	taken := w.task(w.adaToken, space, nil)["id"]
	w.act(w.adaToken, taken, "claim", "mine").ok(http.StatusOK)
	mine := w.task(w.adaToken, space, nil)["id"]
	text := func(format string, args ...any) string { return fmt.Sprintf(format, args...) }
	requests := []struct{ method, target, body, other string }{
		{"POST", "/v1/workspaces", `{"name":"one"}`, `{"name":"two"}`},
		{"PATCH", "/v1/workspaces/" + space, `{"name":"one"}`, `{"name":"two"}`},
		{"POST", "/v1/tasks", text(`{"workspace_id":"%s","title":"title one"}`, space), text(`{"workspace_id":"%s","title":"title two"}`, space)},
		{"POST", "/v1/tasks/batch", text(`{"workspace_id":"%s","tasks":[{"ref":"a","title":"title one"}]}`, space), text(`{"workspace_id":"%s","tasks":[{"ref":"b","title":"title one"}]}`, space)},
		{"POST", text("/v1/tasks/%v/claim", mine), `{"comment":"one"}`, `{"comment":"two"}`},
		{"POST", text("/v1/tasks/%v/status", mine), `{"to":"BLOCKED","comment":"one"}`, `{"to":"DONE","comment":"one"}`},
		{"POST", text("/v1/tasks/%v/comments", mine), `{"comment":"one"}`, `{"comment":"two"}`},
		{"POST", text("/v1/tasks/%v/claim", taken), `{"comment":"one"}`, `{"comment":"two"}`}, // refused, and refused again
		{"POST", text("/v1/tasks/%v/takeover", mine), `{"comment":"one"}`, `{"comment":"two"}`},
	}

	first := make([]reply, len(requests))
	for i, r := range requests {
		token := w.adaToken
		if i == 7 {
			token = w.bobToken
		}
		first[i] = w.send(token, r.method, r.target, r.body, "Idempotency-Key", text("key-%d", i))
	}

	w.send(w.adaToken, "PATCH", "/v1/workspaces/"+space, `{"name":"three"}`).ok(http.StatusOK)
	w.act(w.adaToken, mine, "status IN_PROGRESS", "on").ok(http.StatusOK)
	w.act(w.adaToken, taken, "status NEW", "free").ok(http.StatusOK)
	before := len(w.walk(w.adaToken, "/v1/tasks", "id"))

	for i, r := range requests {
		token := w.adaToken
		if i == 7 {
			token = w.bobToken
		}

		if again := w.send(token, r.method, r.target, r.body, "Idempotency-Key", text("key-%d", i)); again.status != first[i].status || again.raw != first[i].raw {
			t.Errorf("%s answers\n%d %s\nafter\n%d %s", again.call, again.status, again.raw, first[i].status, first[i].raw)
		}

		w.send(
			token, r.method, r.target, r.other, "Idempotency-Key", text("key-%d", i),
		).refused(unprocessable, fault.Validation, "Idempotency-Key")
		for _, key := range []string{" x y ", "é", "ключ"} {
			w.send(
				token, r.method, r.target, r.body, "Idempotency-Key", key,
			).refused(unprocessable, fault.Validation, "Idempotency-Key")
		}
	}

	if first[7].status != conflict || first[8].status != conflict {
		t.Errorf("the refusals are %d and %d", first[7].status, first[8].status)
	}
	if after := len(w.walk(w.adaToken, "/v1/tasks", "id")); after != before {
		t.Errorf("repeats made %d tasks", after-before)
	}

	// Keys are per person.
	w.send(w.bobToken, "POST", "/v1/workspaces", `{"name":"Bob's"}`, "Idempotency-Key", "key-0").ok(http.StatusCreated)
}

func TestTasksWithoutTemporal(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	back := w.withoutTemporal()
	id := w.task(w.adaToken, space, nil)["id"]
	w.act(w.adaToken, id, "claim", "x", "Idempotency-Key", "k").refused(
		http.StatusServiceUnavailable, fault.TemporalUnavailable, "",
	)
	w.act(w.adaToken, id, "comments", "x").ok(http.StatusCreated)
	back()
	w.act(w.adaToken, id, "claim", "x", "Idempotency-Key", "k").ok(http.StatusOK)
}

func TestStatsOfTasks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, id, "claim", "x").ok(http.StatusOK)
	w.act(w.adaToken, id, "escalate", "x").ok(http.StatusOK)
	w.act(w.bobToken, id, "status IN_PROGRESS", "x").ok(http.StatusOK)
	w.act(w.bobToken, id, "status DONE", "x").ok(http.StatusOK)
	w.task(w.adaToken, space, nil)

	for _, period := range []string{"", "&period=day", "&period=week", "&period=month", "&period=all"} {
		got := w.send(w.bobToken, "GET", "/v1/stats/tasks?workspace_id="+space+period, nil).ok(http.StatusOK).body
		if got["created"] != 2.0 || got["done"] != 1.0 || got["escalations"] != 1.0 || got["takeovers"] != 0.0 || got["expiries"] != 0.0 {
			t.Errorf("%s: %v", period, got)
		}
		if lead, cycle := got["lead_time_seconds"].(float64), got["cycle_time_seconds"].(float64); lead <= 0 || cycle <= 0 || cycle > lead {
			t.Errorf("%s: lead time %v, cycle time %v", period, lead, cycle)
		}
	}

	empty := w.send(
		w.adaToken, "GET", "/v1/stats/tasks?period=day&workspace_id="+w.workspace(), nil,
	).ok(http.StatusOK).body
	if lead, ok := empty["lead_time_seconds"]; !ok || lead != nil {
		t.Errorf("nothing was done: %v", empty)
	}

	w.send(w.adaToken, "GET", "/v1/stats/tasks", nil).refused(unprocessable, fault.Validation, "workspace_id")
	w.send(
		w.adaToken, "GET", "/v1/stats/tasks?workspace_id=x", nil,
	).refused(unprocessable, fault.Validation, "workspace_id")
	w.send(
		w.adaToken, "GET", "/v1/stats/tasks?workspace_id=1&period=year", nil,
	).refused(unprocessable, fault.Validation, "period")
}
