package rest_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"
)

// shownIDs returns the ids in a list of entities.
func shownIDs(list any) (ids []string) {
	for _, one := range list.([]any) {
		ids = append(ids, fmt.Sprint(one.(map[string]any)["id"]))
	}
	return ids
}

// TestABoardHasAColumnForEachStatus views a board as people who may see all of it, a part, and nothing.
func TestABoardHasAColumnForEachStatus(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	first := w.task(w.adaToken, space, nil)["id"]
	second := w.task(w.adaToken, space, nil)["id"]
	private := w.task(w.adaToken, space, map[string]any{"visibility": "private"})["id"]
	taken := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, taken, "claim", "mine").ok(http.StatusOK)

	board := func(token, query string) map[string][]string {
		columns := map[string][]string{}
		for _, column := range w.send(token, "GET", "/v1/workspaces/"+space+"/board"+query, nil).ok(http.StatusOK).body["columns"].([]any) {
			c := column.(map[string]any)
			columns[c["status"].(string)] = shownIDs(c["items"])
			if query == "" && c["count"] != float64(len(columns[c["status"].(string)])) {
				t.Errorf("%v are counted in %v", c["count"], c["status"])
			}
			if c["more"] == true {
				columns[c["status"].(string)] = append(columns[c["status"].(string)], "more")
			}
		}
		return columns
	}

	for what, c := range map[string]struct {
		got  []string
		want []any
	}{
		"NEW for their creator":  {board(w.adaToken, "")["NEW"], []any{second, first, private}},
		"NEW for a member":       {board(w.bobToken, "")["NEW"], []any{second, first}},
		"NEW, the newest":        {board(w.bobToken, "?limit=1")["NEW"], []any{second, "more"}},
		"IN_PROGRESS":            {board(w.bobToken, "")["IN_PROGRESS"], []any{taken}},
		"DONE":                   {board(w.bobToken, "")["DONE"], nil},
		"NEW for administrators": {board(w.adminToken, "")["NEW"], []any{second, first, private}},
	} {
		if fmt.Sprint(c.got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}

	if columns := board(w.adaToken, ""); len(columns) != 6 {
		t.Errorf("the columns are %v", columns)
	}

	_, eve := w.user("Eve", 105, "USER", "ACTIVE")
	for _, view := range []string{"board", "graph"} {
		w.send(eve, "GET", "/v1/workspaces/"+space+"/"+view, nil).refused(http.StatusNotFound, "WORKSPACE_NOT_FOUND", "")
	}
}

// TestGraphsOfTasks follows dependencies in both directions, and stops at what a person may not see.
func TestGraphsOfTasks(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	more := func(more ...any) map[string]any { return map[string]any{"blocked_by": more} }
	first := w.task(w.adaToken, space, nil)["id"]
	second := w.task(w.adaToken, space, more(first))["id"]
	third := w.task(w.adaToken, space, more(first, second))["id"]
	hidden := w.task(w.adaToken, space, map[string]any{"visibility": "private", "blocked_by": []any{third}})["id"]
	behind := w.task(w.adaToken, space, more(hidden))["id"]
	w.task(w.adaToken, space, nil) // unconnected

	graph := func(token, path string) ([]string, map[string]any) {
		answer := w.send(token, "GET", path, nil).ok(http.StatusOK).body
		return shownIDs(answer["items"]), answer
	}

	for what, c := range map[string]struct {
		token, path string
		want        []any
	}{
		"from the middle, for the creator": {w.adaToken, fmt.Sprintf("/v1/tasks/%v/graph", second), []any{first, second, third, hidden, behind}},
		"from the middle, for a member":    {w.bobToken, fmt.Sprintf("/v1/tasks/%v/graph", second), []any{first, second, third}},
		"behind what is hidden":            {w.bobToken, fmt.Sprintf("/v1/tasks/%v/graph", behind), []any{behind}},
		"the workspace's":                  {w.adaToken, "/v1/workspaces/" + space + "/graph", []any{first, second, third, hidden, behind}},
		"the workspace's, for a member":    {w.bobToken, "/v1/workspaces/" + space + "/graph", []any{first, second, third, behind}},
		"the workspace's newest":           {w.adaToken, "/v1/workspaces/" + space + "/graph?limit=2", []any{hidden, behind}},
		"the task itself":                  {w.adaToken, fmt.Sprintf("/v1/tasks/%v/graph?limit=1", third), []any{third}},
	} {
		if got, _ := graph(c.token, c.path); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}

	_, answer := graph(w.adaToken, "/v1/workspaces/"+space+"/graph?limit=3")
	last := answer["items"].([]any)[0].(map[string]any)
	if answer["partial"] != true || fmt.Sprint(last["blocked_by"]) != "[]" { // its own blockers are not shown
		t.Errorf("a part of a graph: %v", answer)
	}

	w.send(
		w.bobToken, "GET", fmt.Sprintf("/v1/tasks/%v/graph", hidden), nil,
	).refused(http.StatusNotFound, "TASK_NOT_FOUND", "")
}

