package service

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// FailurePolicy says what follows a failure.
type FailurePolicy struct {
	Refund     bool          // non-retryable failures give the money back
	RetryFor   time.Duration // how long a failed order is tried again by itself
	RetryPause time.Duration // before the first such try; doubled for each time after
}

// Fail ends a try to buy, unless a purchase is signed or paid.
func (c *Transactions) Fail(
	ctx context.Context, hash string, attempt int, why *stars.Failure,
) (transaction.Snapshot, error) {
	failure := transaction.Failure{Hash: hash, Attempt: attempt, Message: why.Message, Class: why.Class}
	if failure.Class == lifecycle.NonRetryable {
		failure.Refund = c.Failures.Refund
	} else {
		failure.Retry = c.Failures.retryPolicy(why)
	}

	standing, err := c.Store.FailTransaction(ctx, failure)
	if fault.CodeOf(err) == fault.PaymentUndecided {
		return c.Store.SnapshotOfTransaction(ctx, hash)
	}

	if err == nil && standing.GivenUp {
		err = c.Store.RaiseAlert(ctx, notice.AlertTransactionGivenUp)
	}

	// a call that is repeated because its answer was lost counts twice
	if err == nil && c.OnEnded != nil && standing.Ended() {
		c.OnEnded(standing.State)
	}
	return standing, err
}

// unknownRetries is how often the system tries again what nobody can explain.
const unknownRetries = 3

// retryPolicy says whether the system tries again what has failed so, and whether an operator is asked when it does
// not.
func (p FailurePolicy) retryPolicy(f *stars.Failure) transaction.RetryPolicy {
	policy := transaction.RetryPolicy{Ask: !f.ByOperator}
	if f.Final {
		return policy
	}

	policy.For, policy.Pause, policy.Waited = p.RetryFor, p.RetryPause, f.Away
	if f.Class == lifecycle.UnknownError {
		policy.Tries = unknownRetries
	}
	return policy
}

// Stop fails a transaction that has not ended, unless a purchase is signed or paid. One that has failed is not tried
// again by the system.
func (c *Transactions) Stop(ctx context.Context, hash string, why *stars.Failure) (transaction.Snapshot, error) {
	standing, err := c.Store.LockTransaction(ctx, hash) // one that is pending has to pass through processing
	switch {
	case err != nil:
		return standing, err
	case standing.State == lifecycle.TransactionProcessing:
		return c.Fail(ctx, hash, standing.Attempt, why)
	default:
		return c.Store.StopRetrying(ctx, hash)
	}
}
