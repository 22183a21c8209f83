package temporalio

import (
	"context"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"stagecoach/internal/lifecycle"
)

// StartSingleton starts a workflow with a fixed id unless it is running.
func StartSingleton(ctx context.Context, c client.Client, workflowType, id, summary string) error {
	_, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: id, TaskQueue: lifecycle.MainQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            summary,
	}, workflowType)
	return err
}
