package bot

import (
	"context"
	"html"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// deliveryLiveMessage shows delivery jobs.
func (b *Bot) deliveryLiveMessage() liveMessageKind {
	return liveMessageKind{
		draw:  b.drawJob,
		ended: func(state string) bool { return lifecycle.Delivery.Terminal(lifecycle.DeliveryState(state)) },
		every: b.editEvery,
	}
}

func (b *Bot) drawJob(ctx context.Context, viewer store.User, id int64) (face, error) {
	job, err := b.store.JobByID(ctx, id)
	if err != nil {
		return face{}, err
	}

	place := 0
	if job.State == lifecycle.DeliveryQueued {
		places, err := b.store.PlacesInLine(ctx, []int64{id})
		if err != nil {
			return face{}, err
		}
		place = places[id] // 0 when it was claimed this moment
	}

	return jobFace(viewer, job, place, b.deliveries.Limits), nil
}

// jobFace is what a job's message shows.
func jobFace(viewer store.User, job store.Job, place int, limits service.DeliveryLimits) face {
	language := viewer.Language
	lines := []string{textJobTitle.in(
		language, job.ID, html.EscapeString(clean(job.FileName)), sizeIn(language, job.Size),
	)}

	switch job.State {
	case lifecycle.DeliveryQueued:
		lines = append(lines, againInLine(language, job, limits)...)
		lines = append(lines, queued(language, place))
	case lifecycle.DeliveryClaimed, lifecycle.DeliveryDownloading:
		lines = append(lines, textStarting.in(language))
	case lifecycle.DeliveryStreaming:
		lines = append(lines, streaming(language, job)...)
	case lifecycle.DeliveryFailed:
		lines = append(lines, textFailed.in(language), faultText(fault.Code(job.LastError)).in(language))
	case lifecycle.DeliveryCancelled:
		lines = append(lines, textCancelled.in(language))
		if code := fault.Code(job.LastError); code != "" && code != fault.CancelledByUser {
			lines = append(lines, faultText(code).in(language))
		}
	case lifecycle.DeliveryDelivered:
		lines = append(lines, textDelivered.in(language))
	case lifecycle.DeliveryExpired:
		lines = append(lines, textExpired.in(language))
	}

	if lifecycle.Delivery.Terminal(job.State) {
		return face{view: view{text: strings.Join(lines, "\n")}, ended: true}
	}

	var stop []telego.InlineKeyboardButton
	if canStop(viewer, job) {
		stop = press(labelStop.in(language), "c", job.ID)
	}

	if job.CancelRequestedAt != nil {
		lines = append(lines, textStoppingNow.in(language))
	}
	return face{view: view{text: strings.Join(lines, "\n"), rows: rows(stop)}}
}

// againInLine tells a job that is in line again why it is, when the next try begins, and when the job's time ends.
func againInLine(language string, job store.Job, limits service.DeliveryLimits) []string {
	reason := fault.Code(job.LastError)
	if reason == fault.PausedByOperator || job.Attempt == 0 {
		if reason == "" {
			return nil
		}
		return []string{faultText(reason).in(language)}
	}

	lines := []string{textRetrying.in(language, job.Attempt+1, lifecycle.DeliveryTries), faultText(reason).in(language)}
	if deadline := limits.Deadline(job); job.NextAttemptAt != nil && deadline != nil {
		lines = append(lines, textNextTry.in(language, clockIn(*job.NextAttemptAt), clockIn(*deadline)))
	}
	return lines
}

func queued(language string, place int) string {
	if place == 0 {
		return textQueued.in(language)
	}
	return textInLine.in(language, place)
}

// streaming tells how far the bytes are. They go to Telegram's server first; what it does with them after the last
// one shows no progress, and saying "100 %" then would be a lie.
func streaming(language string, job store.Job) []string {
	percent := 0
	if job.Size > 0 {
		percent = int(min(job.BytesSent*100/job.Size, 100))
	}
	if job.AckPendingAt != nil || percent == 100 {
		return []string{bar(100), textUploading.in(language)}
	}
	return []string{
		bar(percent), textSending.in(language, percent, sizeIn(language, job.BytesSent), sizeIn(language, job.Size)),
	}
}

// jobState is a job's state in a word or two.
func jobState(job store.Job) text {
	if job.CancelRequestedAt != nil && !lifecycle.Delivery.Terminal(job.State) {
		return textStoppingNow
	}
	return jobStates[job.State]
}
