package rest_test

import (
	"fmt"
	"net/http"
	"testing"

	"stagecoach/internal/fault"
)

// TestActionsSayWhyNot compares each listed action with the result of the request itself.
func TestActionsSayWhyNot(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	first := w.task(w.adaToken, space, nil)["id"]
	waits := w.task(w.adaToken, space, map[string]any{"blocked_by": []any{first}})["id"]
	private := w.task(w.adaToken, space, map[string]any{"visibility": "private"})["id"]
	taken := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, taken, "claim", "mine").ok(http.StatusOK)

	for _, id := range []any{first, waits, private, taken} {
		for _, token := range []string{w.adaToken, w.bobToken} {
			if id == private && token == w.bobToken {
				w.send(
					token, "GET", fmt.Sprintf("/v1/tasks/%v/actions", id), nil,
				).refused(http.StatusNotFound, fault.TaskNotFound, "")
				continue
			}

			for _, option := range w.options(token, id) {
				if option["allowed"] == false {
					w.wantRefused(token, id, option)
				}
			}
		}
	}

	claim := w.options(w.adaToken, waits)[0]
	if claim["action"] != "claim" || claim["code"] != string(fault.UnresolvedBlockers) || claim["reason"] != "claim needs: every blocker is DONE" ||
		fmt.Sprint(claim["details"]) != fmt.Sprintf("map[blockers:[%v]]", first) {
		t.Errorf("a task that waits: %v", claim)
	}
	if claim = w.options(w.bobToken, taken)[0]; claim["allowed"] != true || claim["changes_nothing"] != true {
		t.Errorf("one's own task: %v", claim)
	}
	if claim = w.options(w.adaToken, taken)[0]; claim["code"] != string(fault.TaskAlreadyClaimed) || fmt.Sprint(claim["details"]) != fmt.Sprintf("map[holder:%d]", w.bob.ID) {
		t.Errorf("another's task: %v", claim)
	}

	for _, option := range w.options(w.bobToken, first) {
		if option["to"] == "CANCELLED" && fmt.Sprint(option["only_for"]) != "[creator]" {
			t.Errorf("to cancel is for %v", option["only_for"])
		}
	}
}

// options requests the possible actions on a task.
func (w *rig) options(token string, id any) []map[string]any {
	w.t.Helper()
	return w.send(token, "GET", fmt.Sprintf("/v1/tasks/%v/actions", id), nil).ok(http.StatusOK).items()
}

// wantRefused requests an action that the list refuses, and expects the same code.
func (w *rig) wantRefused(token string, id any, option map[string]any) {
	w.t.Helper()
	action := fmt.Sprint(option["action"])
	if action == "status" {
		action += " " + fmt.Sprint(option["to"])
	}

	reply := w.act(token, id, action, "because")
	if reply.body["code"] != option["code"] || reply.body["detail"] != option["reason"] {
		w.t.Errorf("task %v, %s: listed as %v, but the request gets %v", id, action, option, reply.body)
	}
}
