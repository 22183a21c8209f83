package task_test

import (
	"log/slog"
	"strconv"
	"testing"

	enumspb "go.temporal.io/api/enums/v1"

	"stagecoach/dev/night"
	"stagecoach/dev/testtemporal"
	"stagecoach/dev/wait"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/reconcile"
	"stagecoach/internal/service"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// TestNightEndedForLength lets the server end a task's run for the length of its history: the task goes on in the next run.
func TestNightEndedForLength(t *testing.T) {
	night.Only(t)
	t.Parallel()
	w := newRigOn(
		t, testtemporal.Own(t, "limit.historyCount.error=60", "limit.historyCount.warn=50"), service.WorkspaceChange{},
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

// TestBlockerEndsBeforeTheStart starts the workflow of a task after its last blocker has ended and nobody could be told:
// its deadline begins all the same.
func TestBlockerEndsBeforeTheStart(t *testing.T) {
	t.Parallel()
	waits := true
	w := newRig(t, service.WorkspaceChange{NewDeadlineWaitsForBlockers: &waits})
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
