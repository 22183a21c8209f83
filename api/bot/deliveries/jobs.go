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
	"stagecoach/internal/service/deliveries"
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

// cancelButton is the button that cancels a job; none when it cannot be canceled or its cancellation is already
// requested.
func cancelButton(user account.User, job delivery.Job, label string) chat.Row {
	actions := deliveries.Actions(user, job)
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

// cancelJob is the button, either on a job's own message or in the list, which is the menu and is redrawn.
func (h *handlers) cancelJob(ctx context.Context, r *chat.Request, args chat.Args) (err error) {
	if r.Note, err = h.cancel(ctx, r, args.Number(0)); err != nil || !r.OnMenu() {
		return err
	}
	return h.showJobs(ctx, r, nil)
}

// cancel cancels a job, makes its live message due, and returns the answer to the person.
func (h *handlers) cancel(ctx context.Context, r *chat.Request, id int64) (said string, err error) {
	job, err := h.deliveries.Cancel(ctx, r.User, id, "")
	if err != nil && job.ID == 0 {
		return "", err
	}

	if job.UserID != r.User.ID {
		r.Subject = lifecycle.WorkloadDelivery + "/" + strconv.FormatInt(job.ID, 10)
	}

	h.Hurry(ctx, lifecycle.WorkloadDelivery, job.ID)

	if err != nil { // the request is recorded
		return r.Say(textCancelling, job.ID), nil
	}
	return r.Say(textCancelled, job.ID), nil
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

	return jobView(viewer, job, line[id]), nil
}

// jobView draws a job, with a Cancel button while it can be canceled.
func jobView(viewer account.User, job delivery.Job, place int) chat.View {
	language := viewer.Language
	title := textJobTitle.In(language, job.ID, chat.HTML(job.FileName), words.Size(language, job.Size))
	lines := append([]string{title}, progress(language, job, place)...)

	ended := lifecycle.Delivery.Terminal(job.State)
	if !ended && job.CancelRequestedAt != nil {
		lines = append(lines, chat.TextCancelling.In(language))
	}

	cancel := cancelButton(viewer, job, chat.LabelCancel.In(language))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(cancel), Ended: ended}
}

// progress describes how far a job is, or how it ended.
func progress(language string, job delivery.Job, place int) []string {
	reason := fault.Code(job.LastError)

	switch job.State {
	case lifecycle.DeliveryQueued:
		return append(whyAgain(language, job), queued(language, place))
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

// whyAgain says why a job waits for a retry, when the next attempt begins, and when the job times out.
func whyAgain(language string, job delivery.Job) []string {
	reason := fault.Code(job.LastError)
	why := words.Deliveries.Faults.Text(reason).In(language)
	switch {
	case reason == fault.PausedByOperator, job.Attempt == 0 && reason != "":
		return []string{why}
	case job.Attempt == 0:
		return nil
	}

	lines := []string{textRetrying.In(language, job.Attempt+1, lifecycle.DeliveryTries), why}
	if job.NextAttemptAt != nil {
		lines = append(lines, textNextTry.In(language, words.Clock(*job.NextAttemptAt)))
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
// follows has its own text instead of "100 %".
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
