package transaction

import (
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

// validate refuses an update without a trace in the history.
func (t *run) validate(
	_ workflow.Context, action lifecycle.TransactionAction, in lifecycle.TransactionInput,
) error {
	err := lifecycle.CheckTransactionInput(action, in)
	if err == nil && t.at.State != "" {
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

	if err := t.decide(action, in); err != nil {
		return lifecycle.TransactionView{}, temporalio.Refusal(fault.As(err))
	}

	act := transactions.RetryTransaction
	if action == lifecycle.TransactionActionResolve {
		act = transactions.ResolveTransaction
	} else if action == lifecycle.TransactionActionWriteOff {
		act = transactions.WriteOffRefund
	}

	snapshot, err := record.Do(ctx, string(action), act, activities.Request{
		Hash: t.hash, Attempt: t.at.Attempt, Actor: in.Actor, Outcome: in.Outcome, Payment: in.Payment, RequestID: id,
	})
	if err != nil {
		return lifecycle.TransactionView{}, err
	}

	t.cancelled, t.changed = false, t.changed || action == lifecycle.TransactionActionWriteOff
	t.take(ctx, snapshot)
	return t.view(), nil
}
