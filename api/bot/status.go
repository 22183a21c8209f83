package bot

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/operations/status"
)

const (
	stuckShown  = 10
	errorsShown = 5
)

// showStatus is /status.
func (b *Bot) showStatus(ctx context.Context, r *chat.Request, _ chat.Args) error {
	now, err := b.o.Status.Now(ctx)
	if err != nil {
		return err
	}
	b.Post(ctx, r.Chat, chat.View{Text: statusText(r.User.Language, now)})
	return nil
}

func statusText(language string, s status.Status) string {
	lines := []string{
		textStatus.In(language),
		textQueueDepth.In(language, s.QueueDepth),
		textHeartbeat.In(language, ago(language, s.WorkerHeartbeatAge)),
		textToken.In(language, seconds(language, s.TokenExpiresIn)),
		"",
	}
	lines = append(lines, workloadLines(language, s)...)
	lines = append(lines, "")
	lines = append(lines, overviewLines(language, s.Overview)...)
	lines = append(lines, errorLines(language, s)...)

	if s.Stuck() {
		stuck := make([]string, 0, stuckShown)
		for _, id := range s.StuckJobs[:min(stuckShown, len(s.StuckJobs))] {
			stuck = append(stuck, fmt.Sprintf("#%d", id))
		}
		lines = append(lines, "", textStuck.In(language, len(s.StuckJobs), strings.Join(stuck, ", ")))
	}
	return strings.Join(lines, "\n")
}

// workloadLines are about how many entities are in each state.
func workloadLines(language string, s status.Status) []string {
	lines := []string{
		textDeliveries.In(language) + " " + countsText(lifecycle.DeliveryStates, s.InState[lifecycle.WorkloadDelivery]),
		textTasks.In(language) + " " + countsText(lifecycle.TaskStates, s.InState[lifecycle.WorkloadTask]),
		textDownloads.In(language) + " " + countsText(lifecycle.DownloadStates, s.InState[lifecycle.WorkloadDownload]),
	}
	if s.QBittorrent != nil {
		lines = append(lines, qbittorrentLine(language, *s.QBittorrent))
	}
	return append(lines, textStars.In(language)+" "+countsText(lifecycle.TransactionStates, s.InState[lifecycle.WorkloadTransaction]))
}

// errorLines are about the most frequent errors.
func errorLines(language string, s status.Status) (lines []string) {
	if len(s.Errors) > 0 {
		lines = append(lines, "", textTopErrors.In(language))
	}
	for _, count := range s.Errors[:min(errorsShown, len(s.Errors))] {
		code := html.EscapeString(count.Code)
		lines = append(lines, fmt.Sprintf("%s <code>%s</code>: %d", count.Workload, code, count.Count))
	}
	return lines
}

// countsText writes how many there are in each state, in one line, without those in which there are none.
func countsText[S ~string](states []S, counts map[string]int64) string {
	var parts []string
	for _, state := range states {
		if n := counts[string(state)]; n > 0 {
			parts = append(parts, fmt.Sprintf("%s: %d", state, n))
		}
	}
	if len(parts) == 0 {
		return "–"
	}
	return strings.Join(parts, ", ")
}

// overviewLines are about queues, workers, outside systems and what an administrator should look at.
func overviewLines(language string, o status.Overview) []string {
	var lines []string
	if !o.TemporalAnswers {
		lines = append(lines, textTemporalAway.In(language))
	}
	for _, q := range o.Queues {
		if q.Depth > 0 {
			lines = append(lines, textQueueLine.In(language, q.Name, q.Kind, q.Depth, seconds(language, &q.OldestAge)))
		}
	}

	working := 0
	for _, worker := range o.Workers {
		if len(worker.Queues) > 0 {
			working++
		}
	}
	lines = append(lines, textWorkers.In(language, working))

	for _, outside := range o.Outside {
		if outside.FailingFor != nil {
			since := seconds(language, outside.FailingFor)
			lines = append(lines, textFails.In(language, outside.Name, outside.Error, since))
		}
	}
	return append(lines, attentionLines(language, o)...)
}

// attentionLines are about what an administrator should look at.
func attentionLines(language string, o status.Overview) (lines []string) {
	if o.NeedsReview > 0 {
		lines = append(lines, textReviews.In(language, o.NeedsReview))
	}
	for _, stop := range o.Stops {
		lines = append(lines, textPaymentsStopped.In(language, stop.Name))
	}
	if o.OpenFindings+o.RecentFindings > 0 {
		lines = append(lines, textFindings.In(language, o.RecentFindings, o.OpenFindings))
	}
	for _, alert := range o.Alerts {
		age := time.Since(alert.OpenedAt).Seconds()
		lines = append(lines, textAlertOpen.In(language, alert.Kind, seconds(language, &age)))
	}
	return lines
}

// qbittorrentLine tells whether qBittorrent answers.
func qbittorrentLine(language string, q status.QBittorrent) string {
	if q.Answers {
		return textAnswers.In(language)
	}
	line := textNoAnswer.In(language, ago(language, q.AnswerAge))
	if q.Error != "" {
		line += " (<code>" + q.Error + "</code>)"
	}
	return line
}

// seconds writes a duration for people.
func seconds(language string, n *float64) string {
	if n == nil {
		return chat.TextNotKnown.In(language)
	}
	return chat.Duration(language, int64(max(0, *n)))
}

// ago writes how long ago something was for people.
func ago(language string, n *float64) string {
	if n == nil {
		return chat.TextNotKnown.In(language)
	}
	return textAgo.In(language, seconds(language, n))
}
