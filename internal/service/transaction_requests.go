package service

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// TransactionActions lists what an administrator may do with a transaction now.
func TransactionActions(t transaction.Transaction) []lifecycle.TransactionAction {
	return lifecycle.Transaction.Actions(t.State, lifecycle.Administrators, t.Facts())
}

// TransactionResolutions lists the outcomes to which an administrator may resolve a transaction now.
func TransactionResolutions(t transaction.Transaction) []lifecycle.TransactionState {
	return lifecycle.Transaction.Targets(
		t.State, lifecycle.TransactionActionResolve, lifecycle.Administrators, t.Facts(),
	)
}

// TransactionWaitsFor is what a transaction waits for; empty: nothing.
func TransactionWaitsFor(t transaction.Transaction) string {
	switch {
	case t.NeedsReview:
		return lifecycle.WaitsForOperator
	case t.State == lifecycle.TransactionProcessed:
		return ""
	case t.State != lifecycle.TransactionFailed:
		return lifecycle.WaitsForPurchase
	case t.RefundDueNano > 0:
		return lifecycle.WaitsForRefund
	case t.ErrorClass == lifecycle.NonRetryable:
		return ""
	case t.NextRetry() != nil:
		return lifecycle.WaitsForRetry
	default:
		return lifecycle.WaitsForOperator
	}
}

// Act does what an administrator, in.Actor, wants to be done to a transaction:
//   - retry takes a failed one back into processing, also when its workflow is gone;
//   - resolve ends the review of one with the outcome that the administrator has found out: processed or failed, or
//     processing, when the review was about its deposit, or asked for, and it should continue;
//   - review stops an order in processing until an administrator has resolved it;
//   - write_off cancels the debt to its sender: nothing is paid back.
//
// The key may be empty; the same key returns the first answer. Refusals: INVALID_TRANSITION, PAYMENT_UNDECIDED.
func (c *Transactions) Act(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, key string,
) (transaction.Transaction, error) {
	if err := lifecycle.CheckTransactionInput(action, in); err != nil {
		return transaction.Transaction{}, err
	}
	r := transaction.TransactionAsked(in.Actor, key, action, hash, in.Outcome, in.Payment, in.Comment)
	return once(ctx, c.Store, r, transaction.TransactionAnswerOf, isDecided, func(id string) (transaction.Transaction, bool, error) {
		t, err := c.decide(ctx, hash, action, in, id)
		return t, false, err
	})
}

// isDecided reports whether a refusal still applies to a repeated request.
func isDecided(refusal *fault.Error) bool {
	return refusal.Code == fault.InvalidTransition || refusal.Code == fault.PaymentUndecided
}

// decide executes an action. The record answers when it forbids the action; otherwise the workflow answers, and is
// started when it is gone.
func (c *Transactions) decide(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) (transaction.Transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()

	t, err := c.Find(ctx, hash)
	if err != nil {
		return t, err
	}
	if _, err := lifecycle.Transaction.Decide(t.State, lifecycle.TransactionRequest{Action: action, To: in.Outcome, Roles: lifecycle.Administrators}, t.Facts()); err != nil {
		return t, err
	}
	if in.Comment != "" {
		if err := c.Store.Answers.KeepContent(ctx, in.Actor, id, in.Comment); err != nil {
			return t, err
		}
	}

	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		err := c.update(ctx, hash, action, in, id)
		if err == nil {
			return c.Store.Transactions.ByHash(ctx, hash)
		}
		if refusal := temporalio.RefusalIn(err); refusal != nil {
			if now, err := c.Store.Transactions.ByHash(ctx, hash); err == nil && pause > firstPause && led(action, in, t, now) {
				return now, nil // an earlier attempt has done it, and its answer was lost
			}
			return t, refusal
		}

		if temporalio.Invalid(err) || temporalio.Paused(err) {
			return t, temporalio.Unreachable(err)
		}

		select {
		case <-ctx.Done():
			return t, temporalio.Unreachable(err)
		case <-time.After(pause): // then ask again: the same update is not done twice
		}
	}
}

const firstPause = 50 * time.Millisecond

// led reports whether an action has led from one state of a transaction to another.
func led(action lifecycle.TransactionAction, in lifecycle.TransactionInput, before, now transaction.Transaction) bool {
	if action == lifecycle.TransactionActionRetry {
		return now.Attempt > before.Attempt
	}
	if action == lifecycle.TransactionActionReview {
		return !before.NeedsReview && now.ReviewReason == transaction.ReviewAsked
	}
	// The row alone does not prove a write-off: the refund may be on its way instead.
	return action == lifecycle.TransactionActionResolve && before.NeedsReview && !now.NeedsReview && now.State == in.Outcome
}

// update sends the update once and waits for its outcome for a limited time.
func (c *Transactions) update(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) error {
	ctx, cancel := context.WithTimeout(ctx, askAgain)
	defer cancel()

	handle, err := c.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: c.Temporal.NewWithStartWorkflowOperation(
			transactionStart(hash), lifecycle.TransactionType, hash,
		),
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: lifecycle.TransactionID(hash), UpdateID: id, UpdateName: string(action), Args: []any{in},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err != nil {
		return err
	}

	return handle.Get(ctx, nil)
}

// Try says what an administrator's action on a transaction would do.
func (c *Transactions) Try(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) (Trial, error) {
	if err := lifecycle.CheckTransactionInput(action, in); err != nil {
		return Trial{}, err
	}

	t, err := c.Find(ctx, hash)
	if err != nil {
		return Trial{}, err
	}

	wanted := lifecycle.TransactionRequest{Action: action, To: in.Outcome, Roles: lifecycle.Administrators}
	rule, err := lifecycle.Transaction.Decide(t.State, wanted, t.Facts())
	return trialOf(rule.To, t.RowVersion, err)
}
