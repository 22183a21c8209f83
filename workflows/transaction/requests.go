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

// listen sets the handlers of the updates and of the query. An update that arrives before the record was read waits for
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

// validate refuses an update without a trace in the history. While an activity changes the record, only the record can
// tell.
func (t *run) validate(
	_ workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) error {
	err := lifecycle.CheckTransactionInput(action, in)
	if err == nil && t.at.State != "" && !t.executing {
		err = t.decide(action, in)
	}
	if err != nil {
		return temporalio.Refusal(fault.As(err))
	}
	return nil
}

func (t *run) decide(action lifecycle.TransactionAction, in lifecycle.TransactionInput) error {
	_, err := lifecycle.Transaction.Decide(
		t.at.State, lifecycle.TransactionRequest{Action: action, To: in.Outcome, Roles: lifecycle.Administrators},
		t.at.Snapshot.Facts(),
	)
	return err
}

func (t *run) update(
	ctx workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) (lifecycle.TransactionView, error) {
	return t.request(ctx, action, in, workflow.GetCurrentUpdateInfo(ctx).ID)
}

// acts are the activities of the updates.
var acts = map[lifecycle.TransactionAction]func(context.Context, activities.Request) (activities.Snapshot, error){
	lifecycle.TransactionActionRetry:    transactions.RetryTransaction,
	lifecycle.TransactionActionResolve:  transactions.ResolveTransaction,
	lifecycle.TransactionActionReview:   transactions.AskReview,
	lifecycle.TransactionActionWriteOff: transactions.WriteOffRefund,
}

// request does what a person asks for, unless the rules forbid it when its turn has come. id is the update's id; a
// signal has none.
func (t *run) request(
	ctx workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput, id string,
) (lifecycle.TransactionView, error) {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	if err := workflow.Await(ctx, func() bool { return t.at.State != "" }); err != nil {
		return lifecycle.TransactionView{}, err
	}
	if err := t.mutex.Lock(ctx); err != nil {
		return lifecycle.TransactionView{}, err
	}
	defer t.mutex.Unlock()

	if t.executing {
		now, err := record.Do(ctx, "read the record", transactions.LookAtTransaction, t.hash)
		if err != nil {
			return lifecycle.TransactionView{}, err
		}
		t.take(ctx, now)
	}
	if err := t.decide(action, in); err != nil {
		return lifecycle.TransactionView{}, temporalio.Refusal(fault.As(err))
	}

	snapshot, err := record.Do(ctx, string(action), acts[action], activities.Request{
		Hash: t.hash, Attempt: t.at.Attempt, Actor: in.Actor, Outcome: in.Outcome, Payment: in.Payment, RequestID: id,
	})
	if err != nil {
		return lifecycle.TransactionView{}, err
	}

	t.cancelled, t.changed = false, t.changed || action == lifecycle.TransactionActionWriteOff
	t.take(ctx, snapshot)
	return t.view(), nil
}
