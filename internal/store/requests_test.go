package store_test

import (
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/store/task"
	"stagecoach/internal/store/transaction"
)

// TestARequestIsDecidedOnce repeats requests long after they were decided, when their answers are gone and the task
// would allow what it refused, and vice versa, like a reset workflow.
func TestARequestIsDecidedOnce(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	made := o.made(task.NewTask{Ref: "first"}, task.NewTask{BlockedBy: []string{"first"}})
	first, second := made[0], made[1]
	claim := func(request string, of task.Task) (task.Acted, error) {
		return o.actAs(request, of, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{})
	}

	if _, err := claim("refused", second); fault.CodeOf(err) != fault.UnresolvedBlockers {
		t.Fatalf("the blocker is not done: %v", err)
	}
	if _, err := claim("granted", first); err != nil {
		t.Fatal(err)
	}
	o.move(first, lifecycle.TaskNew, &o.bob.ID) // returned
	back, err := o.Tasks.ByID(t.Context(), 0, first.ID)
	o.must(err)
	o.exec(`DELETE FROM answers`)

	if again, err := claim("granted", first); err != nil || again.Event != "" || again.State.Version != back.Version {
		t.Errorf("the claim of a task that was given back: %+v, %v", again, err)
	}
	if _, err := o.actAs("granted", first, o.bob.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{LeaseSeconds: 60}); fault.CodeOf(err) != fault.Validation {
		t.Errorf("the same id with another content: %v", err)
	}
	if _, err := o.actAs("never", first, o.stranger.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{}); fault.CodeOf(err) != fault.TaskNotFound {
		t.Errorf("a stranger: %v", err)
	}

	o.move(first, lifecycle.TaskInProgress, &o.bob.ID)
	o.move(first, lifecycle.TaskDone, &o.bob.ID)
	if _, err := claim("refused", second); fault.CodeOf(err) != fault.UnresolvedBlockers {
		t.Errorf("the refused claim, when the blocker is done: %v", err)
	}
	if _, err := claim("another", second); err != nil {
		t.Errorf("another claim: %v", err)
	}

	o.must(o.Tasks.AddMember(t.Context(), o.OwnerID, o.Workspace.ID, o.stranger.ID))
	if _, err := o.actAs("never", first, o.stranger.ID, lifecycle.TaskActionClaim, lifecycle.TaskInput{}); fault.CodeOf(err) != fault.TaskNotFound {
		t.Errorf("a stranger who is a member now: %v", err)
	}

	o.move(second, lifecycle.TaskDone, &o.bob.ID)
	o.aged(40, "tasks", "true", "finished_at", "created_at", "updated_at")
	o.deleteOld(operations.Retention{"tasks": 30})
	var left int
	if o.scan(`SELECT count(*) FROM requests`, &left); left != 0 {
		t.Errorf("%d requests outlive their tasks", left)
	}
}

// TestARetryIsGrantedOnce repeats an administrator's retry after the order has failed again.
func TestARetryIsGrantedOnce(t *testing.T) {
	t.Parallel()
	b := newBank(t)
	hash := b.ordered("ann", 3*coin)
	b.fail(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)
	retry := transaction.Request{Hash: hash, Attempt: 1, RequestID: "once"}
	b.ok(b.Transactions.Retry(t.Context(), retry))
	b.fail(hash, "Failed to fetch: Network error", lifecycle.Retryable, false)

	retry.Attempt = 2 // the workflow knows the newest attempt
	again, err := b.Transactions.Retry(t.Context(), retry)
	if err != nil || again.State != lifecycle.TransactionFailed || again.Attempt != 2 {
		t.Errorf("the same request: %+v, %v", again, err)
	}
	retry.RequestID = "another"
	if again, err := b.Transactions.Retry(t.Context(), retry); err != nil || again.Attempt != 3 {
		t.Errorf("another request: %+v, %v", again, err)
	}
}
