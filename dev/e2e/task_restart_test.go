package e2e

import (
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/testdb"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// TestDeadlinesAcrossARestart kills the Temporal server and one of two workers while the deadlines of a hundred tasks
// pass: during their handling, without a server, and during its start. Each task expires once, and none early. The
// other worker and the API recover by themselves; a claim made meanwhile gets its answer.
func TestDeadlinesAcrossARestart(t *testing.T) {
	t.Parallel()
	night.Only(t)
	const groups, ofGroup = 4, 25
	s := newRigOn(t, testdb.URL(t), map[string]string{"STAGECOACH_BOT": "false", "STAGECOACH_LOG_LEVEL": "info"})
	worker, doomed := s.startWorker(), s.startWorker()
	s.startAPI()
	ann := s.member("Ann")
	calm := ann.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": 60}})
	free := ann.batch(calm, map[string]any{"ref": "free", "title": "Wait for an agent"})["free"]

	// The tasks are in groups, with half a second and more between the deadlines of one group and of the next. A
	// machine that is too slow to create all of them before the first deadline gets more time.
	var due, latest []deadline
	var spaces []string // of the latest groups
	for base := 2 * time.Second; len(latest) == 0 || time.Now().After(latest[0].at); base *= 2 {
		latest, spaces = nil, nil
		for group := range groups {
			limit := base + time.Duration(group)*time.Second/2
			spaces = append(spaces, ann.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": limit.Minutes()}}))
			latest = append(latest, ann.dueTogether(spaces[group], ofGroup)...)
		}
		due = append(due, latest...)
	}

	stuck := func(filter task.Filter) int {
		filter.Status, filter.Limit = lifecycle.TaskStuck, len(due)
		found, err := s.store.Tasks(t.Context(), filter)
		must(t, err)
		return len(found)
	}

	first, err := strconv.ParseInt(spaces[0], 10, 64)
	must(t, err)
	s.eventually(time.Minute, "the first deadlines pass", func() bool {
		return stuck(task.Filter{WorkspaceID: first}) > 0 || time.Now().After(latest[ofGroup].at)
	})
	s.temporal.Kill()
	doomed.kill() // with results that it cannot report to the server any more
	killed, before := time.Now(), stuck(task.Filter{})
	claimed := make(chan answer, 1)
	go func() {
		got := answer{status: http.StatusServiceUnavailable}
		for got.status == http.StatusServiceUnavailable { // an answer ends after a while; the client repeats the call
			got = ann.does("claim", free, "", "Idempotency-Key", "meanwhile")
		}
		claimed <- got
	}()

	s.eventually(
		20*time.Second, "the API says that it is not ready",
		func() bool { return s.ready() == http.StatusServiceUnavailable },
	)
	ann.task(free) // the record exists in any case
	time.Sleep(time.Until(latest[len(latest)-1].at.Add(-200 * time.Millisecond)))
	must(t, s.temporal.Restart(t.Context()))
	back := time.Now()

	s.eventually(2*time.Minute, "the API is ready again", func() bool { return s.ready() == http.StatusOK })
	if got := (<-claimed).want(t, http.StatusOK); got["assignee_id"] != ann.id {
		t.Errorf("claimed meanwhile: %v", got)
	}

	s.eventually(2*time.Minute, "every task is STUCK", func() bool { return stuck(task.Filter{}) == len(due) })
	meanwhile, late := 0, time.Duration(0)
	for _, one := range due {
		if one.at.After(killed) && one.at.Before(back) {
			meanwhile++
		}
		late = max(late, s.expiredOnce(one).Sub(back))
	}

	if meanwhile == 0 {
		t.Error("no deadline has passed while the server was away")
	}

	t.Logf("%d tasks had expired before the kill, the deadlines of %d passed in the %s without a server; the last task expired %s after its return",
		before, meanwhile, back.Sub(killed).Round(time.Millisecond), late.Round(time.Millisecond))

	for name, p := range map[string]*program{"worker": worker, "API": s.api} {
		if p.ended() {
			t.Errorf("the %s has ended", name)
		}
	}

	fresh := ann.batch(calm, map[string]any{"ref": "fresh", "title": "Go on"})["fresh"]
	ann.does("claim", fresh, "").want(t, http.StatusOK)
	ann.does("status", fresh, "DONE").want(t, http.StatusOK)
	ann.does("takeover", due[0].task, "").want(t, http.StatusOK)
}

// ready returns the status of the API's readiness check.
func (s *rig) ready() int {
	answer, err := http.Get(s.apiURL + "/ready")
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// deadline is when a task's state is to end.
type deadline struct {
	task string
	at   time.Time
}

// dueTogether creates tasks with the same deadline.
func (m member) dueTogether(space string, howMany int) (due []deadline) {
	m.Helper()
	var wanted []map[string]any
	for i := range howMany {
		wanted = append(wanted, map[string]any{"ref": strconv.Itoa(i), "title": "Be late"})
	}

	made := m.call(
		"POST", "/v1/tasks/batch", m.token, map[string]any{"workspace_id": space, "tasks": wanted},
	).want(m, http.StatusCreated)

	for _, item := range made["items"].([]any) {
		one := item.(map[string]any)
		at, err := time.Parse(time.RFC3339Nano, one["status_deadline_at"].(string))
		must(m, err)
		due = append(due, deadline{one["id"].(string), at})
	}
	return due
}

// expiredOnce checks that an untouched task has expired by its deadline, once and not early, and that its workflow has
// the state of the record. It returns the time of the event.
func (s *rig) expiredOnce(due deadline) time.Time {
	s.Helper()
	id, err := strconv.ParseInt(due.task, 10, 64)
	must(s, err)
	now, err := s.store.TaskByID(s.Context(), 0, id)
	must(s, err)
	var view lifecycle.TaskView
	s.eventually(time.Minute, "the workflow is caught up with", func() bool {
		answered, err := s.client.QueryWorkflow(s.Context(), now.WorkflowID(), "", lifecycle.StateQuery)
		return err == nil && answered.Get(&view) == nil
	})
	if view.State != string(lifecycle.TaskStuck) || now.State != lifecycle.TaskStuck || view.Version != now.Version || now.Version != 2 {
		s.Errorf(
			"task %s: the workflow says %s in version %d, the record %s in %d", due.task, view.State, view.Version, now.State,
			now.Version,
		)
	}

	events, err := s.store.EventsOfTask(s.Context(), 0, id, 0, 100)
	must(s, err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}

	if !slices.Equal(types, []string{"created", "deadline_expired"}) {
		s.Fatalf("task %s: events %v", due.task, types)
	}

	expired := events[1].CreatedAt
	if expired.Before(due.at) || now.Since.Before(due.at) {
		s.Errorf("task %s: due at %s, expired at %s", due.task, due.at, expired)
	}
	return expired
}