// TestWhatWaitsForMe lists the caller's tasks by deadline, and those that they can claim.
func TestWhatWaitsForMe(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	var mine []any

	for range 3 {
		id := w.task(w.adaToken, space, nil)["id"]
		w.act(w.bobToken, id, "claim", "mine").ok(http.StatusOK)
		mine = append(mine, id)
	}

	for i, hours := range []int{3, 1, 2} {
		w.exec(
			`UPDATE tasks SET status_deadline_at = $2 WHERE id = $1::bigint`, mine[i],
			time.Now().Add(time.Duration(hours)*time.Hour),
		)
	}

	w.act(w.bobToken, mine[0], "status BLOCKED", "no key").ok(http.StatusOK)
	w.exec(`UPDATE tasks SET status_deadline_at = NULL WHERE id = $1::bigint`, mine[0])
	free := w.task(w.adaToken, space, nil)["id"]
	w.task(w.adaToken, space, map[string]any{"blocked_by": []any{free}})

	answer := w.send(w.bobToken, "GET", "/v1/tasks/mine", nil).ok(http.StatusOK).body
	if got := shownIDs(answer["assigned"]); fmt.Sprint(got) != fmt.Sprint([]any{mine[1], mine[2], mine[0]}) {
		t.Errorf("assigned %v of %v", got, mine)
	}
	if got := shownIDs(answer["ready"]); !slices.Equal(got, []string{fmt.Sprint(free)}) {
		t.Errorf("ready %v, want %v", got, free)
	}
	if fmt.Sprint(answer["counts"]) != "map[BLOCKED:1 IN_PROGRESS:2]" {
		t.Errorf("counts %v", answer["counts"])
	}

	nothing := w.send(w.adminToken, "GET", "/v1/tasks/mine?limit=1", nil).ok(http.StatusOK).body
	if fmt.Sprint(nothing["assigned"], nothing["counts"]) != "[] map[]" {
		t.Errorf("nothing is %v", nothing)
	}
}

// TestStatsHaveEachDay expects every day of a period, including those without events.
func TestStatsHaveEachDay(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	space := w.workspace()
	id := w.task(w.adaToken, space, nil)["id"]
	w.act(w.bobToken, id, "claim", "x").ok(http.StatusOK)
	w.act(w.bobToken, id, "status DONE", "x").ok(http.StatusOK)
	w.task(w.adaToken, space, nil)
	w.exec(
		`UPDATE tasks SET created_at = now() - interval '2 days', started_at = now() - interval '1 day' WHERE id = $1::bigint`,
		id,
	)

	for period, most := range map[string]int{"week": 8, "month": 31, "all": 31} {
		days := w.send(
			w.adaToken, "GET", "/v1/stats/tasks?workspace_id="+space+"&period="+period, nil,
		).ok(http.StatusOK).body["days"].([]any)
		if len(days) != most {
			t.Errorf("%s has %d days", period, len(days))
		}

		created, done := 0.0, 0.0
		for _, one := range days {
			day := one.(map[string]any)
			created, done = created+day["created"].(float64), done+day["done"].(float64)
			if lead, cycle := day["lead_time_median_seconds"], day["cycle_time_median_seconds"]; (day["done"] == 0.0) != (lead == nil) ||
				lead != nil && (lead.(float64) < 172_700 || cycle.(float64) > 86_500) {
				t.Errorf("%s: %v", period, day)
			}
		}

		if created != 2 || done != 1 {
			t.Errorf("%s: %g created, %g done", period, created, done)
		}
	}
}
