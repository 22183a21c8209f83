package rest_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// taskStub is a Temporal whose workflows of tasks decide at once, one request at a time.
type taskStub struct {
	*temporalStub
	store *store.Store
}

func (s *taskStub) UpdateWorkflow(
	ctx context.Context, o client.UpdateWorkflowOptions,
) (client.WorkflowUpdateHandle, error) {
	if s.isDown() {
		return nil, errors.New("secret: no route")
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	var id int64
	if _, err := fmt.Sscanf(o.WorkflowID, "task/%d", &id); err != nil {
		return nil, err
	}

	t, err := s.store.TaskByID(ctx, 0, id)
	if err != nil {
		return nil, err
	}
	if lifecycle.Task.Terminal(t.State) {
		return nil, serviceerror.NewNotFound("workflow execution already completed")
	}

	in := o.Args[0].(lifecycle.TaskInput)
	ask := lifecycle.TaskAskOf(lifecycle.TaskAction(o.UpdateName), in, lifecycle.TaskCaller{ID: in.Actor})
	facts, err := s.store.FactsOfTask(ctx, id, in.Actor)
	if err != nil {
		return nil, err
	}

	ask.Caller.Member, ask.Caller.Admin = facts.Member, facts.Admin
	step, held, err := lifecycle.DecideTask(t.Snapshot.Facts(facts.OpenBlockers), ask)
	if err != nil {
		return updated{err: temporalio.Refusal(fault.As(err))}, nil
	}
	if held {
		return updated{state: t.Snapshot}, nil
	}

	state, err := s.store.WriteTask(ctx, service.TaskTransition(id, t.Snapshot, step, ask, o.UpdateID, time.Now()))
	return updated{state: state, err: err}, nil
}

// updated is the outcome of an update.
type updated struct {
	client.WorkflowUpdateHandle
	state task.Snapshot
	err   error
}

func (u updated) Get(_ context.Context, value any) error {
	if u.err != nil {
		return u.err
	}
	*value.(*lifecycle.TaskView) = lifecycle.TaskView{
		StateView: lifecycle.StateView{State: string(u.state.State), Since: u.state.Since}, Version: u.state.Version,
		AssigneeID: u.state.AssigneeID, DeadlineAt: u.state.DeadlineAt, ReleaseAt: u.state.ReleaseAt,
		FencingToken: u.state.FencingToken, LeaseExpiresAt: u.state.LeaseExpiresAt,
		StartedAt: u.state.StartedAt, FinishedAt: u.state.FinishedAt,
	}
	return nil
}
