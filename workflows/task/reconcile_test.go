package task_test

import (
	"fmt"
	"log/slog"
	"strconv"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/dev/night"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestNightEndedForLength lets the server end a task's run because of its history's length: the task continues in the
// next run.
func TestNightEndedForLength(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRigOn(
		t, testtemporal.Own(t, "limit.historyCount.error=60", "limit.historyCount.warn=50"), tasks.WorkspaceChange{},
	)

	ctx := t.Context()
	long := w.task(nil)
	wait.Eventually(w, "the server ends its run", func() bool {
		_ = w.client.SignalWorkflow(ctx, long.WorkflowID(), "", lifecycle.TaskRefreshSignal, nil)
		description, err := w.client.DescribeWorkflowExecution(ctx, long.WorkflowID(), "")
		return err == nil && description.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED
	})

	reconciler := &reconcile.Reconciler{
		Temporal: w.client, Store: w.store.Operations, Workloads: []service.Workload{w.tasks.Workload()},
		Log: slog.New(slog.DiscardHandler),
	}

	stop := testtemporal.Repeat(t, reconciler.Reconcile)
	wait.Eventually(w, "its workflow runs again", func() bool {
		description, err := w.client.DescribeWorkflowExecution(ctx, long.WorkflowID(), "")
		return err == nil && description.WorkflowExecutionInfo.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
	})

	stop()
	if _, err := w.tasks.Claim(ctx, w.creator, long.ID, "mine", ""); err != nil {
		t.Error(err)
	}
}

// TestComparisonComparesRevisions changes the record behind the back of a task's workflow, without another state: the
// comparison makes the workflow read it, once, and finds nothing.
func TestComparisonComparesRevisions(t *testing.T) {
	t.Parallel()
	w := newRigOn(t, testtemporal.Own(t), tasks.WorkspaceChange{}) // others' workflows would be found, too
	ctx := t.Context()
	held, err := w.tasks.Claim(ctx, w.creator, w.task(nil).ID, "mine", "")
	w.must(err)
	upToDate := func() {
		t.Helper()
		wait.Eventually(w, "the workflow has the record's revision", func() bool {
			value, err := w.client.QueryWorkflow(ctx, held.WorkflowID(), "", lifecycle.StateQuery)
			if err != nil {
				return false
			}
			var shown lifecycle.TaskView
			w.must(value.Get(&shown))
			return shown.Version == w.reload(held).Version
		})
	}
	upToDate() // else it may read the change with that of the claim
	w.exec(`UPDATE tasks SET last_seq = last_seq + 3, created_at = now() - interval '1 hour', updated_at = now() - interval '1 minute'`)
	reconciler := &reconcile.Reconciler{
		Temporal: w.client, Store: w.store.Operations, Workloads: []service.Workload{w.tasks.Workload()},
		Log: slog.New(slog.DiscardHandler),
	}

	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(wait.Patience)
	env.RegisterActivity(reconciler)
	for _, outdated := range []int{1, 0} {
		wait.Eventually(w, fmt.Sprint(outdated, " workflows are outdated"), func() bool { // it may be too busy to answer
			value, err := env.ExecuteActivity(reconciler.Compare, "")
			w.must(err)
			var compared reconcile.Compared
			w.must(value.Get(&compared))
			if compared.Findings != 0 {
				t.Errorf("%+v", compared)
			}
			return compared.Outdated == outdated
		})
		upToDate()
	}
}

// TestBlockerEndsBeforeTheStart starts a task's workflow after its last blocker has ended without a workflow to notify:
// its deadline begins nevertheless.
func TestBlockerEndsBeforeTheStart(t *testing.T) {
	t.Parallel()
	waits := true
	w := newRig(t, tasks.WorkspaceChange{NewDeadlineWaitsForBlockers: &waits})
	blocker := w.task(nil)
	made, _, err := w.store.Tasks.Create(t.Context(), w.workspace.ID, []task.NewTask{{
		Title: "waits", Visibility: task.Public, Priority: "normal", Labels: []string{},
		BlockedBy: []string{strconv.FormatInt(blocker.ID, 10)},
	}}, core.Event{Type: "created", To: "NEW"}, core.Request{UserID: w.creator.ID})
	w.must(err)

	_, err = w.tasks.Claim(t.Context(), w.creator, blocker.ID, "mine", "")
	w.must(err)
	_, err = w.tasks.Status(t.Context(), w.creator, blocker.ID, lifecycle.TaskDone, "done", "")
	w.must(err)
	w.must(w.tasks.Start(t.Context(), made[0]))
	wait.Eventually(w, "the deadline begins", func() bool { return w.reload(made[0]).DeadlineAt != nil })
}

// TestDoneInTheRecordAlone ends a task while its workflow knows neither that nor its dependents. Once the workflow has
// read the record, they are notified.
func TestDoneInTheRecordAlone(t *testing.T) {
	t.Parallel()
	waits := true
	w := newRig(t, tasks.WorkspaceChange{NewDeadlineWaitsForBlockers: &waits})
	blocker := w.task(nil)
	_, err := w.tasks.Claim(t.Context(), w.creator, blocker.ID, "mine", "")
	w.must(err)
	dependent := w.task(func(t *task.NewTask) { t.BlockedBy = []string{strconv.FormatInt(blocker.ID, 10)} })
	wait.Eventually(w, "the dependent has read the record", func() bool {
		value, err := w.client.QueryWorkflow(t.Context(), dependent.WorkflowID(), "", lifecycle.StateQuery)
		if err != nil {
			return false
		}
		var shown lifecycle.TaskView
		w.must(value.Get(&shown))
		return shown.WaitsFor == "blockers"
	})
	_, err = w.store.Tasks.Act(t.Context(), task.Act{
		TaskID: blocker.ID, RequestID: "lost", Action: lifecycle.TaskActionStatus, At: time.Now(),
		Input: lifecycle.TaskInput{Actor: w.creator.ID, To: lifecycle.TaskDone, Comment: "done"},
	})
	w.must(err)

	w.must(w.tasks.Refresh(t.Context(), blocker.WorkflowID()))
	wait.Eventually(w, "the deadline begins", func() bool { return w.reload(dependent).DeadlineAt != nil })
}
