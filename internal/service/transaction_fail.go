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

// FailurePolicy is what follows a failure.
type FailurePolicy struct {
	Refund     bool          // non-retryable failures refund the money
	RetryFor   time.Duration // how long the system retries a failed order
	RetryPause time.Duration // before the first retry; doubled for each later one
}

// Fail ends an attempt to buy, unless a purchase is signed or paid.
func (c *Transactions) Fail(
	ctx context.Context, hash string, attempt int, why *stars.Failure,
) (transaction.Snapshot, error) {
	failure := transaction.Failure{Hash: hash, Attempt: attempt, Message: why.Message, Class: why.Class}
	if failure.Class == lifecycle.NonRetryable {
		failure.Refund = c.Failures.Refund
	} else {
		failure.Retry = c.Failures.retryPolicy(why)
	}

	snapshot, err := c.Store.Transactions.Fail(ctx, failure)
	if fault.CodeOf(err) == fault.PaymentUndecided {
		return c.Store.Transactions.SnapshotOf(ctx, hash)
	}

	if err == nil && snapshot.GivenUp {
		err = c.Store.Notices.RaiseAlert(ctx, notice.AlertTransactionGivenUp)
	}

	// a call that is repeated because its answer was lost counts twice
	if err == nil && c.OnEnded != nil && snapshot.Ended() {
		c.OnEnded(snapshot.State)
	}
	return snapshot, err
}

// unknownRetries is how often the system retries after a failure of unknown kind.
const unknownRetries = 3

// retryPolicy decides whether the system retries after such a failure, and whether an operator is asked when it does
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

// Stop fails a transaction that has not ended, unless a purchase is signed or paid. The system does not retry a
// transaction that has failed so.
func (c *Transactions) Stop(ctx context.Context, hash string, why *stars.Failure) (transaction.Snapshot, error) {
	snapshot, err := c.Store.Transactions.Lock(ctx, hash) // a pending transaction passes through processing
	switch {
	case err != nil:
		return snapshot, err
	case snapshot.State == lifecycle.TransactionProcessing:
		return c.Fail(ctx, hash, snapshot.Attempt, why)
	default:
		return c.Store.Transactions.StopRetrying(ctx, hash)
	}
}
