package deliveries

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const jobsPerPage = 10

// showJobs is /jobs, and the buttons of its pages.
func (h *handlers) showJobs(ctx context.Context, r *chat.Request, args chat.Args) error {
	before := args.Offset(0)
	jobs, err := h.store.List(ctx, delivery.Filter{UserID: r.User.ID, Before: before, Limit: jobsPerPage + 1})
	if err != nil {
		return err
	}

	list := chat.List[delivery.Job]{
		Prefix: "j", Size: jobsPerPage, Title: textJobs, None: textNoJobs,
		ID: func(job delivery.Job) int64 { return job.ID },
		Draw: func(job delivery.Job) ([]string, chat.Row) {
			line := r.Say(textJobLine, job.ID, chat.HTML(chat.Label(job.FileName)), r.Say(jobState(job)))
			return []string{line}, cancelButton(r.User, job, r.Say(chat.LabelCancelID, job.ID))
		},
	}

	h.Show(ctx, r, list.View(r.User.Language, before, jobs))
	return nil
}

// cancelButton is the button to cancel a job; none while it cannot be cancelled, or its cancel is requested.
func cancelButton(user account.User, job delivery.Job, label string) chat.Row {
	actions := service.DeliveryActions(user, job)
	if job.CancelRequestedAt != nil || !slices.Contains(actions, lifecycle.DeliveryActionCancel) {
		return nil
	}
	return chat.Press(label, "c", job.ID)
}

// cancelNamed is /cancel <job>.
func (h *handlers) cancelNamed(ctx context.Context, r *chat.Request, _ chat.Args) error {
	id, ok := chat.ReadNumber(r.Args)
	if !ok {
		return chat.Hint{Text: textCancelUsage}
	}

	said, err := h.cancel(ctx, r, id)
	if err != nil {
		return err
	}

	h.Tell(ctx, r, said)
	return nil
}

// cancelJob is the button, on a job's own message or in the list, which is the menu and is drawn anew.
func (h *handlers) cancelJob(ctx context.Context, r *chat.Request, args chat.Args) (err error) {
	if r.Note, err = h.cancel(ctx, r, args.Number(0)); err != nil || !r.OnMenu() {
		return err
	}
	return h.showJobs(ctx, r, nil)
}

// cancel cancels a job, hurries its live message, and returns the answer to the person.
func (h *handlers) cancel(ctx context.Context, r *chat.Request, id int64) (said string, err error) {
	job, err := h.deliveries.Cancel(ctx, r.User, id)
	if err != nil {
		return "", err
	}

	if job.UserID != r.User.ID {
		r.Subject = lifecycle.WorkloadDelivery + "/" + strconv.FormatInt(job.ID, 10)
	}

	h.Hurry(ctx, lifecycle.WorkloadDelivery, job.ID)

	if lifecycle.Delivery.Terminal(job.State) {
		return r.Say(textCancelled, job.ID), nil
	}
	return r.Say(textCancelling, job.ID), nil
}

// drawJob draws the live message of a job.
func (h *handlers) drawJob(ctx context.Context, viewer account.User, id int64) (chat.View, error) {
	job, err := h.deliveries.Find(ctx, viewer, id)
	if err != nil {
		return chat.View{}, err
	}

	var line map[int64]int
	if job.State == lifecycle.DeliveryQueued {
		if line, err = h.store.Line(ctx, lineAge); err != nil {
			return chat.View{}, err
		}
	}

	return jobView(viewer, job, line[id], h.deliveries.Limits), nil
}

// jobView draws a job, with a Cancel button while it can be cancelled.
func jobView(viewer account.User, job delivery.Job, place int, limits service.DeliveryLimits) chat.View {
	language := viewer.Language
	title := textJobTitle.In(language, job.ID, chat.HTML(job.FileName), words.Size(language, job.Size))
	lines := append([]string{title}, progress(language, job, place, limits)...)

	ended := lifecycle.Delivery.Terminal(job.State)
	if !ended && job.CancelRequestedAt != nil {
		lines = append(lines, chat.TextCancelling.In(language))
	}

	cancel := cancelButton(viewer, job, chat.LabelCancel.In(language))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(cancel), Ended: ended}
}

// progress says how far a job is, or how it ended.
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
		return []string{textFailed.In(language), words.Deliveries.Faults.Text(reason).In(language)}
	case lifecycle.DeliveryExpired:
		return []string{textExpired.In(language)}
	case lifecycle.DeliveryCancelled:
		if reason == "" || reason == fault.CancelledByUser {
			return []string{chat.TextCancelled.In(language)}
		}
		return []string{chat.TextCancelled.In(language), words.Deliveries.Faults.Text(reason).In(language)}
	default:
		return nil
	}
}

// whyAgain says why a job waits again, when the next attempt begins, and when the job's time ends.
func whyAgain(language string, job delivery.Job, limits service.DeliveryLimits) []string {
	reason := fault.Code(job.LastError)
	why := words.Deliveries.Faults.Text(reason).In(language)
	switch {
	case reason == fault.PausedByOperator, job.Attempt == 0 && reason != "":
		return []string{why}
	case job.Attempt == 0:
		return nil
	}

	lines := []string{textRetrying.In(language, job.Attempt+1, lifecycle.DeliveryTries), why}
	if deadline := limits.Deadline(job); job.NextAttemptAt != nil && deadline != nil {
		lines = append(lines, textNextTry.In(language, words.Clock(*job.NextAttemptAt), words.Clock(*deadline)))
	}
	return lines
}

func queued(language string, place int) string {
	if place == 0 {
		return chat.TextQueued.In(language)
	}
	return textInLine.In(language, place)
}

// streaming says how many bytes are sent. Telegram's server reports no progress after the last byte, so the upload that
// follows has a text of its own in place of "100 %".
func streaming(language string, job delivery.Job) []string {
	percent := 0
	if job.Size > 0 {
		percent = int(min(job.BytesSent*100/job.Size, 100))
	}
	if job.AckPendingAt != nil || percent == 100 {
		return []string{chat.Bar(100), textUploading.In(language)}
	}

	sent, size := words.Size(language, job.BytesSent), words.Size(language, job.Size)
	return []string{chat.Bar(percent), textSending.In(language, percent, sent, size)}
}

// jobState is a job's state in a word or two.
func jobState(job delivery.Job) words.Text {
	if job.CancelRequestedAt != nil && !lifecycle.Delivery.Terminal(job.State) {
		return chat.TextCancelling
	}
	return words.DeliveryStates[job.State]
}
