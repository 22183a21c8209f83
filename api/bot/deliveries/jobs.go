package deliveries

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/delivery"
)

const jobsPerPage = 10

// showJobs is /jobs, and the buttons of its pages.
func (h *handlers) showJobs(ctx context.Context, r *chat.Request, args chat.Args) error {
	before := args.Offset(0)
	jobs, err := h.store.Jobs(ctx, delivery.Filter{UserID: r.User.ID, Before: before, Limit: jobsPerPage + 1})
	if err != nil {
		return err
	}

	jobs, next := chat.Page(jobs, jobsPerPage, func(job delivery.Job) int64 { return job.ID })
	h.Show(ctx, r, jobsView(r.User, jobs, before, next))
	return nil
}

// jobsView draws a page of a person's own jobs.
func jobsView(user account.User, jobs []delivery.Job, before, next int64) chat.View {
	lines := []string{textJobs.In(user.Language)}
	var rows []chat.Row
	for _, job := range jobs {
		name, state := chat.HTML(chat.Label(job.FileName)), jobState(job).In(user.Language)
		lines = append(lines, textJobLine.In(user.Language, job.ID, name, state))
		if canCancel(user, job) {
			rows = append(rows, chat.Press(chat.LabelCancelID.In(user.Language, job.ID), "c", job.ID))
		}
	}
	if len(jobs) == 0 {
		lines = append(lines, textNoJobs.In(user.Language))
	}

	rows = append(rows, chat.Turn(user.Language, "j", before, next))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(rows...)}
}

// canCancel says whether a Cancel button makes sense: the rules allow it and nobody has pressed one yet.
func canCancel(user account.User, job delivery.Job) bool {
	return job.CancelRequestedAt == nil &&
		slices.Contains(service.DeliveryActions(user, job), lifecycle.DeliveryActionCancel)
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

// cancel cancels a job, hurries its live message, and says how it went.
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
