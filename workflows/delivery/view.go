package delivery

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/delivery"
	"stagecoach/workflows/record"
)

// enter updates the query's answer and the current details in the Web UI.
func (r *run) enter(ctx workflow.Context, state lifecycle.DeliveryState) {
	r.view = lifecycle.DeliveryView{
		StateView: lifecycle.StateView{
			State: string(state), Since: workflow.Now(ctx).UTC(), WaitsFor: waitsFor[state], DeadlineAt: r.deadline(ctx, state),
		},
		Attempt: r.attempt.Failed, LastError: r.attempt.Reason,
	}

	if state == lifecycle.DeliveryQueued {
		r.view.NextAttemptAt = r.attempt.NextAt
		if r.paused() {
			r.view.WaitsFor = "an operator, who has paused it"
		}
	}

	record.ShowDetails(ctx, lifecycle.DeliveryTitle(r.id), details(r.view)...)
}

// paused reports whether an operator has paused the activity.
func (r *run) paused() bool {
	return r.view.State == string(lifecycle.DeliveryQueued) && r.attempt.Reason == fault.PausedByOperator
}

// deadline is when a state ends by itself, as far as the workflow knows; nil: it does not. The record has the exact
// time: the signal of a lasting state arrives a moment after the claim.
func (r *run) deadline(ctx workflow.Context, state lifecycle.DeliveryState) *time.Time {
	since := workflow.Now(ctx)
	limits := service.DeliveryLimits{TTL: r.settings.TTL, JobTimeout: r.settings.JobTimeout}
	return limits.Deadline(delivery.Job{
		State: state, CreatedAt: workflow.GetInfo(ctx).WorkflowStartTime, Claim: r.claimed(),
		ClaimedAt: &since, NextAttemptAt: r.attempt.NextAt,
	})
}

// claimed is 1 once an attempt has been reported, else 0.
func (r *run) claimed() int {
	if r.attempt.State == "" {
		return 0
	}
	return 1
}

// details are what the Web UI and the temporal program show, below the title.
func details(v lifecycle.DeliveryView) []string {
	state := fmt.Sprintf("**%s** since %s", v.State, v.Since.Format(time.RFC3339))
	if lifecycle.Delivery.Terminal(lifecycle.DeliveryState(v.State)) {
		return []string{state}
	}

	paragraphs := []string{
		state + fmt.Sprintf(", attempt %d of %d", v.Attempt+1, lifecycle.DeliveryTries), "", "", record.WaitsFor(v.WaitsFor),
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

var waits = map[lifecycle.DeliveryState]string{
	lifecycle.DeliveryQueued:      lifecycle.WaitsForSlot,
	lifecycle.DeliveryClaimed:     lifecycle.WaitsForStorage,
	lifecycle.DeliveryDownloading: lifecycle.WaitsForStorage,
	lifecycle.DeliveryStreaming:   lifecycle.WaitsForTelegram,
}

var waitsFor = map[lifecycle.DeliveryState]string{
	lifecycle.DeliveryQueued:      "a free worker",
	lifecycle.DeliveryClaimed:     "the storage",
	lifecycle.DeliveryDownloading: "the storage",
	lifecycle.DeliveryStreaming:   "Telegram",
}
