package temporalio

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// FaultOf gives the fault in err's chain; any other error becomes INTERNAL.
func FaultOf(err error) *fault.Error {
	if known := fault.As(err); known != nil {
		return known
	}
	return fault.New(fault.Internal, "an internal error; the log has it").WithCause(err)
}

// ActivityError is the error that an activity returns for a fault. The cause of an unexpected fault goes to the log,
// because a history must not have it.
func ActivityError(ctx context.Context, f *fault.Error) error {
	if f.Code == fault.Internal {
		activity.GetLogger(ctx).Error("an unforeseen error", "error", f.Cause)
	}
	return ToTemporal(f)
}

// ToTemporal is the one map from faults to Temporal's errors: the code becomes the type, a retryable fault is retried,
// and the pause that the other side asked for precedes the next attempt. The cause is left out: it may contain
// anything, and a history is permanent.
func ToTemporal(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !f.Retryable,
		NextRetryDelay: f.RetryAfter,
	})
}

// RetryUntilSeen is ToTemporal for activities that move money: an unknown error is retried until a person has looked,
// and never ends a workflow. So is an error that the stop of the worker caused.
func RetryUntilSeen(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	f := FaultOf(err)
	if fault.As(err) == nil {
		f = f.Retry()
	}
	return ActivityError(ctx, f)
}
