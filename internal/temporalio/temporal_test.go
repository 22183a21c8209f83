package temporalio

import (
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

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
