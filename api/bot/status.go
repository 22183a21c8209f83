package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"stagecoach/internal/status"
	"stagecoach/internal/store"
)

const (
	alertTick  = 2 * time.Second
	stuckShown = 10
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
		textHeartbeat.in(language, secondsIn(language, s.WorkerHeartbeatAge)),
		textToken.in(language, secondsIn(language, s.TokenExpiresIn)),
		"", textInState.in(language),
	}
	for _, state := range store.JobStates {
		lines = append(lines, fmt.Sprintf("%s: %d", state, s.JobsInState[state]))
	}
	if q := s.QBittorrent; q != nil {
		lines = append(lines, "", textTorrents.in(language), torrentServer(language, *q))
		for _, state := range store.DownloadStatuses {
			lines = append(lines, fmt.Sprintf("%s: %d", state, s.DownloadsInStatus[state]))
		}
	}
	if len(s.TopErrors) > 0 {
		lines = append(lines, "", textTopErrors.in(language))
	}
	for _, count := range s.TopErrors {
		lines = append(lines, fmt.Sprintf("<code>%s</code>: %d", count.Code, count.Count))
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

// torrentServer tells whether qBittorrent answers.
func torrentServer(language string, q status.QBittorrent) string {
	if q.Answers {
		return textAnswers.in(language)
	}
	line := textNoAnswer.in(language, secondsIn(language, q.AnswerAge))
	if q.Error != "" {
		line += " (<code>" + q.Error + "</code>)"
	}
	return line
}

func secondsIn(language string, seconds *float64) string {
	if seconds == nil {
		return textNotKnown.in(language)
	}
	return textSeconds.in(language, *seconds)
}

// sendAlerts tells the administrators of incidents until ctx ends, of each at most once.
func (b *Bot) sendAlerts(ctx context.Context) {
	for sleep(ctx, alertTick) {
		alerts, err := b.store.TakeUnsentAlerts(ctx)
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
