package transaction

import (
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
			State: string(t.at.State), Since: t.since, WaitsFor: t.waitsFor(), DeadlineAt: t.deadline(),
		},
		Attempt: t.at.Attempt, Error: t.at.Error, NeedsReview: t.at.NeedsReview,
	}
}

// waits says what each step waits for.
var waits = map[step]string{
	stepBuy:          "the wallet's turn, and the purchase in it",
	stepConfirm:      "Fragment: the purchase is paid",
	stepAwaitReview:  "an operator, who has to resolve it",
	stepAwaitRoom:    "room in the limit for 24 hours",
	stepAwaitRetry:   "an operator, who may retry it",
	stepRetryLater:   "the time of the next try; an operator may retry it at once",
	stepRefund:       "the wallet's turn, and the refund in it",
	stepSettleRefund: "the sender, who gets the refund",
}

// waitsOn has the search attribute of the steps; all other steps are those of the purchase.
var waitsOn = map[step]string{
	stepAwaitReview: lifecycle.WaitsForOperator, stepAwaitRetry: lifecycle.WaitsForOperator,
	stepRetryLater: lifecycle.WaitsForRetry, stepRefund: lifecycle.WaitsForRefund,
	stepSettleRefund: lifecycle.WaitsForRefund, stepOver: "",
}

func (t *run) waitsFor() string { return waits[t.next()] }

// show updates what operators see: the details cost no event, attributes cost one when they change.
func (t *run) show(ctx workflow.Context) {
	step := t.next()
	waitsFor, known := waitsOn[step]
	if !known {
		waitsFor = lifecycle.WaitsForPurchase
	}

	now := record.Shown{
		Stage: string(t.at.State), WaitsFor: waitsFor, DeadlineAt: t.deadline(),
		Attention: t.at.NeedsReview || t.stuck || step == stepAwaitRetry,
	}
	if t.at.UserID != nil {
		now.Others = record.AppendKeyword(ctx, nil, temporalio.OwnerAttribute, strconv.FormatInt(*t.at.UserID, 10))
	}
	record.Show(ctx, now)

	why := ""
	if t.at.State == lifecycle.TransactionFailed {
		why = t.at.Error
	}

	record.ShowDetails(ctx, lifecycle.TransactionTitle(t.hash),
		fmt.Sprintf("**%s** since %s, attempt %d", t.at.State, t.since.Format(time.RFC3339), t.at.Attempt), why,
		record.WaitsFor(waits[step]), byItself(step, t.deadline()))
}

// deadline is when something happens by itself: a failed transaction is tried again, or administrators are notified
// that it is stuck in processing; nil: nothing.
func (t *run) deadline() *time.Time {
	step := t.next()
	if step == stepRetryLater {
		return t.at.RetryAt
	}
	if step == stepAwaitRoom {
		return t.deferredUntil
	}
	if t.at.State != lifecycle.TransactionProcessing || t.at.Since == nil || t.stuck {
		return nil
	}
	at := t.at.Since.Add(t.settings.StuckAfter).UTC()
	return &at
}

// byItself is the paragraph that says what happens by itself, and when; empty: nothing.
func byItself(step step, at *time.Time) string {
	switch {
	case at == nil:
		return ""
	case step == stepRetryLater, step == stepAwaitRoom:
		return "It is tried again at " + at.Format(time.RFC3339) + "."
	}
	return "Administrators are told when it is still in processing at " + at.Format(time.RFC3339) + "."
}
