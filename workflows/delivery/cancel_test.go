package delivery

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	activities "stagecoach/activities/delivery"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
)

// asked is the answer to an update's caller.
type asked struct {
	rejected error // by the validator
	outcome  lifecycle.DeliveryOutcome
	err      error
	done     bool
}

// cancel sends the update at a time after the start.
func cancel(env *testsuite.TestWorkflowEnvironment, after time.Duration, id string, in lifecycle.DeliveryInput) *asked {
	by := &asked{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(string(lifecycle.DeliveryActionCancel), id, &testsuite.TestUpdateCallback{
			OnReject: func(err error) { by.rejected = err },
			OnAccept: func() {},
			OnComplete: func(answer any, err error) {
				by.outcome, _ = answer.(lifecycle.DeliveryOutcome)
				by.err, by.done = err, true
			},
		}, in)
	}, after)
	return by
}

// streaming is an attempt that continues until it is cancelled.
func streaming(ctx context.Context, _ lifecycle.DeliveryExecution) (activities.Receipt, error) {
	<-ctx.Done()
	return activities.Receipt{}, temporal.NewCanceledError()
}

// TestCancelByUpdate answers each update with the job's end, which is recorded once.
func TestCancelByUpdate(t *testing.T) {
	t.Parallel()
	env := newRun(t, streaming)
	for _, id := range []string{"first", "second"} {
		env.OnActivity(records.CancelJob, mock.Anything, lifecycle.DeliveryCancel{JobID: jobID, Actor: 3, RequestID: id}).Return(true, nil).Once()
	}
	wantEnd(env, lifecycle.DeliveryActionCancel, fault.CancelledByUser, lifecycle.DeliveryCancelled)
	updates := []*asked{
		cancel(env, 100*time.Millisecond, "first", lifecycle.DeliveryInput{Actor: 3}),
		cancel(env, 100*time.Millisecond, "second", lifecycle.DeliveryInput{Actor: 3}),
	}

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) {
		t.Errorf("the workflow ended with %v", err)
	}
	for i, by := range updates {
		if by.rejected != nil || by.err != nil || by.outcome.State != lifecycle.DeliveryCancelled || by.outcome.Reason != fault.CancelledByUser {
			t.Errorf("update %d: %+v", i, by)
		}
	}
	env.AssertExpectations(t)
}

// TestCancelRefused leaves the job alone: the record refuses a request, and the validator a malformed one.
func TestCancelRefused(t *testing.T) {
	t.Parallel()
	env := newRun(t, streaming)
	refusal := fault.New(fault.InsufficientAccess, "no").With("current", "STREAMING")
	env.OnActivity(records.CancelJob, mock.Anything, mock.Anything).Return(false, temporalio.Refusal(refusal)).Once()
	refused := cancel(env, 100*time.Millisecond, "refused", lifecycle.DeliveryInput{Actor: 4})
	invalid := cancel(env, 100*time.Millisecond, "invalid", lifecycle.DeliveryInput{Actor: -4})
	var signalled atomic.Bool
	env.OnActivity(records.FinishJob, mock.Anything, mock.Anything).Return(func(context.Context, lifecycle.DeliveryEnd) (lifecycle.DeliveryOutcome, error) {
		if !signalled.Load() {
			t.Error("the job ends though nobody may end it")
		}
		return lifecycle.DeliveryOutcome{State: lifecycle.DeliveryCancelled}, nil
	}).Once()
	env.RegisterDelayedCallback(func() {
		signalled.Store(true)
		env.SignalWorkflow(lifecycle.CancelSignal, nil)
	}, 300*time.Millisecond)

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if got := temporalio.RefusalIn(refused.err); got == nil || got.Code != fault.InsufficientAccess || fmt.Sprint(got.Details) != "map[current:STREAMING]" {
		t.Errorf("refused: %+v", refused)
	}
	if got := temporalio.RefusalIn(invalid.rejected); got == nil || got.Code != fault.Validation || invalid.done {
		t.Errorf("invalid: %+v", invalid)
	}
	env.AssertExpectations(t)
}

// TestCancelByOperator cancels the workflow while a person's request waits for the end, which both get.
func TestCancelByOperator(t *testing.T) {
	t.Parallel()
	env := newRun(t, streaming)
	env.OnActivity(records.CancelJob, mock.Anything, mock.Anything).After(300*time.Millisecond).Return(true, nil).Once()
	wantEnd(env, lifecycle.DeliveryActionCancel, fault.CancelledByUser, lifecycle.DeliveryCancelled)
	by := cancel(env, 100*time.Millisecond, "request", lifecycle.DeliveryInput{})
	env.RegisterDelayedCallback(env.CancelWorkflow, 100*time.Millisecond)

	env.ExecuteWorkflow(lifecycle.DeliveryType, jobID)
	if err := env.GetWorkflowError(); !temporal.IsCanceledError(err) || errors.Is(err, context.Canceled) {
		t.Errorf("the workflow ended with %v", err)
	}
	if by.err != nil || by.outcome.State != lifecycle.DeliveryCancelled {
		t.Errorf("%+v", by)
	}
	env.AssertExpectations(t)
}
