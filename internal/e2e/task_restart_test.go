package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"stagecoach/internal/store"
	"stagecoach/workflows/task"
)

// TestDeadlinesAcrossARestart kills the Temporal server and one of two workers while the deadlines of a hundred tasks
// fall due: some are just being handled, some fall due while there is no server, some while it starts again. Each task
// expires once, and none early. The other worker and the API work again by themselves; a claim made meanwhile gets its
// answer.
func TestDeadlinesAcrossARestart(t *testing.T) {
	t.Parallel()
	const groups, ofGroup = 4, 25
	s := newStack(t, map[string]string{"STAGECOACH_BOT": "false", "STAGECOACH_LOG_LEVEL": "info"})
	worker, doomed := s.startWorker(), s.startWorker()
	s.startAPI()
	ann := s.member("Ann")
	calm := ann.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": 60}})
	free := ann.batch(calm, map[string]any{"ref": "free", "title": "Wait for an agent"})["free"]

	var due []store.Task // in groups: at least half a second lies between the deadlines of one and of the next
	for group := range groups {
		space := ann.workspace(map[string]any{"status_deadlines": map[string]any{"NEW": float64(3+group) / 120}})
		var wanted []map[string]any
		for i := range ofGroup {
			wanted = append(wanted, map[string]any{"ref": strconv.Itoa(i), "title": "Be late"})
		}
		for _, id := range ann.batch(space, wanted...) {
			due = append(due, s.recorded(id))
		}
	}
	stuck := func() int {
		found, err := s.store.Tasks(t.Context(), store.TaskFilter{Status: store.TaskStuck, Limit: len(due)})
		must(t, err)
		return len(found)
	}
	second, last := *due[ofGroup].DeadlineAt, *due[len(due)-1].DeadlineAt
	s.eventually(time.Minute, "the first deadlines pass", func() bool { return stuck() > 0 || time.Now().After(second) })
	s.temporal.Kill()
	doomed.kill() // with what it has written and cannot tell the server any more
	killed, before := time.Now(), stuck()
	claimed := make(chan answer, 1)
	go func() {
		got := answer{status: http.StatusServiceUnavailable}
		for got.status == http.StatusServiceUnavailable { // an answer is given up after a while; whoever wants it asks again
			got = ann.does("claim", free, "", "Idempotency-Key", "meanwhile")
		}
		claimed <- got
	}()
	s.eventually(20*time.Second, "the API says that it is not ready", func() bool { return s.ready() == http.StatusServiceUnavailable })
	ann.task(free) // the record is there all the same
	time.Sleep(time.Until(last.Add(-200 * time.Millisecond)))
	must(t, s.temporal.Restart(t.Context()))
	back := time.Now()

	s.eventually(2*time.Minute, "the API is ready again", func() bool { return s.ready() == http.StatusOK })
	if got := (<-claimed).want(t, http.StatusOK); got["assignee_id"] != ann.id {
		t.Errorf("claimed meanwhile: %v", got)
	}
	s.eventually(2*time.Minute, "every task is STUCK", func() bool { return stuck() == len(due) })
	meanwhile, late := 0, time.Duration(0)
	for _, one := range due {
		if one.DeadlineAt.After(killed) && one.DeadlineAt.Before(back) {
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
		select {
		case <-p.done:
			t.Errorf("the %s has ended", name)
		default:
		}
	}
	fresh := ann.batch(calm, map[string]any{"ref": "fresh", "title": "Go on"})["fresh"]
	ann.does("claim", fresh, "").want(t, http.StatusOK)
	ann.does("status", fresh, "DONE").want(t, http.StatusOK)
	ann.does("takeover", fmt.Sprint(due[0].ID), "").want(t, http.StatusOK)
}

// ready gives what the API answers to those who ask whether it is ready.
func (s *stack) ready() int {
	answer, err := http.Get(s.apiURL + "/ready")
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}

// recorded reads a task from the record.
func (s *stack) recorded(id string) store.Task {
	s.Helper()
	number, err := strconv.ParseInt(id, 10, 64)
	must(s, err)
	found, err := s.store.TaskByID(s.Context(), 0, number)
	must(s, err)
	return found
}

// expiredOnce checks that a task that nobody touched has expired by its deadline, once and not early, and that its
// workflow knows it as the record does. It gives the time of the event.
func (s *stack) expiredOnce(due store.Task) time.Time {
	s.Helper()
	var view task.View
	s.eventually(time.Minute, "the workflow is caught up with", func() bool {
		answered, err := s.client.QueryWorkflow(s.Context(), due.WorkflowID(), "", task.StateQuery)
		return err == nil && answered.Get(&view) == nil
	})
	now := s.recorded(fmt.Sprint(due.ID))
	if view.State != string(store.TaskStuck) || now.Status != store.TaskStuck || view.Version != now.Version || now.Version != due.Version+1 {
		s.Errorf("task %d: the workflow says %s in version %d, the record %s in %d", due.ID, view.State, view.Version, now.Status, now.Version)
	}
	events, err := s.store.EventsOfTask(s.Context(), due.ID, 0, 100)
	must(s, err)
	var types []string
	for _, event := range events {
		types = append(types, event.Type)
	}
	if !slices.Equal(types, []string{"created", "deadline_expired"}) {
		s.Fatalf("task %d: events %v", due.ID, types)
	}
	expired := events[1].CreatedAt
	if expired.Before(*due.DeadlineAt) || now.Since.Before(*due.DeadlineAt) {
		s.Errorf("task %d: due at %s, expired at %s", due.ID, due.DeadlineAt, expired)
	}
	return expired
}
