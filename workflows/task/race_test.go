package task_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// claims lets each agent claim each task concurrently, and returns the winners and the answers to the others.
func claims(agents, tasks int, claim func(agent, task int) error) (winners [][]int, losses []error) {
	winners = make([][]int, tasks)
	var mu sync.Mutex
	var all sync.WaitGroup
	for t := range tasks {
		for a := range agents {
			all.Go(func() {
				err := claim(a, t)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					winners[t] = append(winners[t], a)
				} else {
					losses = append(losses, err)
				}
			})
		}
	}

	all.Wait()
	return winners, losses
}

// TestClaimRace lets 20 agents claim each of some tasks at once: one wins each, the others are refused. Half of the
// tasks wait for a blocker's end, so that their handlers have something to check. The race in dev/e2e does the same
// through HTTP, with servers that are killed, and shows that it catches a handler that does not check again.
func TestClaimRace(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	const agents, contested = 20, 12
	blocker := w.task(nil)
	_, err := w.tasks.Claim(t.Context(), w.creator, blocker.ID, "mine", "")
	w.must(err)
	_, err = w.tasks.Status(t.Context(), w.creator, blocker.ID, lifecycle.TaskDone, "done", "")
	w.must(err)
	var people []account.User
	for range agents {
		people = append(people, w.member())
	}

	var wanted []task.Task
	for i := range contested {
		wanted = append(wanted, w.task(func(n *task.NewTask) {
			if i%2 == 0 {
				n.BlockedBy = []string{fmt.Sprint(blocker.ID)}
			}
		}))
	}

	began := time.Now()
	winners, losses := claims(agents, contested, func(a, i int) error {
		_, err := w.tasks.Claim(t.Context(), people[a], wanted[i].ID, "I take it", w.key())
		return err
	})

	t.Logf("%d claims in %s", agents*contested, time.Since(began).Round(time.Millisecond))
	for i, won := range winners {
		if len(won) != 1 {
			t.Errorf("task %d has %d winners", i, len(won))
			continue
		}
		if got := w.reload(wanted[i]); !got.HeldBy(people[won[0]].ID) || got.State != lifecycle.TaskInProgress {
			t.Errorf("the record says %+v, agent %d was told to have won", got.Snapshot, people[won[0]].ID)
		}
		if events := w.events(wanted[i]); len(events) != 2 || events[1] != "claimed" {
			t.Errorf("events %v", events)
		}
	}

	for _, err := range losses {
		w.wantCode(err, fault.TaskAlreadyClaimed)
	}
}

// TestRefusalsLeaveNoTrace makes refused requests of every kind that a validator can detect, and counts the history's
// events.
func TestRefusalsLeaveNoTrace(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	holder, other := w.member(), w.member()
	wanted := w.task(nil)
	_, err := w.tasks.Claim(t.Context(), holder, wanted.ID, "mine", "")
	w.must(err)
	wait.Eventually(w, "its workflow rests", func() bool {
		about, err := w.client.DescribeWorkflowExecution(t.Context(), wanted.WorkflowID(), "")
		return err == nil && about.PendingWorkflowTask == nil
	})
	events := func() (n int) { // a refusal may need a workflow task of its own where one is slow
		for _, event := range w.history(wanted) {
			if !strings.HasPrefix(event.EventType.String(), "WorkflowTask") {
				n++
			}
		}
		return n
	}
	before := events()
	refused := func(update string, in lifecycle.TaskInput, code fault.Code) {
		t.Helper()
		handle, err := w.client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
			WorkflowID: wanted.WorkflowID(), UpdateName: update, Args: []any{in},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		})
		if err == nil {
			err = handle.Get(t.Context(), nil)
		}

		refusal := temporalio.RefusalIn(err)
		if refusal == nil || refusal.Code != code {
			t.Errorf("%s %+v: got %v, want %s", update, in, err, code)
		}
		if typed, ok := err.(*temporal.ApplicationError); ok && !typed.NonRetryable() {
			t.Error("a refusal may be retried")
		}
	}

	for range 5 {
		refused("claim", lifecycle.TaskInput{Actor: other.ID, Comment: "x"}, fault.TaskAlreadyClaimed)
		refused("takeover", lifecycle.TaskInput{Actor: other.ID, Comment: "x"}, fault.InvalidTransition)
		refused("escalate", lifecycle.TaskInput{Actor: holder.ID, Comment: "x"}, fault.CannotEscalateOwn)
		refused("escalate", lifecycle.TaskInput{Actor: other.ID, Comment: " "}, fault.CommentRequired)
		refused(
			"status", lifecycle.TaskInput{Actor: other.ID, Comment: "x", To: lifecycle.TaskDone}, fault.InsufficientAccess,
		)
		refused("status", lifecycle.TaskInput{Actor: other.ID, Comment: "x", To: "DANCING"}, fault.Validation)
		refused("status", lifecycle.TaskInput{Comment: "x", To: lifecycle.TaskDone}, fault.Validation)
		refused("status", lifecycle.TaskInput{Actor: other.ID, Comment: "a\x00b", To: lifecycle.TaskDone}, fault.Validation)
	}

	if after := events(); after != before {
		t.Errorf("refusals have left %d events", after-before)
	}
}
