package transaction

import (
	"time"

	"go.temporal.io/sdk/workflow"

	activities "stagecoach/activities/transaction"
	"stagecoach/internal/lifecycle"
	"stagecoach/workflows/record"
)

// Carried is what a transaction's workflow hands to its next run, besides what the record has.
type Carried struct {
	Status    lifecycle.TransactionState `json:"status"`            // that all below is about
	Entered   *time.Time                 `json:"entered,omitempty"` // as the record has it: when processing was entered
	Since     time.Time                  `json:"since"`
	Tries     int                        `json:"tries,omitempty"`
	RestUntil *time.Time                 `json:"rest_until,omitempty"`
	Unquoted  bool                       `json:"unquoted,omitempty"`
	Cancelled bool                       `json:"cancelled,omitempty"`
	Stuck     bool                       `json:"stuck,omitempty"`
}

// fits says whether the carried state belongs to the state that the record has now.
func (c *Carried) fits(snapshot activities.Snapshot) bool {
	return c != nil && c.Status == snapshot.State && sameTime(c.Entered, snapshot.Since)
}

// goOn continues the previous run in the status that it left.
func (t *run) goOn(ctx workflow.Context, c Carried) {
	t.since, t.tries, t.restUntil, t.unquoted, t.stuck = c.Since, c.Tries, c.RestUntil, c.Unquoted, c.Stuck
	if c.Status == lifecycle.TransactionProcessing && !c.Stuck {
		t.startStuckTimer(ctx)
	}
	t.show(ctx)
}

// handOver ends this run; the next one continues from here.
func (t *run) handOver(ctx workflow.Context) error {
	c := Carried{
		Status: t.at.State, Entered: t.at.Since, Since: t.since, Tries: t.tries, RestUntil: t.restUntil,
		Unquoted: t.unquoted, Cancelled: t.cancelled, Stuck: t.stuck,
	}
	return workflow.NewContinueAsNewError(ctx, lifecycle.TransactionType, t.hash, &c)
}

// waiting lists the steps that may wait for any time and add events meanwhile: a run hands over in these.
var waiting = map[step]bool{
	stepProve: true, stepRest: true, stepAwaitTurn: true, stepAwaitRetry: true, stepRetryLater: true,
	stepAwaitReview: true,
	stepProveRefund: true,
}

// retryable lists the steps in which a retry by signal may count.
var retryable = map[step]bool{stepAwaitRetry: true, stepRetryLater: true, stepAwaitReview: true}

// handsOver says whether the next run continues with a step: this run's history is long, and nothing is in flight.
func (t *run) handsOver(ctx workflow.Context, step step) bool {
	switch {
	case ctx.Err() != nil || !waiting[step]:
		return false
	case !retryable[step]:
		record.Drain(t.retries)
	}
	return t.mayContinue(ctx)
}

// mayContinue says whether this run should hand over to the next: its history is long and nothing is in flight.
func (t *run) mayContinue(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && workflow.AllHandlersFinished(ctx) && t.retries.Len() == 0
}
