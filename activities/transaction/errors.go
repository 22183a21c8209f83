package transaction

import (
	"errors"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
)

// isRefusal reports whether err is one of these faults.
func isRefusal(err error, codes ...fault.Code) bool {
	return slices.Contains(codes, fault.CodeOf(err))
}

// failureOf looks up a purchase's failure in the table of failures.
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

// failed converts a failure to an error for Temporal: its type is the class or, for a failure caused by the payer, the
// message, by which the retry policy recognizes it. later is when to retry; 0: never, or by the policy.
func failed(f *stars.Failure, later time.Duration) error {
	kind := string(f.Class)
	if f.Class == lifecycle.NonRetryable {
		kind = f.Message
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, kind, temporal.ApplicationErrorOptions{
		NonRetryable: f.Final, NextRetryDelay: max(later, 0),
	})
}

// isFinal reports whether an error is already Temporal's.
func isFinal(err error) bool { return errors.As(err, new(*temporal.ApplicationError)) }
