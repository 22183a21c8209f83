package transaction

import (
	"time"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
)

// Carried is what a transaction's workflow hands to its next run, besides what the record has.
type Carried struct {
	Status    lifecycle.TransactionState `json:"status"`            // that all below is about
	Entered   *time.Time                 `json:"entered,omitempty"` // as the record has it: when processing was entered
	Since     time.Time                  `json:"since"`
	Cancelled bool                       `json:"cancelled,omitempty"`
	Stuck     bool                       `json:"stuck,omitempty"`
}

// fits says whether the carried state belongs to the state that the record has now.
func (c *Carried) fits(snapshot activities.Snapshot) bool {
	return c != nil && c.Status == snapshot.State && sameTime(c.Entered, snapshot.Since)
}

// goOn continues the previous run in the status that it left.
func (t *run) goOn(ctx workflow.Context, c Carried) {
	t.since, t.stuck = c.Since, c.Stuck
	if c.Status == lifecycle.TransactionProcessing && !c.Stuck {
		t.startStuckTimer(ctx)
	}
	t.show(ctx)
}

// handOver ends this run; the next one continues from here.
func (t *run) handOver(ctx workflow.Context) error {
	c := Carried{
		Status: t.at.State, Entered: t.at.Since, Since: t.since, Cancelled: t.cancelled, Stuck: t.stuck,
	}
	return workflow.NewContinueAsNewError(ctx, lifecycle.TransactionType, t.hash, &c)
}

// waiting lists the steps that may wait for any time and add events meanwhile: a run hands over in these.
var waiting = map[step]bool{
	stepAwaitRetry: true, stepRetryLater: true, stepAwaitReview: true, stepAwaitRoom: true,
}

// handsOver says whether the next run continues with a step: this run's history is long, and nothing is in flight.
func (t *run) handsOver(ctx workflow.Context, step step) bool {
	return ctx.Err() == nil && waiting[step] && t.mayContinue(ctx)
}

// mayContinue says whether this run should hand over to the next: its history is long and nothing is in flight.
func (t *run) mayContinue(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) && t.retries.Len() == 0
}
