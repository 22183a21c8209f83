package bot

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
	"stagecoach/internal/store"
)

const (
	alertTick  = 2 * time.Second
	watchTick  = 15 * time.Second
	stuckShown = 10

	errorsShown = 5
	// databaseGone is how long PostgreSQL has to be away to be worth a message.
	databaseGone = 30 * time.Second
)

// showStatus is /status.
func (b *Bot) showStatus(ctx context.Context, r *request) error {
	now, err := b.status.Now(ctx)
	if err != nil {
		return err
	}
	b.post(ctx, r.chat, view{text: statusText(r.user.Language, now)})
	return nil
}

func statusText(language string, s status.Status) string {
	lines := []string{
		textStatus.in(language),
		textQueueDepth.in(language, s.QueueDepth),
		textHeartbeat.in(language, agoIn(language, s.WorkerHeartbeatAge)),
		textToken.in(language, secondsIn(language, s.TokenExpiresIn)),
		"", textInState.in(language) + " " + countsText(lifecycle.DeliveryStates, s.JobsInState),
		textTasksIn.in(language) + " " + countsText(lifecycle.TaskStates, s.TasksInStatus),
	}

	downloads := textTorrents.in(language) + " " + countsText(lifecycle.DownloadStates, s.DownloadsInStatus)
	if q := s.QBittorrent; q != nil {
		downloads += "\n" + torrentServer(language, *q)
	}

	lines = append(
		lines, downloads, textTransactionsIn.in(language)+" "+countsText(lifecycle.TransactionStates, s.TransactionsInStatus),
		"",
	)

	lines = append(lines, overviewLines(language, s.Overview)...)
	if len(s.Errors) > 0 {
		lines = append(lines, "", textTopErrors.in(language))
	}

	for _, count := range s.Errors[:min(errorsShown, len(s.Errors))] {
		lines = append(
			lines, fmt.Sprintf("%s <code>%s</code>: %d", count.Workload, html.EscapeString(count.Code), count.Count),
		)
	}

	if s.Stuck() {
		stuck := make([]string, 0, stuckShown)
		for _, id := range s.StuckJobs[:min(stuckShown, len(s.StuckJobs))] {
			stuck = append(stuck, fmt.Sprintf("#%d", id))
		}
		lines = append(lines, "", textStuck.in(language, len(s.StuckJobs), strings.Join(stuck, ", ")))
	}

	return strings.Join(lines, "\n")
}

// countsText writes how many there are in each state, in one line, without those in which there are none.
func countsText[S ~string](states []S, counts map[S]int64) string {
	var parts []string
	for _, state := range states {
		if n := counts[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", state, n))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// overviewLines are about queues, workers, outside systems and what an administrator should look at.
func overviewLines(language string, w status.Overview) []string {
	var lines []string
	if !w.TemporalAnswers {
		lines = append(lines, textTemporalAway.in(language))
	}

	for _, q := range w.Queues {
		if q.Depth > 0 {
			lines = append(lines, textQueueLine.in(language, q.Name, q.Kind, q.Depth, secondsIn(language, &q.OldestAge)))
		}
	}

	working := 0
	for _, worker := range w.Workers {
		if len(worker.Queues) > 0 {
			working++
		}
	}

	lines = append(lines, textWorkers.in(language, working))
	for _, o := range w.Outside {
		if o.FailingFor != nil {
			lines = append(lines, textFails.in(language, o.Name, o.Error, secondsIn(language, o.FailingFor)))
		}
	}

	if w.NeedsReview > 0 {
		lines = append(lines, textReviews.in(language, w.NeedsReview))
	}

	for _, stop := range w.Stops {
		lines = append(lines, textPaymentsStopped.in(language, stop.Name))
	}

	if w.OpenFindings+w.RecentFindings > 0 {
		lines = append(lines, textFindings.in(language, w.RecentFindings, w.OpenFindings))
	}

	for _, alert := range w.Alerts {
		lines = append(
			lines,
			textAlertOpen.in(language, alert.Kind, durationIn(language, int64(max(0, time.Since(alert.OpenedAt).Seconds())))),
		)
	}
	return lines
}

// torrentServer tells whether qBittorrent answers.
func torrentServer(language string, q status.QBittorrent) string {
	if q.Answers {
		return textAnswers.in(language)
	}
	line := textNoAnswer.in(language, agoIn(language, q.AnswerAge))
	if q.Error != "" {
		line += " (<code>" + q.Error + "</code>)"
	}
	return line
}

func secondsIn(language string, seconds *float64) string {
	if seconds == nil {
		return textNotKnown.in(language)
	}
	return durationIn(language, int64(max(0, *seconds)))
}

func agoIn(language string, seconds *float64) string {
	if seconds == nil {
		return textNotKnown.in(language)
	}
	return textAgo.in(language, secondsIn(language, seconds))
}

// sendAlerts tells the administrators of incidents until ctx ends, of each at most once.
func (b *Bot) sendAlerts(ctx context.Context) {
	for sleep(ctx, alertTick) {
		alerts, err := b.store.TakeUnsentAlerts(ctx, b.alertCalm)
		if err != nil && ctx.Err() == nil {
			b.log.Warn("bot: alerts wait", "error", err)
		}

		work, finished := withGrace(ctx)
		for _, alert := range alerts {
			told := b.tellAdmins(work, func(admin store.User) view {
				return view{text: alertLines(admin.Language, alert)}
			})
			if !told {
				b.log.Error("bot: no administrator could be told of an alert", "kind", alert.Kind)
			}
		}

		finished()
	}
}

// alertLines tells what of an incident was not told yet: that it began, that it is over, or both.
func alertLines(language string, alert store.Alert) string {
	var lines []string
	if alert.Begun {
		lines = append(lines, "🚨 "+alertText(alert.Kind).in(language))
	}
	if alert.Over {
		lines = append(lines, "✅ "+alertOverText(alert.Kind).in(language))
	}
	return strings.Join(lines, "\n\n")
}

// watch looks after the alerts that no worker can raise, until ctx ends.
func (b *Bot) watch(ctx context.Context) {
	for sleep(ctx, watchTick) {
		if err := b.status.WatchWorkers(ctx); err != nil && ctx.Err() == nil {
			b.log.Warn("bot: workers are not watched", "error", err)
		}
	}
}

// databaseIsAway remembers since when PostgreSQL is, or may be, away. Whom to tell stands in it: they are told when it
// is back.
func (b *Bot) databaseIsAway() {
	if b.databaseAway.IsZero() {
		b.databaseAway = time.Now()
	}
}

// databaseIsBack tells of an outage that is over, unless it was a short one.
func (b *Bot) databaseIsBack(ctx context.Context) {
	away := b.databaseAway
	b.databaseAway = time.Time{}
	if away.IsZero() || time.Since(away) < databaseGone {
		return
	}

	err := b.store.RaiseAlert(ctx, store.AlertDatabaseAway)
	if err == nil {
		err = b.store.ResolveAlert(ctx, store.AlertDatabaseAway)
	}

	if err != nil {
		b.databaseAway = away // it is away again
	}
}
