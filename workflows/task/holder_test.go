package task_test

import (
	"fmt"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/task"
)

// TestClaimByTheAssignee begins the work on a NEW task by a claim, claims it again, and in the statuses in which that
// is not possible.
func TestClaimByTheAssignee(t *testing.T) {
	t.Parallel()
	w := newRig(t, service.WorkspaceChange{})
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

	_, err = claim("", "") // what changes nothing needs no reason
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

// TestClaimByTheAssigneeWaitsForBlockers claims one's own task before those that it waits for are done.
func TestClaimByTheAssigneeWaitsForBlockers(t *testing.T) {
	t.Parallel()
	w := newRig(t, service.WorkspaceChange{})
	ann := w.member()
	blocker := w.task(nil)
	given := w.task(func(n *task.NewTask) { n.AssigneeID, n.BlockedBy = &ann.ID, []string{fmt.Sprint(blocker.ID)} })
	_, err := w.tasks.Claim(t.Context(), ann, given.ID, "I begin", "")
	w.wantCode(err, fault.UnresolvedBlockers)
}
