package rest_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"stagecoach/dev/testdb"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
)

// recorded is a fingerprint of the whole record, besides when a token was used last.
func (w *rig) recorded() string {
	w.t.Helper()
	return fmt.Sprint(testdb.RecordOf(w.t, w.db))
}

// TestDryRunOfEveryChange sends every change of the API with dry_run=true. One that knows it answers what it would do,
// and changes nothing; any other refuses the parameter.
func TestDryRunOfEveryChange(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.heldTask()
	w.bank() // without a wallet transactions are off
	known := w.triable()
	tried := 0

	for _, e := range endpoints() {
		if e.method == http.MethodGet {
			continue
		}

		target := e.target + "?dry_run=true"
		if strings.Contains(e.target, "?") {
			target = e.target + "&dry_run=true"
		}

		before := w.recorded()
		got := w.send(w.adminToken, e.method, target, e.body, "Idempotency-Key", "dry")
		if now := w.recorded(); now != before {
			t.Errorf("%s has changed the record from\n%s to\n%s", e.id, before, now)
		}
		if !known[e.id] {
			wantUnknown(t, e.id, got)
			continue
		}

		tried++
		if got.status == http.StatusOK && got.body["dry_run"] != true || got.status != http.StatusOK && got.status != http.StatusNotFound {
			t.Errorf("%s: %d %v", e.id, got.status, got.body)
		}
	}

	if tried != len(known) || tried < 17 {
		t.Errorf("%d operations were tried, the document has %d", tried, len(known))
	}
}

// wantUnknown wants the parameter refused, whatever else is wrong with a request.
func wantUnknown(t *testing.T, id string, got reply) {
	t.Helper()
	problems, _ := got.body["errors"].([]any)
	for _, one := range problems {
		if one.(map[string]any)["field"] == "dry_run" && got.status == http.StatusUnprocessableEntity {
			return
		}
	}
	t.Errorf("%s does not know dry_run, and answers %d %v", id, got.status, got.body)
}

// triable lists the operations whose document has the parameter and the answer.
func (w *rig) triable() map[string]bool {
	w.t.Helper()
	known := map[string]bool{}
	for path, item := range w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body["paths"].(map[string]any) {
		for method, one := range item.(map[string]any) {
			operation := one.(map[string]any)
			parameters, _ := operation["parameters"].([]any)
			for _, parameter := range parameters {
				if parameter.(map[string]any)["name"] != "dry_run" {
					continue
				}
				if text := fmt.Sprint(operation["responses"].(map[string]any)["200"]); !strings.Contains(text, "schemas/DryRun") {
					w.t.Errorf("%s %s: the answer of a dry run is not documented", method, path)
				}
				known[operation["operationId"].(string)] = true
			}
		}
	}
	return known
}

// TestDryRunOfATask compares what a dry run says with what the request gets then, and with the list of actions. The key
// of a dry run stays free.
func TestDryRunOfATask(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.heldTask()
	w.act(w.bobToken, id, "submit", "c").ok(http.StatusOK)

	for _, token := range []string{w.adaToken, w.bobToken} {
		for _, option := range w.options(token, id) {
			action := fmt.Sprint(option["action"])
			if action == "status" {
				action += " " + fmt.Sprint(option["to"])
			}

			said := w.try(token, id, action)
			if said["allowed"] != option["allowed"] || said["changes_nothing"] != option["changes_nothing"] || said["version"] != 3.0 {
				t.Errorf("%s: the dry run says %v, the list %v", action, said, option)
			}
			if fmt.Sprint(said["code"]) != fmt.Sprint(option["code"]) || said["reason"] != option["reason"] ||
				fmt.Sprint(said["details"]) != fmt.Sprint(option["details"]) || said["allowed"] == true && said["to"] != option["to"] {
				t.Errorf("%s: the dry run says %v, the list %v", action, said, option)
			}
		}
	}

	w.act(w.bobToken, id, "status BLOCKED", "another request", "Idempotency-Key", "dry").ok(http.StatusOK)
	_, stranger := w.user("Eve", 105, "USER", "ACTIVE")
	w.send(stranger, "POST", fmt.Sprintf("/v1/tasks/%v/claim?dry_run=true", id), map[string]any{"comment": "c"}).
		refused(http.StatusNotFound, fault.TaskNotFound, "")
	w.send(w.bobToken, "POST", fmt.Sprintf("/v1/tasks/%v/submit?dry_run=true", id), map[string]any{"comment": "c", "result": strings.Repeat("x", 70_000)}).
		refused(http.StatusUnprocessableEntity, fault.Validation, "result")
}

