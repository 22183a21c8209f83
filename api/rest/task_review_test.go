package rest_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
)

// heldTask is a task that Bob works on, in a workspace that requires reviews. Ada has created both.
func (w *rig) heldTask() any {
	w.t.Helper()
	space := w.workspace()
	settings := map[string]any{"review_required": true}
	changed := w.send(w.adaToken, "PATCH", "/v1/workspaces/"+space, settings).ok(http.StatusOK)
	if changed.body["review_required"] != true {
		w.t.Errorf("the workspace is %v", changed.body)
	}

	id := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, id, "claim", "mine").ok(http.StatusOK)
	return id
}

// TestAReview submits, approves and completes a task over HTTP.
func TestAReview(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.heldTask()
	refused := w.act(w.bobToken, id, "status DONE", "c")
	refused.refused(http.StatusConflict, fault.ReviewRequired, "")

	said := w.act(w.bobToken, id, "submit", "c").ok(http.StatusOK).body
	if said["status"] != "IN_PROGRESS" || said["submission"] != 3.0 || said["approved"] != false || said["review_required"] != true {
		t.Errorf("submitted: %v", said)
	}

	w.act(w.bobToken, id, "approve", "c").refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.act(w.adaToken, id, "approve", " ").refused(http.StatusUnprocessableEntity, fault.CommentRequired, "comment")
	old := w.send(w.adaToken, "POST", fmt.Sprintf("/v1/tasks/%v/approve", id), map[string]any{"submission": 2, "comment": "c"})
	old.refused(http.StatusConflict, fault.SubmissionNotCurrent, "")
	if fmt.Sprint(old.body["details"]) != "map[submission:3]" {
		t.Errorf("the newest is named: %v", old.body)
	}

	approved := w.act(w.adaToken, id, "approve", "good", "Idempotency-Key", "a").ok(http.StatusOK).body
	w.act(w.adaToken, id, "reject", "no").ok(http.StatusOK)
	again := w.act(w.adaToken, id, "approve", "good", "Idempotency-Key", "a").ok(http.StatusOK).body
	if approved["approved"] != true || fmt.Sprint(again) != fmt.Sprint(approved) {
		t.Errorf("the same key: %v, then %v", approved, again)
	}

	w.act(w.bobToken, id, "status DONE", "c").refused(http.StatusConflict, fault.ReviewRequired, "") // not a second approval
	w.act(w.adaToken, id, "approve", "good").ok(http.StatusOK)
	w.act(w.bobToken, id, "status DONE", "c").ok(http.StatusOK)

	var types []string
	for _, event := range w.send(w.adaToken, "GET", fmt.Sprintf("/v1/tasks/%v/events", id), nil).ok(http.StatusOK).items() {
		types = append(types, fmt.Sprint(event["type"]))
	}
	if want := "[created claimed submitted approved rejected approved status_changed]"; fmt.Sprint(types) != want {
		t.Errorf("events %v, want %s", types, want)
	}
}

// TestReviewWithOneKeyAtOnce sends the same submission many times concurrently: it is submitted once.
func TestReviewWithOneKeyAtOnce(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.heldTask()
	answers := make(chan any)
	const times = 8
	for range times {
		go func() { answers <- w.act(w.bobToken, id, "submit", "c", "Idempotency-Key", "k").body["submission"] }()
	}
	for range times {
		if got := <-answers; got != 3.0 {
			t.Errorf("submission %v", got)
		}
	}
}

// TestResults sends JSON of all kinds. What is accepted comes back unchanged, and nothing is an internal error.
func TestResults(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.heldTask()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

	for _, result := range []string{
		`null`, `0`, `""`, `false`, `{}`, `[]`, `"\u0000"`, `{"\u0000":"\ud800"}`, `1.10`, `12345678901234567890123`, `0.1e-5`,
		`{"b":1,"a":{"b":[2]},"b":3}`, `"🦊 \n"`, `"` + strings.Repeat("x", 64<<10-2) + `"`, deep(100), `1e300`, "{ \"a\" :\t[1 , 2]\n}",
	} {
		w.sendResult(id, result).ok(http.StatusOK)
		got := w.newestResult(id)
		if got != compact(t, result) {
			t.Errorf("%.60s came back as %.60s", result, got)
		}
	}

	for _, result := range []string{
		`"` + strings.Repeat("x", 64<<10-1) + `"`, deep(101), deep(20_000), `1e400`, `-1e999999`, "\"a\xffb\"", `{"a":}`, ``, `NaN`,
	} {
		if got := w.sendResult(id, result); got.status != http.StatusUnprocessableEntity && got.status != http.StatusBadRequest {
			t.Errorf("%.60s: %d %v", result, got.status, got.body)
		}
	}
}

