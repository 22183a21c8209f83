package temporalio

import (
	"context"
	"errors"

	"go.temporal.io/api/serviceerror"
)

// Signaler tells a workflow something. It is the part of client.Client that most activities need.
type Signaler interface {
	SignalWorkflow(ctx context.Context, workflowID, runID, name string, arg any) error
}

// SignalRunning signals a workflow. One that does not run is no error: it looks at the record when it is started again.
func SignalRunning(ctx context.Context, c Signaler, workflowID, name string, arg any) error {
	if err := c.SignalWorkflow(ctx, workflowID, "", name, arg); !IsNotFound(err) {
		return err
	}
	return nil
}

// IsNotFound says whether Temporal does not know what was asked for, or knows it only as ended.
func IsNotFound(err error) bool {
	_, unknown := errors.AsType[*serviceerror.NotFound](err)
	return unknown
}
