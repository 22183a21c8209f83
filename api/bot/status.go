package bot

import (
	"context"
	"fmt"
	"html"
	"strings"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
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
	b.Post(ctx, r.Chat, chat.View{Text: b.statusText(r.User.Language, now)})
	return nil
}

func (b *Bot) statusText(language string, s status.Status) string {
	lines := []string{
		textStatus.In(language),
		textQueueDepth.In(language, s.QueueDepth),
		textHeartbeat.In(language, words.Ago(language, s.WorkerHeartbeatAge)),
		textToken.In(language, words.Seconds(language, s.TokenExpiresIn)),
		"",
	}

	lines = append(lines, b.workloadLines(language, s)...)
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

// workloadLines show the number of entities in each state.
func (b *Bot) workloadLines(language string, s status.Status) (lines []string) {
	for _, workload := range lifecycle.Workloads {
		shown := b.status[workload.Name]
		counts := countsText(workload.Table.StateNames(), s.InState[workload.Name])
		lines = append(lines, shown.Heading.In(language)+" "+counts)
		if shown.Lines != nil {
			lines = append(lines, shown.Lines(language, s)...)
		}
	}
	return lines
}

// errorLines show the most frequent errors.
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

// countsText writes the number of entities in each state on one line, without empty states.
func countsText(states []string, counts map[string]int64) string {
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

// overviewLines show queues, workers, external systems and what needs an administrator's attention.
func overviewLines(language string, o status.Overview) []string {
	var lines []string
	if !o.TemporalAnswers {
		lines = append(lines, textTemporalAway.In(language))
	}

	for _, q := range o.Queues {
		if q.Depth > 0 {
			lines = append(lines, textQueueLine.In(language, q.Name, q.Kind, q.Depth, words.Seconds(language, &q.OldestAge)))
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
			since := words.Seconds(language, outside.FailingFor)
			lines = append(lines, textFails.In(language, outside.Name, outside.Error, since))
		}
	}
	return append(lines, attentionLines(language, o)...)
}

// attentionLines show what needs an administrator's attention.
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
		lines = append(lines, textAlertOpen.In(language, alert.Kind, words.Seconds(language, &age)))
	}
	return lines
}
