package temporalio

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"
)

// Signaler sends signals. It is the part of client.Client that most activities need.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, name string, arg any) error
}

// SignalRunning signals a workflow. A workflow that is not running is no error: it reads the record when it is started
// again.
func SignalRunning(ctx context.Context, c Signaler, workflowID, name string, arg any) error {
	if err := c.SignalWorkflow(ctx, workflowID, "", name, arg); !IsNotFound(err) {
		return err
	}
	return nil
}

// IsNotFound reports whether Temporal does not know the workflow, or only as an ended one.
func IsNotFound(err error) bool {
	_, unknown := errors.AsType[*serviceerror.NotFound](err)
	return unknown || endedMeanwhile(err)
}

// endedMeanwhile reports whether a workflow ended, or was terminated, after accepting an update and before answering
// it. The server gives such an update a failure of this type.
func endedMeanwhile(err error) bool {
	failure, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && failure.Type() == "AcceptedUpdateCompletedWorkflow"
}
