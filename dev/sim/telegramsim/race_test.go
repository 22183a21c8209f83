package telegramsim

import (
	"fmt"
	"sync"
	"testing"
)

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			user := int64(100 + i)
			tg.SendMessage(user, "/start")
			for n := range 10 {
				var m sent
				bot(
					t, base, "sendMessage", map[string]any{"chat_id": user, "text": "x", "reply_markup": keyboard("a", "a")},
				).must(t, &m)
				bot(t, base, "editMessageText", map[string]any{
					"chat_id": user, "message_id": m.MessageID, "text": fmt.Sprint(n), "reply_markup": keyboard("a", "a"),
				}).must(t, nil)
				if err := tg.Click(user, "a"); err != nil {
					t.Error(err)
				}

				sendFileReply(t, base, "a", []byte("x")).must(t, nil)
				_, _ = tg.Chat(user), tg.Requests()
			}
		})
	}

	all.Wait()
	if documents(tg) != 80 {
		t.Error(documents(tg))
	}

	seen := map[int64]bool{}
	for user := range int64(8) {
		messages := tg.Chat(100 + user).Messages
		if len(messages) != 11 {
			t.Error(len(messages))
		}
		for _, m := range messages {
			if seen[m.MessageID] {
				t.Error("a message id came twice")
			}
			seen[m.MessageID] = true
		}
	}

	if n := len(tg.state.updates); n != 1+8+80 {
		t.Error(n)
	}
}
