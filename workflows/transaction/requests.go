package transaction

import (
	"context"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

// listen sets the handlers of the updates and the query. An update that arrives before the record was read waits for
// it.
func (t *run) listen(ctx workflow.Context) error {
	err := record.Updates(
		ctx, lifecycle.TransactionUpdates,
		"the transaction: actor (an administrator's user id), and for resolve outcome", t.validate, t.update,
	)
	if err != nil {
		return err
	}
	return record.Answer(ctx, t.view)
}

// validate checks the form of an update; the record decides.
func (t *run) validate(
	_ workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) error {
	if err := lifecycle.CheckTransactionInput(action, in); err != nil {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

func (t *run) update(
	ctx workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) (lifecycle.TransactionView, error) {
	return t.request(ctx, action, in, workflow.GetCurrentUpdateInfo(ctx).ID)
}

// acts are the updates' activities.
var acts = map[lifecycle.TransactionAction]func(context.Context, activities.Request) (snapshot, error){
	lifecycle.TransactionActionRetry:    transactions.RetryTransaction,
	lifecycle.TransactionActionResolve:  transactions.ResolveTransaction,
	lifecycle.TransactionActionReview:   transactions.AskReview,
	lifecycle.TransactionActionWriteOff: transactions.WriteOffRefund,
}

// request carries out a person's request, unless the record refuses it. id is the update's id; a signal has none.
func (t *run) request(
	ctx workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) (lifecycle.TransactionView, error) {
	if err := workflow.Await(ctx, func() bool { return t.at.State != "" }); err != nil {
		return lifecycle.TransactionView{}, err
	}
	err := ask(ctx, t, string(action), acts[action], activities.Request{
		Hash: t.hash, Attempt: in.Attempt, Actor: in.Actor, Outcome: in.Outcome, Payment: in.Payment, RequestID: id,
	})
	if err != nil {
		return lifecycle.TransactionView{}, err
	}
	t.cancelled, t.asked = false, true
	return t.view(), nil
}
