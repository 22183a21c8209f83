package transaction

import (
	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// awaitChange waits for a person, or for a hint that the record has changed.
func (t *run) awaitChange(ctx workflow.Context) error {
	if err := workflow.Await(ctx, t.mayHaveChanged(ctx)); err != nil {
		return err
	}
	return t.followChange(ctx)
}

// retryLater waits until the time of a planned retry, and then begins it. A person may begin it earlier.
func (t *run) retryLater(ctx workflow.Context) error {
	changed, err := record.AwaitFor(ctx, left(ctx, *t.at.RetryAt), "pause before it is tried again", t.mayHaveChanged(ctx))
	switch {
	case err != nil:
		return err
	case changed:
		return t.followChange(ctx)
	}

	return ask(
		ctx, t, "retry", transactions.RetryTransaction,
		activities.Request{Hash: t.hash, Attempt: t.at.Attempt, System: true},
	)
}

// mayHaveChanged returns a condition: something has arrived since this call that a failed transaction reacts to.
func (t *run) mayHaveChanged(ctx workflow.Context) func() bool {
	reads := t.reads
	return func() bool {
		return t.reads != reads || t.hasSignal() || t.retries.Len() > 0 || t.mayContinue(ctx)
	}
}

// followChange reads the record after a hint, and does what a retry signal asks for.
func (t *run) followChange(ctx workflow.Context) error {
	switch {
	case t.hasSignal():
		t.drainSignals()
		return t.loadSnapshot(ctx)
	case t.retries.Len() > 0:
		var in lifecycle.TransactionInput
		if !t.retries.ReceiveAsync(&in) {
			return nil // unreadable
		}
		if _, err := t.request(ctx, lifecycle.TransactionActionRetry, in, ""); err != nil {
			workflow.GetLogger(ctx).Warn("retry by signal refused", "error", err)
		}
	}

	return nil
}
