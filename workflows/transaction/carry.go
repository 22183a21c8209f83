package transaction

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
)

// Carried is what a transaction's workflow hands to its next run, besides what is recorded.
type Carried struct {
	Status    lifecycle.TransactionState `json:"status"`            // to which everything below applies
	Entered   *time.Time                 `json:"entered,omitempty"` // as recorded: when processing was entered
	Since     time.Time                  `json:"since"`
	Cancelled bool                       `json:"cancelled,omitempty"`
	Stuck     bool                       `json:"stuck,omitempty"`
}

// waiting lists the steps that may wait indefinitely and add events meanwhile: a run hands over during these, after
// stopping what waits in a queue.
var waiting = map[step]bool{
	stepPay: true, stepRefund: true, stepAwaitRetry: true, stepAwaitReview: true,
}

// mayContinue reports whether this run should hand over to the next: its history is long and nothing is in flight.
func (t *run) mayContinue(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) && t.retries.Len() == 0
}
