package deliveries

import (
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

// drawJob draws the live message of a job.
func (h *handlers) drawJob(ctx context.Context, viewer account.User, id int64) (chat.View, error) {
	job, err := h.store.JobByID(ctx, id)
	if err != nil {
		return chat.View{}, err
	}

	place := 0
	if job.State == lifecycle.DeliveryQueued {
		places, err := h.store.PlacesInLine(ctx, []int64{id})
		if err != nil {
			return chat.View{}, err
		}
		place = places[id] // 0 when it was claimed this moment
	}

	return jobView(viewer, job, place, h.deliveries.Limits), nil
}

// jobView draws a job, with a Cancel button while it can be cancelled.
func jobView(viewer account.User, job delivery.Job, place int, limits service.DeliveryLimits) chat.View {
	language := viewer.Language
	title := textJobTitle.In(language, job.ID, chat.HTML(job.FileName), chat.Size(language, job.Size))
	lines := append([]string{title}, progress(language, job, place, limits)...)

	ended := lifecycle.Delivery.Terminal(job.State)
	if !ended && job.CancelRequestedAt != nil {
		lines = append(lines, chat.TextCancelling.In(language))
	}

	var cancel chat.Row
	if !ended && canCancel(viewer, job) {
		cancel = chat.Press(chat.LabelCancel.In(language), "c", job.ID)
	}
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(cancel), Ended: ended}
}

// progress tells how far a job is, or how it ended.
func progress(language string, job delivery.Job, place int, limits service.DeliveryLimits) []string {
	reason := fault.Code(job.LastError)
	switch job.State {
	case lifecycle.DeliveryQueued:
		return append(whyAgain(language, job, limits), queued(language, place))
	case lifecycle.DeliveryClaimed, lifecycle.DeliveryDownloading:
		return []string{textStarting.In(language)}
	case lifecycle.DeliveryStreaming:
		return streaming(language, job)
	case lifecycle.DeliveryDelivered:
		return []string{textDelivered.In(language)}
	case lifecycle.DeliveryFailed:
		return []string{textFailed.In(language), faults.Text(reason).In(language)}
	case lifecycle.DeliveryExpired:
		return []string{textExpired.In(language)}
	case lifecycle.DeliveryCancelled:
		if reason == "" || reason == fault.CancelledByUser {
			return []string{chat.TextCancelled.In(language)}
		}
		return []string{chat.TextCancelled.In(language), faults.Text(reason).In(language)}
	default:
		return nil
	}
}

// whyAgain tells why a job waits once more, when the next attempt begins, and when the job's time ends.
func whyAgain(language string, job delivery.Job, limits service.DeliveryLimits) []string {
	reason := fault.Code(job.LastError)
	why := faults.Text(reason).In(language)
	switch {
	case reason == fault.PausedByOperator, job.Attempt == 0 && reason != "":
		return []string{why}
	case job.Attempt == 0:
		return nil
	}

	lines := []string{textRetrying.In(language, job.Attempt+1, lifecycle.DeliveryTries), why}
	if deadline := limits.Deadline(job); job.NextAttemptAt != nil && deadline != nil {
		lines = append(lines, textNextTry.In(language, chat.Clock(*job.NextAttemptAt), chat.Clock(*deadline)))
	}
	return lines
}

func queued(language string, place int) string {
	if place == 0 {
		return chat.TextQueued.In(language)
	}
	return textInLine.In(language, place)
}

// streaming tells how many bytes are sent. Telegram's server reports no progress after the last one, so the upload that
// follows has a text of its own in place of "100 %".
func streaming(language string, job delivery.Job) []string {
	percent := 0
	if job.Size > 0 {
		percent = int(min(job.BytesSent*100/job.Size, 100))
	}
	if job.AckPendingAt != nil || percent == 100 {
		return []string{chat.Bar(100), textUploading.In(language)}
	}

	sent, size := chat.Size(language, job.BytesSent), chat.Size(language, job.Size)
	return []string{chat.Bar(percent), textSending.In(language, percent, sent, size)}
}

// jobState is a job's state in a word or two.
func jobState(job delivery.Job) chat.Text {
	if job.CancelRequestedAt != nil && !lifecycle.Delivery.Terminal(job.State) {
		return chat.TextCancelling
	}
	return jobStates[job.State]
}
