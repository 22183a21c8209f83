package record

import (
	"testing"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/testtemporal"
)

// TestAwaitForCancelsItsTimer ends a wait early, and one late: only the timer of the late one fires.
func TestAwaitForCancelsItsTimer(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	var fired, cancelled int
	env.SetOnTimerFiredListener(func(string) { fired++ })
	env.SetOnTimerCanceledListener(func(string) { cancelled++ })

	come := false
	env.RegisterDelayedCallback(func() { come = true }, time.Minute)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		held, err := AwaitFor(ctx, time.Hour, "early", func() bool { return come })
		if err != nil || !held {
			t.Errorf("early: held %t, %v", held, err)
		}
		held, err = AwaitFor(ctx, time.Hour, "late", func() bool { return false })
		if err != nil || held {
			t.Errorf("late: held %t, %v", held, err)
		}
		return workflow.Sleep(ctx, 3*time.Hour)
	})

	if err := env.GetWorkflowError(); err != nil || fired != 2 || cancelled != 1 {
		t.Errorf("%d timers fired and %d were cancelled, %v", fired, cancelled, err)
	}
}
