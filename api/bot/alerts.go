package bot

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

const (
	alertTick = 2 * time.Second
	watchTick = 15 * time.Second
	// databaseGone is the shortest outage of PostgreSQL that is worth a message.
	databaseGone = 30 * time.Second
)

// sendAlerts notifies the administrators of incidents until ctx is done, at most once of each.
func (b *Bot) sendAlerts(ctx context.Context) {
	for chat.Sleep(ctx, alertTick) {
		alerts, err := b.store.Notices.TakeUnsentAlerts(ctx, b.o.AlertCalm)
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("bot: alerts not sent", "error", err)
		}

		work, finished := withGrace(ctx)
		for _, alert := range alerts {
			notified := b.notifyAdmins(work, func(admin account.User) chat.View {
				return chat.View{Text: b.alertLines(admin.Language, alert)}
			})
			if !notified {
				b.Log.Error("bot: alert reached no administrator", "kind", alert.Kind)
			}
		}

		finished()
	}
}

// notifyAdmins sends every administrator who uses Telegram a message in their language, and reports whether any of them
// got it.
func (b *Bot) notifyAdmins(ctx context.Context, draw func(admin account.User) chat.View) (notified bool) {
	var admins []account.User
	err := core.RetryWhileUnavailable(ctx, func() (err error) {
		admins, err = b.store.Accounts.Admins(ctx)
		return err
	})
	if err != nil {
		b.Log.Error("bot: administrators not notified", "error", err)
	}

	// Telegram may throttle any of these chats.
	var got atomic.Bool
	var posts sync.WaitGroup
	for _, admin := range admins {
		if admin.TelegramID == nil {
			continue
		}
		posts.Go(func() {
			if b.Post(ctx, *admin.TelegramID, draw(admin)) != 0 {
				got.Store(true)
			}
		})
	}

	posts.Wait()
	return got.Load()
}

// alertLines returns what administrators have not been notified of yet: that an incident began, that it is over, or
// both.
func (b *Bot) alertLines(language string, alert notice.Alert) string {
	var lines []string
	if alert.Begun {
		lines = append(lines, "🚨 "+alertText(b.texts.Alerts, alert.Kind, textAlert).In(language))
	}
	if alert.Over {
		lines = append(lines, "✅ "+alertText(b.texts.AlertsOver, alert.Kind, textAlertOver).In(language))
	}
	return strings.Join(lines, "\n\n")
}

// alertText returns the text of an incident. A newer version may raise a kind that has no text here.
func alertText(texts map[string]words.Text, kind string, unknown words.Text) words.Text {
	if known, ok := texts[kind]; ok {
		return known
	}
	return words.Text{unknown[0] + kind, unknown[1] + kind}
}

// watch handles the alerts that a worker cannot raise, until ctx is done.
func (b *Bot) watch(ctx context.Context) {
	b.every(ctx, watchTick, "watching workers failed", b.o.Status.WatchWorkers)
}

// databaseIsAway records since when PostgreSQL is, or may be, unavailable. The list of administrators is in PostgreSQL,
// so they are notified once it is back.
func (b *Bot) databaseIsAway() {
	if b.databaseAway.IsZero() {
		b.databaseAway = time.Now()
	}
}

// databaseIsBack notifies the administrators of an outage that is over, unless it was a short one.
func (b *Bot) databaseIsBack(ctx context.Context) {
	away := b.databaseAway
	b.databaseAway = time.Time{}
	if away.IsZero() || time.Since(away) < databaseGone {
		return
	}

	err := b.store.Notices.RaiseAlert(ctx, notice.AlertDatabaseAway)
	if err == nil {
		err = b.store.Notices.ResolveAlert(ctx, notice.AlertDatabaseAway)
	}

	if err != nil {
		b.databaseAway = away // unavailable again
	}
}
