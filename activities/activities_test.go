package activities_test

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"stagecoach/activities"
)

// TestPaymentsAlone gives all else of the main queue back, soon and later each time.
func TestPaymentsAlone(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	activities.RegisterLeftPayments(env, &activities.PaymentActivities{}, &activities.TonMonitor{})
	_, err := env.ExecuteActivity("AddTorrent", int64(1))
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || refusal.NonRetryable() || refusal.NextRetryDelay() <= 0 || refusal.NextRetryDelay() > time.Second {
		t.Errorf("%v", err)
	}
}
