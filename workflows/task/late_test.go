package task_test

import (
	"context"
	"sync"
	"testing"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// TestLateWorkflow acts on a task whose workflow could not be started at its creation.
func TestLateWorkflow(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	made := w.recorded()
	claimed, err := w.tasks.Claim(t.Context(), w.member(), made.ID, "c", "k")
	if err != nil || claimed.State != lifecycle.TaskInProgress || w.reload(made).WorkflowStartedAt == nil {
		t.Errorf("%+v, %v", claimed.Snapshot, err)
	}
}

// TestWorkflowStartsMeanwhile claims tasks, by id and as the next one, whose workflows are started elsewhere just after
// the claim did not reach them: the claim is sent again.
func TestWorkflowStartsMeanwhile(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	agent := w.member()
	var made task.Task
	late := func() *tasks.Service {
		made = w.recorded()
		return &tasks.Service{
			Temporal: &starting{Client: w.client, start: sync.OnceFunc(func() { w.must(w.tasks.Start(w.Context(), made)) })},
			Store:    w.store, Log: w.tasks.Log, Patience: w.tasks.Patience,
		}
	}

	claimed, err := late().Claim(t.Context(), agent, made.ID, "c", "")
	if err != nil || !claimed.HeldBy(agent.ID) {
		t.Errorf("by id: %+v, %v", claimed.Snapshot, err)
	}

	for _, key := range []string{"", "k"} {
		next, err := late().ClaimNext(t.Context(), agent, tasks.Next{Comment: "c"}, key)
		if err != nil || next == nil || next.ID != made.ID {
			t.Errorf("the next one with key %q: %+v, %v; want task %d", key, next, err, made.ID)
		}
	}
}

// TestWorkflowEndedByHand claims a task whose workflow an operator has terminated: the answer does not wait.
func TestWorkflowEndedByHand(t *testing.T) {
	t.Parallel()
	w := newRig(t, tasks.WorkspaceChange{})
	agent, made := w.member(), w.task(nil)
	w.must(w.client.TerminateWorkflow(t.Context(), made.WorkflowID(), "", "by hand"))

	_, err := w.tasks.Claim(t.Context(), agent, made.ID, "c", "")
	w.wantCode(err, fault.TemporalUnavailable)
	if cause(err) != nil {
		t.Errorf("the cause is %v: it was not known that the workflow has ended", cause(err))
	}

	next, err := w.tasks.ClaimNext(t.Context(), agent, tasks.Next{Comment: "c"}, "")
	if next != nil || err != nil {
		t.Errorf("the next one is %+v, %v", next, err)
	}
}

// recorded makes a task without a workflow.
func (w *rig) recorded() task.Task {
	w.Helper()
	made, _, err := w.store.Tasks.Create(w.Context(), w.workspace.ID,
		[]task.NewTask{{Title: "made without Temporal", Visibility: "public", Priority: "normal", Labels: []string{}}},
		core.Event{Type: "created", To: "NEW"}, core.Request{UserID: w.creator.ID})
	w.must(err)
	return made[0]
}

// starting is a Temporal on which another caller starts a workflow as soon as an update has not found it.
type starting struct {
	client.Client
	start func()
}

func (s *starting) UpdateWorkflow(
	ctx context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	handle, err := s.Client.UpdateWorkflow(ctx, o)
	if temporalio.IsNotFound(err) {
		s.start()
	}
	return handle, err
}
