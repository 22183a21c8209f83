package record

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// Do runs a short activity that reads or writes the record, and does not give up: it first runs in place (a local
// activity, one event); when that cannot succeed now, as in an outage of PostgreSQL, as an ordinary activity until it
// does. A cancelled workflow does it too. Only a refusal (a non-retryable fault) is given back.
func Do[In, Out any](ctx workflow.Context, act func(context.Context, In) (Out, error), in In) (out Out, err error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	local := workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout:    2 * time.Second,
		ScheduleToCloseTimeout: 4 * time.Second, // well within a workflow task
		RetryPolicy:            &temporal.RetryPolicy{InitialInterval: 50 * time.Millisecond, MaximumAttempts: 3},
	})

	err = workflow.ExecuteLocalActivity(local, act, in).Get(ctx, &out)
	if err == nil || isRefusal(err) {
		return out, err
	}

	patient := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue:           lifecycle.MainQueue,
		StartToCloseTimeout: 10 * time.Second,
		RetryPolicy:         &temporal.RetryPolicy{InitialInterval: time.Second, MaximumInterval: 30 * time.Second},
	})

	err = workflow.ExecuteActivity(patient, act, in).Get(ctx, &out)
	return out, err
}

func isRefusal(err error) bool {
	refusal, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && refusal.NonRetryable()
}
