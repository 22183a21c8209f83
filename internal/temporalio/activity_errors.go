package temporalio

import (
	"context"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// FaultOf gives the fault in err's chain; anything else is ours and INTERNAL.
func FaultOf(err error) *fault.Error {
	if known := fault.As(err); known != nil {
		return known
	}
	return fault.New(fault.Internal, "an internal error; the log has it").WithCause(err)
}

// ActivityError is what an activity ends with. What nobody has foreseen goes to the log, for a history is not told the
// cause.
func ActivityError(ctx context.Context, f *fault.Error) error {
	if f.Code == fault.Internal {
		activity.GetLogger(ctx).Error("an unforeseen error", "error", f.Cause)
	}
	return ToTemporal(f)
}

// ToTemporal is the one map from faults to Temporal's errors: the code becomes the type, what may be retried is
// retried, and the pause the other side asked for comes before the next try. The cause stays here: it may hold
// anything, and a history is for ever.
func ToTemporal(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !f.Retryable,
		NextRetryDelay: f.RetryAfter,
	})
}

// RetryUntilSeen is toTemporal for activities that move money: what is nobody's known fault is tried again until a
// person has looked, and never ends a workflow. So is what the worker's own end has cut short.
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
