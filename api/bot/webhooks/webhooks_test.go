package webhooks

import (
	"context"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	hooks "stagecoach/internal/store/webhook"
)

// one is a record with one webhook.
type one struct{}

func (one) OfNotice(context.Context, int64, int64) (hooks.Webhook, error) {
	return hooks.Webhook{Address: "https://receiver.example/hidden-path?key=hidden-key"}, nil
}

// TestNotice notifies the owner which webhook is paused and why, in both languages, without its URL.
func TestNotice(t *testing.T) {
	t.Parallel()
	h := &handlers{one{}}
	for language, want := range map[string]string{
		"en": "Webhook 7 to receiver.example is paused. The receiver has accepted no events for three days. Events wait until you resume it.",
		"ru": "Вебхук 7 на receiver.example приостановлен. Получатель три дня не принимал события. События ждут, пока вы его не возобновите.",
	} {
		draw, err := h.findNotice(t.Context(), account.User{Language: language}, notice.Notice{EntityID: "7"})
		if err != nil {
			t.Fatal(err)
		}
		view := draw(t.Context(), notice.Notice{}, []core.StreamedEvent{{Comment: string(fault.ReceiverFailed)}})
		if view.Text != want || strings.Contains(view.Text, "hidden") {
			t.Errorf("%s: %q, want %q", language, view.Text, want)
		}
	}
}
