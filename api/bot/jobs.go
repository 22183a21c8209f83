package bot

import (
	"context"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

const jobsPerPage = 10

func (b *Bot) jobCommands() []command {
	return []command{
		{name: "jobs", about: aboutJobs, run: b.jobs},
		{name: "cancel", about: aboutCancel, run: b.cancelNamed},
	}
}

func (b *Bot) jobButtons() []button {
	return []button{
		{prefix: "j", command: "jobs", run: b.openJobs},    // j:<ids below this one; 0: the newest>
		{prefix: "c", command: "cancel", run: b.cancelJob}, // c:<job>
	}
}

func (b *Bot) jobs(ctx context.Context, r *request) error { return b.showJobs(ctx, r, 0) }

func (b *Bot) openJobs(ctx context.Context, r *request, args []string) error {
	return b.showJobs(ctx, r, max(number(args, 0), 0))
}

func (b *Bot) showJobs(ctx context.Context, r *request, before int64) error {
	jobs, err := b.store.Jobs(ctx, store.JobFilter{UserID: r.user.ID, Before: before, Limit: jobsPerPage + 1})
	if err != nil {
		return err
	}
	more := len(jobs) > jobsPerPage
	b.show(ctx, r, jobsView(r.user, jobs[:min(jobsPerPage, len(jobs))], before, more))
	return nil
}

// jobsView draws a page of a person's own jobs.
func jobsView(user store.User, jobs []store.Job, before int64, more bool) view {
	lines := []string{textJobs.in(user.Language)}
	var stops [][]telego.InlineKeyboardButton
	for _, job := range jobs {
		lines = append(
			lines,
			textJobLine.in(user.Language, job.ID, html.EscapeString(label(job.FileName)), jobState(job).in(user.Language)),
		)
		if canStop(user, job) {
			stops = append(stops, press(labelStopJob.in(user.Language, job.ID), "c", job.ID))
		}
	}

	if len(jobs) == 0 {
		lines = append(lines, textNoJobs.in(user.Language))
	}

	var turn []telego.InlineKeyboardButton
	if before != 0 {
		turn = append(turn, press(labelNewest.in(user.Language), "j", 0)...)
	}

	if more {
		turn = append(turn, press(labelOlder.in(user.Language), "j", jobs[len(jobs)-1].ID)...)
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(append(stops, turn)...)}
}

// canStop says whether a Cancel button makes sense: the rules allow it and nobody has pressed one yet.
func canStop(user store.User, job store.Job) bool {
	return job.CancelRequestedAt == nil && slices.Contains(
		service.DeliveryActions(user, job), lifecycle.DeliveryActionCancel,
	)
}

// cancelNamed is /cancel <job>.
func (b *Bot) cancelNamed(ctx context.Context, r *request) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.args, "#"), 10, 64)
	if err != nil {
		return hint{text: textCancelUsage}
	}
	said, err := b.cancel(ctx, r, id)
	if err == nil {
		b.tell(ctx, r, said)
	}
	return err
}

// cancelJob is the button, on a job's own message or in the list, which is the menu and is drawn anew.
func (b *Bot) cancelJob(ctx context.Context, r *request, args []string) (err error) {
	if r.note, err = b.cancel(ctx, r, number(args, 0)); err != nil || r.message != r.conv.MessageID {
		return err
	}
	return b.showJobs(ctx, r, 0)
}

// cancel stops a job, makes its board show that, and says how it went.
func (b *Bot) cancel(ctx context.Context, r *request, id int64) (said string, err error) {
	job, err := b.deliveries.Cancel(ctx, r.user, id)
	if err != nil {
		return "", err
	}

	if job.UserID != r.user.ID {
		r.subject = store.DeliveryLiveMessages + "/" + strconv.FormatInt(job.ID, 10)
	}

	if err := b.store.HurryLiveMessage(ctx, store.DeliveryLiveMessages, job.ID); err != nil {
		b.log.Warn("bot: board is not hurried", "job", job.ID, "error", err)
	}

	if lifecycle.Delivery.Terminal(job.State) {
		return r.say(textStopped, job.ID), nil
	}
	return r.say(textStopping, job.ID), nil
}
