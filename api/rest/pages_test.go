package rest_test

import (
	"net/http"
	"slices"
	"testing"

	"stagecoach/api/rest/server"
)

// TestAnswersOfLongItemsAreBounded creates the longest possible tasks and downloads. Lists, and views that show several
// lists, stay small and lead to all items.
func TestAnswersOfLongItemsAreBounded(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	const each = 60
	space := w.workspace()
	w.exec(`INSERT INTO tasks (workspace_id, title, description, creator_id, assignee_id, status)
		SELECT $1::bigint, 'a title', repeat('🦊', 20000), $2::bigint, CASE WHEN n % 2 = 0 THEN $2 END, CASE WHEN n % 2 = 0 THEN 'IN_PROGRESS' ELSE 'NEW' END
		FROM generate_series(1, 2 * $3::int) n`, space, w.ada.ID, each)
	w.exec(`INSERT INTO download_jobs (user_id, book_id, media_type, status, failure_reason, source, source_url)
		SELECT $1::bigint, $2::bigint, 'text', 'failed', 'missing_external_job', 'magnet', repeat('x', 80000) FROM generate_series(1, $3::int)`,
		w.ada.ID, w.book("Wheels"), each)

	bounded := func(target string) map[string]any {
		t.Helper()
		answer := w.send(w.adaToken, "GET", target, nil).ok(http.StatusOK)
		if len(answer.raw) > server.MostOfPage+server.MostOfPage/5 {
			t.Errorf("%s answers %d bytes", target, len(answer.raw))
		}
		return answer.body
	}

	for target, want := range map[string]int{"/v1/tasks?limit=200": 2 * each, "/v1/downloads?limit=200": each} {
		bounded(target)
		all := w.walk(w.adaToken, target, "id")
		slices.Sort(all)
		if got := len(slices.Compact(all)); got != want || len(all) != want {
			t.Errorf("%s leads to %d of %d items", target, got, want)
		}
	}

	for _, column := range bounded("/v1/workspaces/" + space + "/board?limit=50")["columns"].([]any) {
		c := column.(map[string]any)
		if status := c["status"]; (status == "NEW" || status == "IN_PROGRESS") && (len(c["items"].([]any)) == 0 || c["more"] != true) {
			t.Errorf("the column %s has %d items, more: %v", status, len(c["items"].([]any)), c["more"])
		}
	}

	mine := bounded("/v1/tasks/mine?limit=50")
	if len(mine["assigned"].([]any)) == 0 || len(mine["ready"].([]any)) == 0 {
		t.Error("none of the tasks that wait for somebody are shown")
	}
}
