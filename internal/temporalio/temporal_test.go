package temporalio

import (
	"testing"

	"go.temporal.io/api/serviceerror"

	"stagecoach/internal/fault"
)

// TestUnreachable sorts what Temporal refuses.
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
