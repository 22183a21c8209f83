package task_test

import (
	"strconv"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
)

// TestRecordHistories saves the histories that are replayed.
func TestRecordHistories(t *testing.T) {
	version := testtemporal.Record(t)
	waits, release := true, 2.0/60
	w := newRigOn(t, testtemporal.Own(t, "limit.historyCount.suggestContinueAsNew=60"), tasks.WorkspaceChange{
		StatusDeadlines: map[lifecycle.TaskState]float64{
			lifecycle.TaskNew: 2.0 / 60, lifecycle.TaskInProgress: 1.0 / 60, lifecycle.TaskBlocked: 0,
		},
		NewDeadlineWaitsForBlockers: &waits, StuckReleaseAfter: &release,
	})

	ctx, ann, bob := t.Context(), w.member(), w.member()
	save := func(name string, events []*historypb.HistoryEvent) { version.Save(t, "", name, events) }
	over := func(t task.Task) []*historypb.HistoryEvent {
		w.must(w.client.GetWorkflow(ctx, t.WorkflowID(), "").Get(ctx, nil))
		return w.history(t)
	}

	status := func(t task.Task, by account.User, to lifecycle.TaskState) {
		_, err := w.tasks.Status(ctx, by, t.ID, to, "c", "")
		w.must(err)
	}

	claim := func(t task.Task) {
		_, err := w.tasks.Claim(ctx, ann, t.ID, "c", "")
		w.must(err)
	}

	inStatus := func(t task.Task, want lifecycle.TaskState) {
		wait.Eventually(w, string(want), func() bool { return w.reload(t).State == want })
	}

	blocker := w.task(nil)
	waiting := w.task(func(n *task.NewTask) { n.BlockedBy = []string{strconv.FormatInt(blocker.ID, 10)} })
	_, err := w.tasks.Claim(ctx, bob, waiting.ID, "too early", "")
	if err == nil {
		t.Fatal("claimed under an open blocker")
	}

	claim(blocker)
	_, err = w.tasks.Escalate(ctx, bob, blocker.ID, "c", "")
	w.must(err)
	status(blocker, ann, lifecycle.TaskInProgress)
	status(blocker, ann, lifecycle.TaskDone)
	save("escalated-done-and-told", over(blocker))

	inStatus(waiting, lifecycle.TaskStuck) // its clock started at the blocker's end
	inStatus(waiting, lifecycle.TaskNew)   // released
	claim(waiting)
	inStatus(waiting, lifecycle.TaskStuck)
	_, err = w.tasks.Takeover(ctx, bob, waiting.ID, "c", "")
	w.must(err)
	status(waiting, bob, lifecycle.TaskDone)
	save("waited-expired-released-taken-over", over(waiting))

	stopped := w.task(nil)
	claim(stopped)
	w.must(w.client.CancelWorkflow(ctx, stopped.WorkflowID(), ""))
	save("cancelled-by-operator", over(stopped))

	given := w.task(func(n *task.NewTask) { n.AssigneeID = &ann.ID })
	claim(given)
	claim(given)
	status(given, ann, lifecycle.TaskDone)
	save("claimed-by-assignee", over(given))

	long := w.task(nil)
	claim(long)
	first := w.history(long)[0].GetWorkflowExecutionStartedEventAttributes().FirstExecutionRunId
	for range 4 {
		status(long, ann, lifecycle.TaskBlocked)
		status(long, ann, lifecycle.TaskInProgress)
	}

	status(long, ann, lifecycle.TaskDone)
	second := over(long)
	save("after-continue-as-new", second)
	events := w.server.History(w, long.WorkflowID(), first)
	if last := events[len(events)-1].EventType; last != enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
		t.Errorf("the first run ended with %s", last)
	}

	save("before-continue-as-new", events)
}

// TestRecordReviewedHistory saves a task that was DONE after its second review.
func TestRecordReviewedHistory(t *testing.T) {
	version := testtemporal.Record(t)
	w := newReviewRig(t, 0)
	ann := w.member()
	reviewed := w.task(nil)
	_, err := w.tasks.Claim(t.Context(), ann, reviewed.ID, "c", "")
	w.must(err)
	w.wantCode(w.status(ann, reviewed, lifecycle.TaskDone), fault.ReviewRequired)
	w.must(w.approve(w.creator, reviewed, w.submit(ann, reviewed, `{"a": 1}`)))
	w.submit(ann, reviewed, `{"a": 2}`) // voids the approval
	w.wantCode(w.status(ann, reviewed, lifecycle.TaskDone), fault.ReviewRequired)
	w.must(w.approve(w.creator, reviewed, *w.reload(reviewed).Submission))
	w.must(w.status(ann, reviewed, lifecycle.TaskDone))
	w.must(w.client.GetWorkflow(t.Context(), reviewed.WorkflowID(), "").Get(t.Context(), nil))
	version.Save(t, "", "reviewed", w.history(reviewed))
}

// TestRecordLeasedHistory saves a task whose lease was renewed once and then ended, and which another agent rescued. It
// takes a minute and a half: a lease has a minute at least.
func TestRecordLeasedHistory(t *testing.T) {
	version := testtemporal.Record(t)
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann, bob := t.Context(), w.member(), w.member()
	leased := w.task(nil)
	lease := lifecycle.TaskInput{Comment: "c", LeaseSeconds: lifecycle.LeastLease}
	_, err := w.tasks.Act(ctx, ann, leased.ID, lifecycle.TaskActionClaim, lease, "")
	w.must(err)
	time.Sleep(20 * time.Second)
	_, err = w.tasks.Heartbeat(ctx, ann, leased.ID, 0)
	w.must(err)
	wait.Eventually(w, "the lease ends", func() bool { return w.reload(leased).State == lifecycle.TaskStuck })

	taken, err := w.tasks.Act(ctx, bob, leased.ID, lifecycle.TaskActionTakeover, lease, "")
	w.must(err)
	_, err = w.tasks.Act(ctx, bob, leased.ID, lifecycle.TaskActionStatus, lifecycle.TaskInput{
		Comment: "c", To: lifecycle.TaskDone, FencingToken: taken.FencingToken,
	}, "")
	w.must(err)
	w.must(w.client.GetWorkflow(ctx, leased.WorkflowID(), "").Get(ctx, nil))
	version.Save(t, "", "leased", w.history(leased))
}