// try sends an action as a dry run.
func (w *rig) try(token string, task any, action string) map[string]any {
	w.t.Helper()
	got := w.actAt(token, task, action, "because", "?dry_run=true", "Idempotency-Key", "dry").ok(http.StatusOK)
	if kind := got.header.Get("Content-Type"); kind != "application/vnd.stagecoach.dry-run+json" {
		w.t.Errorf("%s: %s", action, kind)
	}
	return got.body
}

// TestDryRunOfAGraph says whether a graph would be created.
func TestDryRunOfAGraph(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	one := func(body map[string]any) reply {
		body["workspace_id"], body["title"] = space, "Write it down"
		return w.send(w.adaToken, "POST", "/v1/tasks?dry_run=true", body)
	}

	before := w.recorded()
	said := one(map[string]any{}).ok(http.StatusOK).body
	if said["allowed"] != true || said["to"] != "NEW" || said["version"] != nil {
		t.Errorf("a task: %v", said)
	}
	if said = one(map[string]any{"blocked_by": []string{"77"}}).ok(http.StatusOK).body; said["code"] != string(fault.UnknownBlocker) {
		t.Errorf("an unknown blocker: %v", said)
	}
	one(map[string]any{"labels": []string{"\n"}}).refused(http.StatusUnprocessableEntity, fault.Validation, "labels[0]")

	circle := map[string]any{"workspace_id": space, "tasks": []any{
		map[string]any{"ref": "a", "title": "Write it down", "blocked_by": []string{"b"}},
		map[string]any{"ref": "b", "title": "Write it down", "blocked_by": []string{"a"}},
	}}
	said = w.send(w.adaToken, "POST", "/v1/tasks/batch?dry_run=true", circle).ok(http.StatusOK).body
	if said["allowed"] != false || said["code"] != string(fault.CyclicDependency) || fmt.Sprint(said["details"]) != "map[cycle:[a b a]]" {
		t.Errorf("a circle: %v", said)
	}
	if w.recorded() != before {
		t.Error("the record has changed")
	}
}

// TestDryRunOfOtherWorkloads tries what may be done to a delivery, a download and transactions, and nothing happens.
func TestDryRunOfOtherWorkloads(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	b := w.bank()
	job := w.deliver(w.adaToken, w.file("/films/a.mkv", 1000), "key-1").ok(http.StatusCreated).body["id"]
	load := w.download(w.adaToken, w.book("Wheels"), "text").ok(http.StatusCreated).body["id"]
	failed, ended := b.failed("Network error", lifecycle.Retryable), b.failed("Username not found", lifecycle.NonRetryable)
	review := b.inReview()

	before := w.recorded()
	for _, c := range []struct {
		token, target string
		body          any
		want          string
	}{
		{w.adaToken, fmt.Sprintf("/v1/deliveries/%v/cancel", job), nil, "true CANCELLED <nil>"},
		{w.adaToken, fmt.Sprintf("/v1/downloads/%v/cancel", load), nil, "true canceled <nil>"},
		{w.adaToken, fmt.Sprintf("/v1/downloads/%v/retry-import", load), nil, "false  INVALID_TRANSITION"},
		{w.adminToken, "/v1/transactions/" + failed + "/retry", nil, "true processing <nil>"},
		{w.adminToken, "/v1/transactions/" + ended + "/retry", nil, "false  INVALID_TRANSITION"},
		{w.adminToken, "/v1/transactions/" + review + "/resolve", map[string]any{"outcome": "failed"}, "true failed <nil>"},
		{w.adminToken, "/v1/transactions/" + failed + "/resolve", map[string]any{"outcome": "failed"}, "false  INVALID_TRANSITION"},
	} {
		said := w.send(c.token, "POST", c.target+"?dry_run=true", c.body).ok(http.StatusOK).body
		if got := fmt.Sprint(said["allowed"], " ", said["to"], " ", said["code"]); got != c.want || said["version"] == nil {
			t.Errorf("%s: %s, want %s, of %v", c.target, got, c.want, said)
		}
	}

	if w.recorded() != before {
		t.Error("the record has changed")
	}
	w.send(w.adaToken, "POST", fmt.Sprintf("/v1/deliveries/%v/cancel?dry_run=false", job), nil).ok(http.StatusOK)
}
