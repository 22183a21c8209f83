package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// TestResultsAreReviewedByTools follows a task whose workspace requires a review, through tools alone.
func TestResultsAreReviewedByTools(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	workspace := w.workspace()
	w.send(w.adaToken, "PATCH", "/v1/workspaces/"+workspace, `{"review_required":true}`).ok(http.StatusOK)
	ada, bob := w.agent(w.adaToken), w.agent(w.bobToken)
	made := ada.call(
		"task_create", map[string]any{"workspace_id": workspace, "tasks": []any{map[string]any{"title": "The first thing"}}},
	)

	id := made["tasks"].([]any)[0].(map[string]any)["id"]
	update := func(a agent, action string, more map[string]any) map[string]any {
		t.Helper()
		arguments := map[string]any{"task_id": id, "action": action, "comment": "so"}
		for name, value := range more {
			arguments[name] = value
		}
		return a.call("task_update", arguments)["task"].(map[string]any)
	}

	done := map[string]any{"task_id": id, "action": "status", "to": "DONE", "comment": "it works"}

	update(ada, "edit", map[string]any{"title": "The best thing", "priority": "critical", "labels": []any{"a", "b"}})
	mine := bob.call("task_claim", map[string]any{"task_id": id, "comment": "me"})["task"].(map[string]any)
	if mine["review_required"] != true || mine["priority"] != "critical" || fmt.Sprint(mine["written_by_others"]) != "map[labels:[a b] title:The best thing]" {
		t.Errorf("the claimed task is %v", mine)
	}

	required := bob.refused("task_update", done, fault.ReviewRequired)
	if instead := fmt.Sprint(required["allowed_instead"]); !strings.Contains(instead, "submit") {
		t.Errorf("in place of DONE %s is allowed", instead)
	}

	number := update(bob, "submit", map[string]any{"result": map[string]any{"commit": "abc", "lines": 12}})["submission"]
	review := map[string]any{"submission": number}
	bob.refused(
		"task_update", map[string]any{"task_id": id, "action": "approve", "comment": "so", "submission": number},
		fault.InsufficientAccess,
	)
	shown := ada.call("task_get", map[string]any{"task_id": id})["submitted"].(map[string]any)
	if shown["submission"] != number || fmt.Sprint(shown["written_by_others"]) != "map[comment:so result:map[commit:abc lines:12]]" {
		t.Errorf("the submission is %v", shown)
	}

	if rejected := update(ada, "reject", review); rejected["approved"] == true {
		t.Errorf("the rejected task is %v", rejected)
	}
	if approved := update(ada, "approve", review); approved["approved"] != true {
		t.Errorf("the approved task is %v", approved)
	}
	if ended := bob.call("task_update", done)["task"].(map[string]any); ended["status"] != "DONE" {
		t.Errorf("the task is %v", ended)
	}
}
