package transactions

import (
	"context"
	"time"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/stars"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/transaction"
)

// FailurePolicy decides what follows a failure.
type FailurePolicy struct {
	Refund     bool          // non-retryable failures refund the deposit
	RetryFor   time.Duration // until an order's retry delays add up to this
	RetryPause time.Duration // delay before the first retry; doubles for each later one
}

// FailPending fails a queued order that cannot be executed.
func (c *Service) FailPending(ctx context.Context, hash string, why *stars.Failure) (transaction.Snapshot, error) {
	snapshot, err := c.Store.Transactions.FailPending(ctx, c.Failures.failure(transaction.Claim{Hash: hash}, why))
	return c.report(ctx, hash, snapshot, err)
}

// Fail fails an attempt to buy, unless a purchase is signed or paid.
func (c *Service) Fail(ctx context.Context, claim transaction.Claim, why *stars.Failure) (transaction.Snapshot, error) {
	snapshot, err := c.Store.Transactions.Fail(ctx, c.Failures.failure(claim, why))
	return c.report(ctx, claim.Hash, snapshot, err)
}

// Stop fails a transaction that has not ended, unless a purchase is signed or paid. The system does not retry it
// afterwards.
func (c *Service) Stop(ctx context.Context, hash string, why *stars.Failure) (transaction.Snapshot, error) {
	snapshot, err := c.Store.Transactions.Stop(ctx, c.Failures.failure(transaction.Claim{Hash: hash}, why))
	return c.report(ctx, hash, snapshot, err)
}

// report reports the outcome of an order that was to fail: to an operator if the system has given up on it, and to the
// metrics.
func (c *Service) report(
	ctx context.Context, hash string, snapshot transaction.Snapshot, err error,
) (transaction.Snapshot, error) {
	if fault.CodeOf(err) == fault.PaymentUndecided {
		return c.Store.Transactions.SnapshotOf(ctx, hash)
	}

	if err == nil && snapshot.GivenUp {
		err = c.Store.Notices.RaiseAlert(ctx, notice.AlertTransactionGivenUp)
	}

	// counts twice if the call is repeated because its answer was lost
	if err == nil && c.OnEnded != nil && snapshot.Ended() {
		c.OnEnded(snapshot.State)
	}
	return snapshot, err
}

// unknownTries is how often an order may fail for an unknown reason before an operator is notified.
const unknownTries = 3

// failure returns what the record stores of a failure.
func (p FailurePolicy) failure(claim transaction.Claim, why *stars.Failure) transaction.Failure {
	failure := transaction.Failure{Claim: claim, Message: why.Message, Class: why.Class}
	if failure.Class == lifecycle.NonRetryable {
		failure.Refund = p.Refund
	} else {
		failure.Retry = p.retryPolicy(why)
	}
	return failure
}

// retryPolicy decides whether the system retries after a failure and, if not, whether an operator is notified.
func (p FailurePolicy) retryPolicy(f *stars.Failure) transaction.RetryPolicy {
	policy := transaction.RetryPolicy{Ask: !f.ByOperator}
	if f.Final {
		return policy
	}

	policy.For, policy.Pause = p.RetryFor, p.RetryPause
	if f.Class == lifecycle.UnknownError {
		policy.Tries = unknownTries
	}
	return policy
}
