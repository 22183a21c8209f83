package record

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// Do runs a short activity that reads or writes the record, until it succeeds or is refused. It first runs as a local
// activity, which costs one event. If that fails, for example in an outage of PostgreSQL, it runs as an ordinary
// activity with unlimited retries. A cancelled workflow runs it too. The only error is a refusal (a non-retryable
// fault).
func Do[In, Out any](
	ctx workflow.Context, summary string, act func(context.Context, In) (Out, error), in In,
) (out Out, err error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    2 * time.Second,
		ScheduleToCloseTimeout: 4 * time.Second, // well within a workflow task
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 3},
		Summary:                summary,
	})

	err = workflow.ExecuteLocalActivity(local, act, in).Get(ctx, &out)
	refusal, _ := errors.AsType[*temporal.ApplicationError](err)
	if err == nil || refusal != nil && refusal.NonRetryable() {
		return out, err
	}

	retrying := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
		Summary:             summary,
	})

	err = workflow.ExecuteActivity(retrying, act, in).Get(ctx, &out)
	return out, err
}
