package record

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/temporalio"
)

// Uninterrupted executes an activity until an execution ends other than as interrupted. ctx has the activity's options;
// each execution gets them with the remaining attempts.
func Uninterrupted(ctx workflow.Context, execute func(workflow.Context) error) error {
	retries := *workflow.GetActivityOptions(ctx).RetryPolicy
	for {
		err := execute(workflow.WithRetryPolicy(ctx, retries))
		used, interrupted := temporalio.InterruptedIn(err)
		if !interrupted || ctx.Err() != nil {
			return err
		}
		retries.MaximumAttempts -= int32(used)
	}
}
