package transaction

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/temporalio"
	"stagecoach/workflows/record"
)

func (t *run) view() lifecycle.TransactionView {
	return lifecycle.TransactionView{
		StateView: lifecycle.StateView{
			State: string(t.at.State), Since: t.since, WaitsFor: t.at.WaitsFor(), DeadlineAt: t.deadline(),
		},
		Version: t.at.Revision, Attempt: t.at.Attempt, Error: t.at.Error, NeedsReview: t.at.NeedsReview,
	}
}

// waits explains what each step waits for.
var waits = map[step]string{
	stepPay:          "the wallet, and the purchase; after a failure, for the time of the next try",
	stepConfirm:      "Fragment: the purchase is paid",
	stepAwaitReview:  "an operator, who has to resolve it",
	stepAwaitRetry:   "an operator, who may retry it",
	stepRefund:       "the wallet, and the refund",
	stepSettleRefund: "the sender, who gets the refund",
}

// show updates what operators see: the details cost no event, attributes cost one when they change.
func (t *run) show(ctx workflow.Context) {
	step := t.next()
	now := record.Shown{
		Stage: string(t.at.State), WaitsFor: t.at.WaitsFor(), DeadlineAt: t.deadline(),
		Attention: t.at.NeedsReview || t.stuck || step == stepAwaitRetry,
	}
	if t.at.UserID != nil {
		now.Others = record.AppendKeyword(ctx, nil, temporalio.OwnerAttribute, strconv.FormatInt(*t.at.UserID, 10))
	}
	record.Show(ctx, now)

	why, next := "", "" // what happens automatically
	if t.at.State == lifecycle.TransactionFailed {
		why = t.at.Error
	}
	switch at := now.DeadlineAt; {
	case at == nil:
	case t.at.RetryAt != nil, t.at.DeferredUntil != nil:
		next = "It is tried again at " + at.Format(time.RFC3339) + "."
	default:
		next = "Administrators are told when it is still in processing at " + at.Format(time.RFC3339) + "."
	}

	record.ShowDetails(ctx, lifecycle.TransactionTitle(t.hash),
		fmt.Sprintf("**%s** since %s, attempt %d", t.at.State, t.since.Format(time.RFC3339), t.at.Attempt), why,
		record.WaitsFor(t.at.WaitsFor(), waits[step]), next)
}

// deadline is when something happens automatically: a failed transaction is retried, or administrators are notified
// that it is stuck in processing; nil: nothing.
func (t *run) deadline() *time.Time {
	if at := cmp.Or(t.at.RetryAt, t.at.DeferredUntil); at != nil {
		return at
	}
	if t.at.State != lifecycle.TransactionProcessing || t.at.Since == nil || t.stuck {
		return nil
	}
	at := t.at.Since.Add(t.settings.StuckAfter).UTC()
	return &at
}
