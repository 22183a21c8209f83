// Package webhooks is the bot's part for webhooks: their owners are notified when one is paused.
package webhooks

import (
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	hooks "stagecoach/internal/store/webhook"
	"stagecoach/internal/webhook"
)

// Store is what the bot needs of the record for webhooks.
type Store interface {
	OfNotice(ctx context.Context, userID, id int64) (hooks.Webhook, error)
}

type handlers struct{ store Store }

// New returns the notifications of webhooks.
func New(record Store) chat.Part {
	h := &handlers{record}
	return chat.Part{
		Notices: map[string]chat.FindNotice{lifecycle.WebhookEvents: h.findNotice},
		Texts:   words.Webhooks,
	}
}

// textPaused has the number of a webhook and its host: the full URL may hold a key.
var textPaused = words.Text{
	"Webhook %d to %s is paused. %s Events wait until you resume it.",
	"Вебхук %d на %s приостановлен. %s События ждут, пока вы его не возобновите.",
}

// findNotice finds the webhook of a notice.
func (h *handlers) findNotice(ctx context.Context, viewer account.User, n notice.Notice) (chat.DrawNotice, error) {
	id, _ := chat.ReadNumber(n.EntityID)
	found, err := h.store.OfNotice(ctx, viewer.ID, id)
	return func(_ context.Context, _ notice.Notice, events []core.StreamedEvent) chat.View {
		why := words.Webhooks.Faults.Text(fault.Code(events[len(events)-1].Comment)).In(viewer.Language)
		return chat.View{Text: textPaused.In(viewer.Language, id, webhook.Host(found.Address), why)}
	}, err
}
