package transaction

import (
	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// hasSignal says whether the record may have changed: by a signal, or by a person.
func (t *run) hasSignal() bool { return t.refreshes.Len() > 0 || t.changed }

// drainSignals drops the signals. They carry no data: only that they came counts.
func (t *run) drainSignals() {
	t.changed = false
	record.Drain(t.refreshes)
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
