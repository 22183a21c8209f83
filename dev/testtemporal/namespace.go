package testtemporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/durationpb"

	"stagecoach/dev/wait"
	"stagecoach/internal/temporalio"
)

// prepareNamespace creates the next namespace in the background; s.ready gets the outcome.
func (s *Server) prepareNamespace() {
	name, ready := s.namespace(), make(chan error, 1)
	s.ready = ready
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
		defer cancel()
		ready <- s.makeNamespace(ctx, name)
	}()
}

// makeNamespace creates a namespace with our search attributes, and returns when each part of the server knows both.
func (s *Server) makeNamespace(ctx context.Context, name string) error {
	service := s.Client.WorkflowService()
	err := repeated(ctx, "register "+name, func() error {
		_, err := service.RegisterNamespace(ctx, &workflowservice.RegisterNamespaceRequest{
			Namespace: name, WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
		})
		if _, exists := errors.AsType[*serviceerror.NamespaceAlreadyExists](err); exists {
			return nil
		}
		return err
	})
	if err != nil {
		return err
	}

	err = repeated(ctx, "add search attributes to "+name, func() error {
		_, err := temporalio.EnsureSearchAttributes(ctx, s.Client, name)
		return err
	})
	if err != nil {
		return err
	}

	connection, err := client.NewClientFromExisting(s.Client, client.Options{Namespace: name})
	if err != nil {
		return err
	}
	defer connection.Close()
	return probe(ctx, connection, name)
}

// probe waits until a workflow with our search attributes can be started in a namespace, its task is handed out, and it
// can be found by each attribute. It leaves nothing behind.
func probe(ctx context.Context, c client.Client, namespace string) error {
	const id, queue = "probe", "probe"
	service := c.WorkflowService()
	attributes := temporal.NewSearchAttributes(
		temporalio.EntityAttribute.ValueSet(id), temporalio.StageAttribute.ValueSet(id), temporalio.WaitsForAttribute.ValueSet(id),
		temporalio.OwnerAttribute.ValueSet(id), temporalio.AttentionAttribute.ValueSet(true), temporalio.WorkspaceAttribute.ValueSet(id),
		temporalio.AssigneeAttribute.ValueSet(id), temporalio.DeadlineAttribute.ValueSet(time.Unix(0, 0)),
	)

	err := repeated(ctx, "start a workflow in "+namespace, func() error {
		_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
			ID: id, TaskQueue: queue, TypedSearchAttributes: attributes,
			WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		}, "probe")
		return err
	})
	if err != nil {
		return err
	}

	err = repeated(ctx, "get a task of "+namespace, func() error {
		bounded, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()

		task, err := service.PollWorkflowTaskQueue(bounded, &workflowservice.PollWorkflowTaskQueueRequest{
			Namespace: namespace, TaskQueue: &taskqueuepb.TaskQueue{Name: queue}, Identity: "probe",
		})
		if err == nil && len(task.TaskToken) == 0 {
			return errors.New("there is no task")
		}
		return err
	})
	if err != nil {
		return err
	}

	listed := func() (int, error) {
		answer, err := service.ListWorkflowExecutions(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Namespace: namespace, Query: fmt.Sprintf(
				"%[2]s = '%[1]s' AND %[3]s = '%[1]s' AND %[4]s = '%[1]s' AND %[5]s = '%[1]s' AND %[6]s = true AND %[7]s = '%[1]s' AND %[8]s = '%[1]s' AND %[9]s < '1971-01-01T00:00:00Z'",
				id, temporalio.EntityAttribute.GetName(), temporalio.StageAttribute.GetName(), temporalio.WaitsForAttribute.GetName(),
				temporalio.OwnerAttribute.GetName(), temporalio.AttentionAttribute.GetName(), temporalio.WorkspaceAttribute.GetName(),
				temporalio.AssigneeAttribute.GetName(), temporalio.DeadlineAttribute.GetName(),
			),
		})
		return len(answer.GetExecutions()), err
	}

	err = repeated(ctx, "find a workflow in "+namespace, func() error {
		n, err := listed()
		if err == nil && n != 1 {
			return errors.New("it is not listed")
		}
		return err
	})
	if err != nil {
		return err
	}

	return repeated(ctx, "delete a workflow in "+namespace, func() error {
		execution := &commonpb.WorkflowExecution{WorkflowId: id}
		_, err := service.DeleteWorkflowExecution(ctx, &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: namespace, WorkflowExecution: execution,
		})
		if _, gone := errors.AsType[*serviceerror.NotFound](err); !gone {
			return cmp.Or(err, errors.New("it is still there"))
		}
		n, err := listed()
		if err == nil && n != 0 {
			return errors.New("it is still listed")
		}
		return err
	})
}

// repeated repeats a step until it succeeds or ctx ends.
func repeated(ctx context.Context, what string, step func() error) error {
	for {
		err := step()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
