package transaction

import (
	"errors"
	"slices"
	"strings"

	"go.temporal.io/sdk/temporal"

	"stagecoach/internal/fault"
	"stagecoach/internal/stars"
)

// isRefusal says whether err is one of these faults.
func isRefusal(err error, codes ...fault.Code) bool {
	return slices.Contains(codes, fault.CodeOf(err))
}

// failureOf finds the failure of a purchase in the table of failures.
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

// failed turns a failure into an error for Temporal's retry policy and the workflow: its type is the class.
func failed(f *stars.Failure, cause error) error {
	options := temporal.ApplicationErrorOptions{NonRetryable: f.Final}
	if known := fault.As(cause); known != nil {
		options.NextRetryDelay = known.RetryAfter
	}
	return temporal.NewApplicationErrorWithOptions(f.Message, string(f.Class), options)
}
