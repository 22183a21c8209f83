package activities

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
)

// asFault gives the fault in err's chain; anything else is ours and INTERNAL.
func asFault(err error) *fault.Error {
	if known := fault.As(err); known != nil {
		return known
	}
	return fault.New(fault.Internal, "an internal error; the log has it").WithCause(err)
}

// toTemporal is the one map from faults to Temporal's errors: the code becomes the type, what may be retried is
// retried, and the pause the other side asked for comes before the next try. The cause stays here: it may hold
// anything, and a history is for ever.
func toTemporal(f *fault.Error) error {
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Code), temporal.ApplicationErrorOptions{
		NonRetryable:   !f.Retryable,
		NextRetryDelay: f.RetryAfter,
	})
}

// interruption gives why ctx ended when a fault ended it, else err: a stopped transfer fails with whatever its
// connection said last, and that is not the reason.
func interruption(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}
