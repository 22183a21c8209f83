package temporalio

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
)

// Signaler sends signals. It is the part of client.Client that most activities need.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, name string, arg any) error
}

// SignalRunning signals a workflow. A workflow that does not run is no error: it reads the record when it is started
// again.
func SignalRunning(ctx context.Context, c Signaler, workflowID, name string, arg any) error {
	if err := c.SignalWorkflow(ctx, workflowID, "", name, arg); !IsNotFound(err) {
		return err
	}
	return nil
}

// IsNotFound says whether Temporal does not know the workflow, or only as an ended one.
func IsNotFound(err error) bool {
	_, unknown := errors.AsType[*serviceerror.NotFound](err)
	return unknown
}
