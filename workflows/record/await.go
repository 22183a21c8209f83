package record

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// AwaitFor waits until a condition holds, or until a time is over: then held is false. It cancels its timer as soon as
// the wait is over, because one that goes on, as that of workflow.AwaitWithOptions does, wakes the workflow for nothing.
func AwaitFor(ctx workflow.Context, limit time.Duration, summary string, holds func() bool) (held bool, err error) {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()

	timer := workflow.NewTimerWithOptions(timing, limit, workflow.TimerOptions{Summary: summary})
	err = workflow.Await(ctx, func() bool { return holds() || timer.IsReady() })
	return err == nil && holds(), err
}
