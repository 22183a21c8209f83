package transaction

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/temporalio"
)

// Tasks of 0.1.0 that need the wallet's key are on the main queue, which processes without the key serve too. Those
// processes return them, and a process that serves only payments returns all other tasks of the queue. No activity
// there has a limit of attempts, and the activities that count their quick tries leave out the returned attempts.

// giveBackAfter is the pause before the next process may take a returned task.
const giveBackAfter = time.Second

// refuseHere stands in for an activity that needs the wallet's key, and returns the task for a process that has it.
func refuseHere(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, givenBack(ctx)+1)
	return giveBack("this process does not hold the wallet's key", giveBackAfter)
}

// givenBack is how many attempts of an activity were returned.
func givenBack(ctx context.Context) (n int) {
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &n) != nil {
		return 0 // a heartbeat without details
	}
	return n
}

// sendHeartbeats sends heartbeats until stop is called. They keep the count of returned attempts.
func sendHeartbeats(ctx context.Context) (stop func()) {
	return temporalio.SendHeartbeats(ctx, givenBack(ctx))
}

// attemptWithKey is the number of an attempt among those by processes with the key.
func attemptWithKey(ctx context.Context) int {
	return int(activity.GetInfo(ctx).Attempt) - givenBack(ctx)
}

// leaveToOthers returns a task at once, and with a longer pause each time: no other process may be there yet.
func leaveToOthers(ctx context.Context, _ converter.EncodedValues) error {
	pause := time.Duration(activity.GetInfo(ctx).Attempt) * leaveStep
	return giveBack("this process serves payments only", min(pause, giveBackAfter))
}

// leaveStep is added to the pause each time before another process may take a task.
const leaveStep = 20 * time.Millisecond

func giveBack(why string, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(
		why, string(fault.NotConfigured), temporal.ApplicationErrorOptions{NextRetryDelay: pause},
	)
}
