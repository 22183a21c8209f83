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
