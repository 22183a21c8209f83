package transaction

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/dev/testtemporal"
	"stagecoach/internal/lifecycle"
)

// TestUnservedMonitorIsReported lets no process serve the wallet's queue: administrators are notified, and the monitor
// waits again.
func TestUnservedMonitorIsReported(t *testing.T) {
	t.Parallel()
	env := testtemporal.Environment()
	env.RegisterWorkflowWithOptions(Monitor, workflow.RegisterOptions{Name: lifecycle.TonMonitorType})
	env.RegisterActivity(&activities.Activities{})
	env.RegisterActivity(&activities.Monitor{})
	env.OnActivity(monitor.WatchWallet, mock.Anything, "0:ab").
		Return(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil))

	alerts := 0
	env.OnActivity(transactions.AlertUnfollowed, mock.Anything, "0:ab").
		Return(func(context.Context, string) (struct{}, error) { alerts++; return struct{}{}, nil }).Maybe()
	env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
		if info.ActivityType.Name == "WatchWallet" && info.StartToCloseTimeout != time.Hour {
			t.Errorf("it watches for %s", info.StartToCloseTimeout)
		}
	})

	env.ExecuteWorkflow(lifecycle.TonMonitorType, "0:ab", "")
	if _, again := errors.AsType[*workflow.ContinueAsNewError](env.GetWorkflowError()); !again || alerts != 1 {
		t.Errorf("%d alerts, then %v", alerts, env.GetWorkflowError())
	}
}