// sendResult submits raw JSON.
func (w *rig) sendResult(task any, result string) reply {
	w.t.Helper()
	return w.send(w.bobToken, "POST", fmt.Sprintf("/v1/tasks/%v/submit", task), `{"comment":"c","result":`+result+`}`)
}

// newestResult reads the newest result as text, without insignificant spaces.
func (w *rig) newestResult(task any) string {
	w.t.Helper()
	request, err := http.NewRequestWithContext(w.t.Context(), "GET", fmt.Sprintf("%s/v1/tasks/%v/submissions?limit=1", w.url, task), nil)
	if err != nil {
		w.t.Fatal(err)
	}

	request.Header.Set("Authorization", "Bearer "+w.adaToken)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()

	text, err := io.ReadAll(answer.Body)
	var page struct {
		Items []struct{ Result json.RawMessage }
	}
	if err == nil {
		err = json.Unmarshal(text, &page)
	}
	if err != nil || len(page.Items) != 1 {
		w.t.Fatalf("%v: %s", err, text)
	}
	return compact(w.t, string(page.Items[0].Result))
}

// TestSubmissionsAreListed pages through the results, of which the newest 20 are kept; those of a private task are
// hidden from others.
func TestSubmissionsAreListed(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	id := w.heldTask()
	for n := range 22 {
		w.sendResult(id, fmt.Sprint(n)).ok(http.StatusOK)
	}

	var results []string
	at := fmt.Sprintf("/v1/tasks/%v/submissions?limit=15", id)
	for next := at; next != ""; {
		page := w.send(w.adaToken, "GET", next, nil).ok(http.StatusOK)
		for _, item := range page.items() {
			results = append(results, fmt.Sprint(item["result"]))
		}
		next = ""
		if cursor, _ := page.body["next_cursor"].(string); cursor != "" {
			next = at + "&cursor=" + cursor
		}
	}

	slices.Reverse(results)
	if len(results) != 20 || results[0] != "2" || results[19] != "21" {
		t.Errorf("results %v", results)
	}

	_, stranger := w.user("Eve", 105, "USER", "ACTIVE")
	w.send(stranger, "GET", at, nil).refused(http.StatusNotFound, fault.TaskNotFound, "")
	w.act(stranger, id, "approve", "c").refused(http.StatusNotFound, fault.TaskNotFound, "")
}

// TestEdit changes fields of a task; its event names them.
func TestEdit(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, map[string]any{"description": "old", "labels": []string{"a"}})["id"]
	at := fmt.Sprintf("/v1/tasks/%v", id)
	edit := func(token string, body map[string]any) reply { return w.send(token, "PATCH", at, body) }

	edited := edit(w.adaToken, map[string]any{
		"title": " Write it up ", "description": "", "priority": "high", "labels": []string{}, "comment": "urgent",
	}).ok(http.StatusOK).body
	if edited["title"] != "Write it up" || edited["description"] != "" || edited["priority"] != "high" || fmt.Sprint(edited["labels"]) != "[]" {
		t.Errorf("edited: %v", edited)
	}
	if shown := w.send(w.bobToken, "GET", at, nil).ok(http.StatusOK).body; shown["title"] != "Write it up" {
		t.Errorf("kept: %v", shown)
	}

	edit(w.adaToken, map[string]any{"priority": "high"}).ok(http.StatusOK) // unchanged
	edit(w.adaToken, map[string]any{"priority": "low"}).ok(http.StatusOK)
	events := w.send(w.adaToken, "GET", at+"/events", nil).ok(http.StatusOK).items()
	if len(events) != 3 || events[1]["comment"] != "title, description, priority, labels: urgent" || events[2]["comment"] != "priority" ||
		events[2]["type"] != "edited" || events[2]["from"] != "NEW" || events[2]["to"] != "NEW" {
		t.Errorf("events %v", events)
	}

	for field, body := range map[string]map[string]any{
		"body": {}, "title": {"title": "     "}, "priority": {"priority": "huge"}, "description": {"description": "a\x00"},
		"blocked_by": {"blocked_by": []string{"1"}, "title": "Write it"}, "labels": {"labels": make([]string, 21)},
	} {
		edit(w.adaToken, body).refused(http.StatusUnprocessableEntity, fault.Validation, field)
	}

	edit(w.bobToken, map[string]any{"title": "Mine now"}).refused(http.StatusForbidden, fault.InsufficientAccess, "")
	w.act(w.adaToken, id, "status CANCELLED", "c").ok(http.StatusOK)
	edit(w.adaToken, map[string]any{"title": "Too late"}).refused(http.StatusConflict, fault.InvalidTransition, "")
}

// compact removes insignificant spaces from JSON.
func compact(t *testing.T, text string) string {
	t.Helper()
	var b strings.Builder
	inText := false
	for i, r := range text {
		switch {
		case r == '"' && (i == 0 || text[i-1] != '\\'):
			inText = !inText
		case !inText && strings.ContainsRune(" \t\n", r):
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
