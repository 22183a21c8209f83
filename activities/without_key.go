package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// Work of 0.1.0 that needs the wallet's key lies on the main queue, which processes without the key serve too. They give it back: the
// activities there have no limit of attempts, and those that count their quick tries themselves leave out the ones that were given back.

// giveBackAfter is how soon the next process may take what was given back.
const giveBackAfter = time.Second

// refuseHere gives an activity back that needs the wallet's key, for a process that has it.
func refuseHere(ctx context.Context) error {
	activity.RecordHeartbeat(ctx, givenBack(ctx)+1)
	return temporal.NewApplicationErrorWithOptions("this process does not hold the wallet's key", string(fault.NotConfigured),
		temporal.ApplicationErrorOptions{NextRetryDelay: giveBackAfter})
}

// givenBack is how many attempts of an activity were given back.
func givenBack(ctx context.Context) (n int) {
	if activity.HasHeartbeatDetails(ctx) && activity.GetHeartbeatDetails(ctx, &n) != nil {
		return 0 // a beat without details
	}
	return n
}

// attemptWithKey is the number of an attempt among those by processes with the key.
func attemptWithKey(ctx context.Context) int {
	return int(activity.GetInfo(ctx).Attempt) - givenBack(ctx)
}
