package delivery

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/lifecycle"
	service "stagecoach/internal/service/deliveries"
	"stagecoach/internal/store/delivery"
	"stagecoach/workflows/record"
)

// enter updates the query's answer and the current details in the Web UI.
func (r *run) enter(ctx workflow.Context, state lifecycle.DeliveryState) {
	r.view = lifecycle.DeliveryView{
		StateView: lifecycle.StateView{
			State: string(state), Since: workflow.Now(ctx).UTC(), DeadlineAt: r.deadline(ctx, state),
			WaitsFor: lifecycle.DeliveryWaitsFor(
				state, r.attempt.Reason, state == lifecycle.DeliveryQueued && r.attempt.NextAt != nil,
			),
		},
		Attempt: r.attempt.Failed, LastError: r.attempt.Reason,
	}

	if state == lifecycle.DeliveryQueued {
		r.view.NextAttemptAt = r.attempt.NextAt
	}

	record.ShowDetails(ctx, lifecycle.DeliveryTitle(r.id), details(r.view)...)
}

// deadline is when a state times out, as far as the workflow knows; nil: it does not. The record has the exact time:
// the signal of a lasting state arrives shortly after the claim.
func (r *run) deadline(ctx workflow.Context, state lifecycle.DeliveryState) *time.Time {
	claimed := 0 // no attempt has been reported
	if r.attempt.State != "" {
		claimed = 1
	}
	since := workflow.Now(ctx)
	limits := service.Limits{TTL: r.settings.TTL, JobTimeout: r.settings.JobTimeout}
	return limits.Deadline(delivery.Job{
		State: state, CreatedAt: workflow.GetInfo(ctx).WorkflowStartTime, Claim: claimed, ClaimedAt: &since,
	})
}

// details are shown by the Web UI and the temporal program, below the title.
func details(v lifecycle.DeliveryView) []string {
	state := fmt.Sprintf("**%s** since %s", v.State, v.Since.Format(time.RFC3339))
	if lifecycle.Delivery.Terminal(lifecycle.DeliveryState(v.State)) {
		return []string{state}
	}

	paragraphs := []string{
		state + fmt.Sprintf(", attempt %d of %d", v.Attempt+1, lifecycle.DeliveryTries), "", "", record.WaitsFor(v.WaitsFor, waits[v.WaitsFor]),
		record.EndsAt(v.DeadlineAt),
	}

	if v.LastError != "" {
		paragraphs[1] = fmt.Sprintf("The attempt before ended with `%s`.", v.LastError)
	}

	if v.NextAttemptAt != nil {
		paragraphs[2] = fmt.Sprintf("The next attempt begins at %s.", v.NextAttemptAt.Format(time.RFC3339))
	}
	return paragraphs
}

// waits explains each value of waits_for.
var waits = map[string]string{
	lifecycle.WaitsForSlot:        "a free worker",
	lifecycle.WaitsForNextAttempt: "the next attempt",
	lifecycle.WaitsForStorage:     "the storage",
	lifecycle.WaitsForTelegram:    "Telegram",
	lifecycle.WaitsForOperator:    "an operator, who has paused it",
}
