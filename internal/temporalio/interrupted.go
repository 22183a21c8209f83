package temporalio

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// An interrupted attempt has not failed: its worker is stopping, or the record or Temporal is unavailable. If the policy limits an
// activity's attempts, the attempt runs in a context from WithHandOver and ends as Interrupted, and its workflow
// executes the activity again with the remaining attempts. If not, the policy retries, and nothing is lost.

// interrupted is the type of the error by which Interrupted ends an execution. Only the workflow receives it.
const interrupted = "INTERRUPTED"

// Interrupted ends the execution of an activity whose attempt has not failed. used is the number of failed attempts so
// far, as counted by the workflow.
func Interrupted(used int) error {
	return temporal.NewApplicationErrorWithOptions("the attempt was interrupted and has not failed", interrupted,
		temporal.ApplicationErrorOptions{
			NonRetryable: true, Category: temporal.ApplicationErrorCategoryBenign, Details: []any{used},
		})
}

// InterruptedIn reads what Interrupted put into err; false: the execution ended otherwise.
func InterruptedIn(err error) (used int, ok bool) {
	end, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || end.Type() != interrupted {
		return 0, false
	}
	err = end.Details(&used)
	return used, err == nil
}

// errWorkerStops is the context cause of an attempt whose worker is stopping.
var errWorkerStops = errors.New("the worker stops")

// IsInterruption reports whether err is not a failure of the attempt that returns it.
func IsInterruption(err error) bool {
	return errors.Is(err, errWorkerStops) || fault.CodeOf(err) == fault.StoreUnavailable
}

// IsServerLost reports whether an attempt's context has ended because Temporal accepted none of its heartbeats for the
// whole heartbeat timeout: the SDK cancels it with the last answer, and Temporal may not have noticed yet.
func IsServerLost(ctx context.Context) bool {
	cause := context.Cause(ctx)
	_, answered := errors.AsType[serviceerror.ServiceError](cause)
	return answered && !IsNotFound(cause)
}

// reportTime is how much of its time a waiting attempt keeps to report how it ended.
const reportTime = 10 * time.Second

// WithHandOver returns a context for an interruptible attempt. It ends while Temporal still accepts a report: some time
// after the worker has begun to stop, and before the attempt's time is over.
func WithHandOver(ctx context.Context, after time.Duration) (attempt context.Context, stop func()) {
	deadline := activity.GetInfo(ctx).Deadline
	ended, giveUp := context.WithCancelCause(ctx)
	attempt, cancel := context.WithDeadline(ended, deadline.Add(-min(reportTime, time.Until(deadline)/4)))

	go func() {
		select {
		case <-attempt.Done():
			return
		case <-activity.GetWorkerStopChannel(ctx):
		}
		select {
		case <-attempt.Done():
		case <-time.After(after):
			giveUp(errWorkerStops)
		}
	}()

	return attempt, func() { cancel(); giveUp(nil) }
}
