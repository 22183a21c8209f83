package temporalio

import (
	"context"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/internal/fault"
)

// TestUnreachable classifies Temporal's refusals.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want fault.Code
	}{
		{serviceerror.NewUnavailable("no connection"), fault.TemporalUnavailable},
		{serviceerror.NewInvalidArgument("an id is too long"), fault.Validation},
		{serviceerror.NewFailedPrecondition("Workflow is paused. Cannot update the workflow."), fault.WorkflowPaused},
	} {
		if got := fault.CodeOf(Unreachable(c.err)); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
}

// TestAnUpdateOfAWorkflowThatEnds is not a refusal: the record knows the outcome.
func TestAnUpdateOfAWorkflowThatEnds(t *testing.T) {
	t.Parallel()
	ended := temporal.NewNonRetryableApplicationError("the workflow completed", "AcceptedUpdateCompletedWorkflow", nil)
	if refusal := RefusalIn(ended); refusal != nil || !IsNotFound(ended) {
		t.Errorf("a refusal %v, not found: %t", refusal, IsNotFound(ended))
	}
	refused := Refusal(fault.New(fault.InvalidTransition, "it has ended"))
	if refusal := RefusalIn(refused); refusal == nil || refusal.Code != fault.InvalidTransition || IsNotFound(refused) {
		t.Errorf("a refusal %v, not found: %t", refusal, IsNotFound(refused))
	}
}

// TestServerLost distinguishes an attempt whose heartbeats Temporal did not answer, which has not failed, from others
// that were cancelled.
func TestServerLost(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cause       error
		interrupted bool
	}{
		"no answer in time": {serviceerror.NewDeadlineExceeded("context deadline exceeded"), true},
		"no server":         {serviceerror.NewUnavailable("away"), true},
		"ended":             {serviceerror.NewNotFound("activity not found"), false},
		"asked to stop":     {temporal.NewCanceledError(), false},
		"paused":            {activity.ErrActivityPaused, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivityWithOptions(func(ctx context.Context) error {
				ctx, end := context.WithCancelCause(ctx)
				attempt, stop := WithHandOver(ctx, time.Minute)
				defer stop()
				end(c.cause)
				return TryError(attempt, attempt.Err())
			}, activity.RegisterOptions{Name: "try"})

			_, err := env.ExecuteActivity("try")
			if _, interrupted := InterruptedIn(err); interrupted != c.interrupted {
				t.Errorf("interrupted: %t, %v", interrupted, err)
			}
		})
	}
}
