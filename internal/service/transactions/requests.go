package transactions

import (
	"cmp"
	"context"
	"time"

	"go.temporal.io/sdk/client"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/transaction"
	"stagecoach/internal/temporalio"
)

// Actions lists what an administrator may currently do with a transaction.
func Actions(t transaction.Transaction) []lifecycle.TransactionAction {
	return lifecycle.Transaction.Actions(t.State, lifecycle.Administrators, t.Facts())
}

// Resolutions lists the outcomes to which an administrator may currently resolve a transaction.
func Resolutions(t transaction.Transaction) []lifecycle.TransactionState {
	return lifecycle.Transaction.Targets(
		t.State, lifecycle.TransactionActionResolve, lifecycle.Administrators, t.Facts(),
	)
}

// Act performs the action of an administrator, in.Actor, on a transaction:
//   - retry moves a failed transaction back to processing, even if its workflow is gone;
//   - resolve ends a review with the outcome that the administrator has established: processed or failed, or processing
//     if the review concerned its deposit, or was requested, and it should continue;
//   - review stops an order in processing until an administrator resolves it;
//   - write_off cancels the debt to its sender: nothing is refunded.
//
// The key may be empty; the same key returns the first answer. Refusals: INVALID_TRANSITION, PAYMENT_UNDECIDED.
func (c *Service) Act(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, key string,
) (transaction.Transaction, error) {
	if err := lifecycle.CheckTransactionInput(action, in); err != nil {
		return transaction.Transaction{}, err
	}
	if shortHash.MatchString(hash) {
		t, err := c.Find(ctx, hash)
		if err != nil {
			return t, err
		}
		hash = t.Hash
	}
	r := transaction.TransactionAsked(in.Actor, key, action, hash, in.Outcome, in.Payment, in.Comment)
	return service.Once(ctx, c.Store, r, transaction.TransactionAnswerOf, isDecided, func(id string) (transaction.Transaction, bool, error) {
		t, err := c.decide(ctx, hash, action, in, id)
		return t, false, err
	})
}

// isDecided reports whether a refusal still applies to a repeated request.
func isDecided(refusal *fault.Error) bool {
	return refusal.Code == fault.InvalidTransition || refusal.Code == fault.PaymentUndecided
}

// decide executes an action. The record answers if it forbids the action or has already decided the request; otherwise
// the workflow answers, and is started if it is gone.
func (c *Service) decide(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) (transaction.Transaction, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Patience)
	defer cancel()

	t, err := c.Find(ctx, hash)
	if err != nil {
		return t, err
	}
	in.Attempt = cmp.Or(in.Attempt, t.Attempt)
	wanted := lifecycle.TransactionRequest{Action: action, To: in.Outcome, Roles: lifecycle.Administrators}
	if _, err := lifecycle.Transaction.Decide(t.State, wanted, t.Facts()); err != nil {
		r := transaction.Request{Hash: hash, Payment: in.Payment, RequestID: id}
		return t, c.Store.Transactions.Refuse(ctx, r, action, in.Outcome, err)
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
			return t, refusal
		}

		if temporalio.Invalid(err) || temporalio.Paused(err) {
			return t, temporalio.Unreachable(err)
		}

		select {
		case <-ctx.Done():
			return t, temporalio.Unreachable(err)
		case <-time.After(pause): // then ask again: the same update is executed once
		}
	}
}

const firstPause = 50 * time.Millisecond

// update sends the update once and waits a limited time for its outcome.
func (c *Service) update(
	ctx context.Context, hash string, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) error {
	ctx, cancel := context.WithTimeout(ctx, service.AskAgain)
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
