package task_test

import (
	"fmt"
	"testing"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/task"
)

// TestClaimByTheAssignee begins work on a NEW task by a claim, claims it again, and in the statuses in which that is
// impossible.
func TestClaimByTheAssignee(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ctx, ann := t.Context(), w.member()
	given := w.task(func(n *task.NewTask) { n.AssigneeID, n.Visibility = &ann.ID, task.Private })
	claim := func(comment, key string) (task.Task, error) { return w.tasks.Claim(ctx, ann, given.ID, comment, key) }
	wantEvents := func(want string) {
		t.Helper()
		if got := fmt.Sprint(w.events(given)); got != want {
			t.Errorf("events %s, want %s", got, want)
		}
	}

	_, err := w.tasks.Claim(ctx, w.creator, given.ID, "mine", "")
	w.wantCode(err, fault.TaskAlreadyClaimed)
	_, err = claim(" ", "")
	w.wantCode(err, fault.CommentRequired)
	begun, err := claim("I begin", "first")
	w.must(err)
	if begun.State != lifecycle.TaskInProgress || !begun.HeldBy(ann.ID) || begun.StartedAt == nil {
		t.Errorf("begun: %+v", begun.Snapshot)
	}

	wantEvents("[created claimed]")

	for _, key := range []string{"", "first", "second", "second"} {
		again, err := claim("I begin", key)
		w.must(err)
		if again.Version != begun.Version || again.State != lifecycle.TaskInProgress {
			t.Errorf("claimed again: %+v", again.Snapshot)
		}
	}

	_, err = claim("", "") // a no-op needs no reason
	w.must(err)
	wantEvents("[created claimed]")

	_, err = w.tasks.Status(ctx, ann, given.ID, lifecycle.TaskBlocked, "stuck here", "")
	w.must(err)
	_, err = claim("again", "")
	w.wantCode(err, fault.InvalidTransition)
	w.must(w.client.CancelWorkflow(ctx, given.WorkflowID(), ""))
	w.must(w.client.GetWorkflow(ctx, given.WorkflowID(), "").Get(ctx, nil))
	_, err = claim("again", "")
	w.wantCode(err, fault.InvalidTransition)
	wantEvents("[created claimed status_changed status_changed]")

	for _, key := range []string{"first", "second"} { // the second one changed nothing
		in := lifecycle.TaskInput{Actor: ann.ID, Comment: "I begin"}
		var answer task.Answer
		kept, err := w.store.Answers.Answered(ctx, task.TaskRequest(key, lifecycle.TaskActionClaim, given.ID, in), &answer)
		if err != nil || !kept || answer.Task.State != lifecycle.TaskInProgress {
			t.Errorf("the answer to %s is kept: %t, %+v, %v", key, kept, answer.Task, err)
		}
	}
}

// TestClaimByTheAssigneeWaitsForBlockers claims the assignee's own task before its blockers are done.
func TestClaimByTheAssigneeWaitsForBlockers(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ann := w.member()
	blocker := w.task(nil)
	given := w.task(func(n *task.NewTask) { n.AssigneeID, n.BlockedBy = &ann.ID, []string{fmt.Sprint(blocker.ID)} })
	_, err := w.tasks.Claim(t.Context(), ann, given.ID, "I begin", "")
	w.wantCode(err, fault.UnresolvedBlockers)
}

// TestAStaleWorkflowDoesNotRefuseItsHolder records a claim, and loses the workflow task that made it: the holder
// continues.
func TestAStaleWorkflowDoesNotRefuseItsHolder(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	ann := w.member()
	one := w.task(nil)
	_, err := w.store.Tasks.Act(t.Context(), task.Act{
		TaskID: one.ID, RequestID: "lost", Action: lifecycle.TaskActionClaim, At: time.Now(),
		Input: lifecycle.TaskInput{Actor: ann.ID, Comment: "mine"},
	})
	w.must(err)

	done, err := w.tasks.Status(t.Context(), ann, one.ID, lifecycle.TaskBlocked, "waits", "")
	w.must(err)
	if done.State != lifecycle.TaskBlocked || fmt.Sprint(w.events(one)) != "[created claimed status_changed]" {
		t.Errorf("the task is %s after %v", done.State, w.events(one))
	}
	_, err = w.tasks.Status(t.Context(), w.member(), one.ID, lifecycle.TaskDone, "done", "")
	if fault.As(err) == nil {
		t.Error("somebody else has ended it")
	}
}
