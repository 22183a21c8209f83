package reconcile

import (
	"context"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
)

// pausedTemporal is a Temporal with all workflows paused by an operator.
type pausedTemporal struct{ client.Client }

func (pausedTemporal) DescribeWorkflowExecution(
	context.Context, string, string,
) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{RunId: "run"}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED,
	}}, nil
}

// TestPausedWorkflowsAreAlive describes a workflow paused by an operator: nothing is lost.
func TestPausedWorkflowsAreAlive(t *testing.T) {
	t.Parallel()
	s := newSweeper(&Reconciler{Temporal: pausedTemporal{}})
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(func(ctx context.Context) (alive bool, err error) {
		now, err := s.describe(ctx, "task/1")
		return now.alive(), err
	}, activity.RegisterOptions{Name: "describe"})

	alive := false
	value, err := env.ExecuteActivity("describe")
	if err == nil {
		err = value.Get(&alive)
	}
	if err != nil || !alive {
		t.Errorf("a paused workflow is taken for one that has ended: %v", err)
	}
}
