package transaction

import (
	"cmp"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// mayHaveChanged returns a condition: something to which a failed transaction reacts has arrived since this call.
func (t *run) mayHaveChanged(ctx workflow.Context) func() bool {
	reads := t.reads
	return func() bool {
		return t.reads != reads || t.refreshes.Len() > 0 || t.retries.Len() > 0 || t.stages.Len() > 0 || t.mayContinue(ctx)
	}
}

// followChange reads the record after a hint, and carries out a retry signal.
func (t *run) followChange(ctx workflow.Context) error {
	switch {
	case t.stages.Len() > 0:
		var now snapshot
		if t.stages.ReceiveAsync(&now) {
			return t.learn(ctx, now)
		}
	case t.refreshes.Len() > 0:
		record.Drain(t.refreshes)
		return t.loadSnapshot(ctx)
	case t.retries.Len() > 0:
		var in lifecycle.TransactionInput
		if !t.retries.ReceiveAsync(&in) {
			return nil // unreadable
		}
		in.Attempt = cmp.Or(in.Attempt, t.at.Attempt)
		if _, err := t.request(ctx, lifecycle.TransactionActionRetry, in, ""); err != nil {
			workflow.GetLogger(ctx).Warn("retry signal refused", "error", err)
			return t.loadSnapshot(ctx) // perhaps it was done, and the answer was lost
		}
	}

	return nil
}
