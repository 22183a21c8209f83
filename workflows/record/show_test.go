package record

import (
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testtemporal"
	"stagecoach/internal/temporalio"
)

// TestShowSetsWhatHasChanged shows a workflow in a sequence of states: only a change is an event, and removed values
// are absent.
func TestShowSetsWhatHasChanged(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	events := 0
	env.OnUpsertTypedSearchAttributes(mock.Anything).Run(func(mock.Arguments) { events++ }).Return(nil)

	soon := env.Now().Add(time.Hour).UTC()
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		for i, c := range []struct {
			now    Shown
			events int
		}{
			{Shown{Stage: "NEW", WaitsFor: "claim"}, 1},
			{Shown{Stage: "NEW", WaitsFor: "claim"}, 1},
			{Shown{Stage: "NEW", WaitsFor: "assignee", DeadlineAt: &soon, Attention: true}, 2},
			{Shown{Stage: "NEW", WaitsFor: "assignee", DeadlineAt: &soon, Attention: true}, 2},
			{Shown{Stage: "DONE"}, 3},
			{Shown{Stage: "DONE"}, 3},
			{Shown{Stage: "NEW", Attention: true}, 4},
		} {
			Show(ctx, c.now)
			shown := workflow.GetTypedSearchAttributes(ctx)
			stage, _ := shown.GetKeyword(temporalio.StageAttribute)
			waits, _ := shown.GetKeyword(temporalio.WaitsForAttribute)
			attention, there := shown.GetBool(temporalio.AttentionAttribute)
			_, limited := shown.GetTime(temporalio.DeadlineAttribute)
			if stage != c.now.Stage || waits != c.now.WaitsFor || attention != c.now.Attention || there != c.now.Attention ||
				limited != (c.now.DeadlineAt != nil) || events != c.events {
				t.Errorf("%d: %s, %s, attention %t %t, a deadline %t, %d events", i, stage, waits, attention, there, limited, events)
			}
		}
		return nil
	})
	if err := env.GetWorkflowError(); err != nil {
		t.Error(err)
	}
}
