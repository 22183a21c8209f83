package temporalio

import (
	"context"
	"errors"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// FaultOf returns the fault in err's chain; any other error becomes INTERNAL.
func FaultOf(err error) *fault.Error {
	if known := fault.As(err); known != nil {
		return known
	}
	return fault.New(fault.Internal, "internal error: see the log").WithCause(err)
}

// CodeIn returns the fault code of the activity's failure in err; empty: it has none, as for a timeout.
func CodeIn(err error) fault.Code {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		return fault.Code(failure.Type())
	}
	return ""
}

// ActivityError is the error that an activity returns for a fault. The cause of an unexpected fault goes to the log,
// because it must not enter a history. Errors caused by the end of the attempt's context are retried.
func ActivityError(ctx context.Context, f *fault.Error) error {
	if f.Code == fault.Internal {
		if ctx.Err() != nil {
			return LoopOutcome(ctx)
		}
		activity.GetLogger(ctx).Error("unexpected error", "error", f.Cause)
	}
	return ToTemporal(f)
}

// TryError is the error of an attempt in a context from WithHandOver.
func TryError(ctx context.Context, err error) error {
	switch {
	case IsInterruption(err), IsInterruption(context.Cause(ctx)), IsServerLost(ctx):
		return Interrupted(int(activity.GetInfo(ctx).Attempt) - 1)
	case ctx.Err() != nil:
		return LoopOutcome(ctx)
	default:
		return ActivityError(ctx, FaultOf(err))
	}
}

// RequestError is the error of an activity that decides a request: a refusal keeps its details.
func RequestError(ctx context.Context, err error) error {
	f := FaultOf(err)
	if f.Code != fault.Internal && !f.Retryable {
		return Refusal(f)
	}
	return ActivityError(ctx, f)
}

// ToTemporal is the only map from faults to Temporal's errors: the code becomes the type, a retryable fault is retried,
// and the delay requested by the other side precedes the next attempt. The cause is left out: it may contain anything,
// and a history is permanent.
func ToTemporal(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !f.Retryable,
		NextRetryDelay: f.RetryAfter,
	})
}

// RetryUntilSeen is ToTemporal for activities that move money: an unknown error is retried until a person has looked at
// it, and never ends a workflow. So is an error caused by a stopping worker.
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
