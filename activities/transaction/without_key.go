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

// Work of 0.1.0 that needs the wallet's key lies on the main queue, which processes without the key serve too. They
// give it back, and so does a process for payments alone with all the rest: no activity there has a limit of attempts,
// and those that count their quick tries themselves leave out the ones that were given back.

// giveBackAfter is how soon the next process may take what was given back.
const giveBackAfter = time.Second

// refuseHere stands for an activity that needs the wallet's key, and gives it back for a process that has it.
func refuseHere(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, givenBack(ctx)+1)
	return giveBack("this process does not hold the wallet's key", giveBackAfter)
}

// givenBack is how many attempts of an activity were given back.
func givenBack(ctx context.Context) (n int) {
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &n) != nil {
		return 0 // a beat without details
	}
	return n
}

// sendHeartbeats sends heartbeats until stop is called. They keep the count of attempts that were given back.
func sendHeartbeats(ctx context.Context) (stop func()) {
	return temporalio.SendHeartbeats(ctx, givenBack(ctx))
}

// attemptWithKey is the number of an attempt among those by processes with the key.
func attemptWithKey(ctx context.Context) int {
	return int(activity.GetInfo(ctx).Attempt) - givenBack(ctx)
}

// leaveToOthers gives an activity back at once, and later each time: nobody else may be there yet.
func leaveToOthers(ctx context.Context, _ converter.EncodedValues) error {
	pause := time.Duration(activity.GetInfo(ctx).Attempt) * leaveStep
	return giveBack("this process serves payments only", min(pause, giveBackAfter))
}

// leaveStep is what each time adds to the pause before somebody else may take an activity.
const leaveStep = 20 * time.Millisecond

func giveBack(why string, pause time.Duration) error {
	return temporal.NewApplicationErrorWithOptions(
		why, string(fault.NotConfigured), temporal.ApplicationErrorOptions{NextRetryDelay: pause},
	)
}
