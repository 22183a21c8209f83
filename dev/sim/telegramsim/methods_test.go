package telegramsim

import (
	"testing"
	"time"

	"stagecoach/dev/wait"
)

// sent is the part of a message that tests read in a call's result.
type sent struct {
	MessageID int64 `json:"message_id"`
	Text      string
	Chat      struct {
		ID   int64
		Type string
	}
	Document *struct {
		FileID   string `json:"file_id"`
		FileName string `json:"file_name"`
		FileSize int64  `json:"file_size"`
		MimeType string `json:"mime_type"`
	}
	ReplyMarkup *struct {
		InlineKeyboard [][]map[string]string `json:"inline_keyboard"`
	} `json:"reply_markup"`
}

// keyboard is a reply markup with one button.
func keyboard(text, data string) map[string]any {
	return map[string]any{"inline_keyboard": [][]map[string]string{{{"text": text, "callback_data": data}}}}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"no token": {Dir: t.TempDir()}, "no folder": {Token: testToken},
		"no shared folder": {Dir: t.TempDir(), Token: testToken, SharedDir: "/no/such/folder"},
	} {
		if _, err := New(o); err == nil {
			t.Error(name + ": no error")
		}
	}
}

func TestGetUpdates(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	type update struct {
		UpdateID int64 `json:"update_id"`
		Message  sent
	}

	get := func(params map[string]any) (updates []update) {
		t.Helper()
		bot(t, base, "getUpdates", params).must(t, &updates)
		return updates
	}

	first := get(nil)
	if len(first) != 1 || len(get(nil)) != 1 {
		t.Fatal("an update must stay until it is acknowledged")
	}

	tg.SendMessage(7, "two")
	tg.SendMessage(7, "three")
	if got := get(map[string]any{"limit": 2}); len(got) != 2 || got[1].Message.Text != "two" {
		t.Fatalf("%+v", got)
	}
	if got := get(map[string]any{"offset": first[0].UpdateID + 1}); len(got) != 2 || got[0].Message.Text != "two" {
		t.Fatalf("%+v", got)
	}
	if got := get(map[string]any{"offset": -1}); len(got) != 1 || got[0].Message.Text != "three" {
		t.Fatalf("%+v", got)
	}

	next := get(nil)[0].UpdateID + 1

	began := time.Now()
	if got := get(map[string]any{"offset": next, "timeout": 1}); len(got) != 0 || time.Since(began) < time.Second {
		t.Fatalf("%+v", got)
	}

	time.AfterFunc(50*time.Millisecond, func() { tg.SendMessage(7, "four") })
	if got := get(map[string]any{"offset": next, "timeout": 20}); len(got) != 1 || got[0].Message.Text != "four" {
		t.Fatalf("%+v", got)
	}

	get(map[string]any{"offset": next + 1, "allowed_updates": []string{"callback_query"}})
	tg.SendMessage(7, "unwanted")
	bot(t, base, "sendMessage", map[string]any{"chat_id": 7, "text": "x", "reply_markup": keyboard("x", "x")}).must(t, nil)
	if err := tg.Click(7, "x"); err != nil {
		t.Fatal(err)
	}
	if err := tg.Click(7, "y"); err == nil {
		t.Fatal("clicked what is not there")
	}
	if got := get(nil); len(got) != 1 || got[0].Message.MessageID != 0 {
		t.Fatalf("%+v", got)
	}

	bot(t, base, "getUpdates", map[string]any{"allowed_updates": "{"}).wants(t, 400, "can't parse allowed updates")
}

func TestSecondGetUpdatesEndsTheFirst(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	bot(t, base, "getUpdates", map[string]any{"offset": tg.state.lastUpdate + 1}).must(t, nil) // forgets /start
	first := make(chan botReply, 1)
	go func() { first <- bot(t, base, "getUpdates", map[string]any{"timeout": 50}) }()
	wait.Eventually(t, "the first one waits", func() bool {
		tg.mu.Lock()
		defer tg.mu.Unlock()
		return tg.poller != nil
	})

	second := make(chan botReply, 1)
	go func() { second <- bot(t, base, "getUpdates", map[string]any{"timeout": 50}) }()
	(<-first).wants(t, 409, "Conflict: terminated by other getUpdates request")
	tg.SendMessage(7, "hello")
	(<-second).must(t, nil)
}
