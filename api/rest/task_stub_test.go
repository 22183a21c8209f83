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
	"stagecoach/internal/store"
	"stagecoach/internal/store/task"
	"stagecoach/internal/temporalio"
)

// taskStub is a Temporal whose task workflows decide at once, one request at a time.
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

	t, err := s.store.Tasks.ByID(ctx, 0, id)
	if err != nil {
		return nil, err
	}
	if lifecycle.Task.Terminal(t.State) {
		return nil, serviceerror.NewNotFound("workflow execution already completed")
	}

	_, err = s.store.Tasks.Act(ctx, task.Act{
		TaskID: id, RequestID: o.UpdateID, Action: lifecycle.TaskAction(o.UpdateName), Input: o.Args[0].(lifecycle.TaskInput),
		At: time.Now(),
	})
	if refusal := fault.As(err); refusal != nil {
		err = temporalio.Refusal(refusal)
	}
	return updated{err: err}, nil
}

// updated is the outcome of an update.
type updated struct {
	client.WorkflowUpdateHandle
	err error
}

func (u updated) Get(context.Context, any) error { return u.err }
