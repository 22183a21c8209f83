package activities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/stars"
	"stagecoach/internal/temporalio"
)

// interruption gives why ctx ended when a fault ended it, else err: a stopped transfer fails with whatever its
// connection said last, and that is not the reason.
func interruption(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return err
}

// isRefusal says whether err is one of these faults.
func isRefusal(err error, codes ...fault.Code) bool {
	return slices.Contains(codes, fault.CodeOf(err))
}

// failureOf names the failure of a purchase by the one table of them.
func failureOf(err error) *stars.Failure {
	if known, ok := errors.AsType[*stars.Failure](err); ok {
		return known
	}

	switch f := fault.As(err); {
	case f == nil:
		return stars.Unexplained
	case strings.HasPrefix(string(f.Code), "FRAGMENT_"):
		return stars.Named(f.Message)
	case strings.HasPrefix(string(f.Code), "CHAIN_"),
		isRefusal(f, fault.InsufficientFunds, fault.NotConfigured, fault.Validation): // of what was to be signed
		return stars.WalletRefused
	case f.Code == fault.PaymentLimit:
		return stars.AboveLimit
	default:
		return stars.Unexplained
	}
}

// failed is a failure as Temporal's retry policy and the workflow see it: the class is the type.
func failed(f *stars.Failure, cause error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: f.Final}
	if known := fault.As(cause); known != nil {
		options.NextRetryDelay = known.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Class), options)
}

// beat sends heartbeats until the function it gives is called, so that a lost worker is noticed soon.
func beat(ctx context.Context) (stop func()) {
	done, returned := make(chan struct{}), givenBack(ctx)
	go func() {
		ticker := time.NewTicker(temporalio.HeartbeatEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx, returned)
			}
		}
	}()

	return func() { close(done) }
}
