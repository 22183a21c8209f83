package telegramsim

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/sim/simtest"
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

func TestAddresses(t *testing.T) {
	t.Parallel()
	_, base := telegramTest(t, nil)
	bot(t, strings.Replace(base, "AAA", "AAB", 1), "getMe", nil).wants(t, 401, "Unauthorized")
	bot(t, base, "noSuchMethod", nil).wants(t, 404, "Not Found: method not found")
	bot(t, strings.TrimSuffix(base, "/bot"+testToken+"/"), "/elsewhere", nil).wants(t, 404, "Not Found")
	bot(t, base, "GETME", nil).must(t, nil)
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

func TestSimpleMethods(t *testing.T) {
	t.Parallel()
	_, base := telegramTest(t, nil)
	var me struct {
		ID       int64
		IsBot    bool `json:"is_bot"`
		Username string
	}

	bot(t, base, "getMe", nil).must(t, &me)
	if me.ID != 123456 || !me.IsBot || me.Username == "" {
		t.Errorf("%+v", me)
	}

	commands := []map[string]string{{"command": "start", "description": "begin"}}
	bot(t, base, "setMyCommands", map[string]any{"commands": commands}).must(t, nil)
	bot(t, base, "setMyCommands", map[string]any{"commands": "{"}).wants(t, 400, "can't parse commands")
	bot(
		t, base, "setMyCommands", map[string]any{"commands": []map[string]string{{"command": "x"}}},
	).wants(t, 400, "BOT_COMMAND_INVALID")
	for _, method := range []string{"deleteMyCommands", "setMyDescription", "logOut", "close"} {
		bot(t, base, method, nil).must(t, nil)
	}

	bot(t, base, "sendChatAction", map[string]any{"chat_id": 7, "action": "typing"}).must(t, nil)
	bot(t, base, "sendChatAction", map[string]any{"chat_id": 8, "action": "typing"}).wants(t, 400, "chat not found")

	var hook struct {
		URL     *string
		Pending int `json:"pending_update_count"`
	}

	bot(t, base, "getWebhookInfo", nil).must(t, &hook)
	if hook.URL == nil || *hook.URL != "" || hook.Pending != 1 {
		t.Errorf("%+v", hook)
	}

	bot(t, base, "deleteWebhook", nil).must(t, nil)
	bot(t, base, "deleteWebhook", map[string]any{"drop_pending_updates": true}).must(t, nil)
	bot(t, base, "getWebhookInfo", nil).must(t, &hook)
	if hook.Pending != 0 {
		t.Errorf("%+v", hook)
	}
}

func TestSendMessage(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	var m sent
	bot(
		t, base, "sendMessage", map[string]any{"chat_id": 7, "text": " hello ", "reply_markup": keyboard("Go", "go")},
	).must(t, &m)
	if m.Text != "hello" || m.Chat.ID != 7 || m.Chat.Type != "private" || m.ReplyMarkup.InlineKeyboard[0][0]["callback_data"] != "go" {
		t.Errorf("%+v", m)
	}

	last := tg.Chat(7).Messages[1]
	if last.MessageID != m.MessageID || !last.FromBot || last.Text != "hello" || last.Buttons[0][0] != (Button{Text: "Go", Data: "go"}) {
		t.Errorf("%+v", last)
	}

	for want, params := range map[string]map[string]any{
		"chat_id is empty":         {"text": "x"},
		"chat not found":           {"chat_id": 8, "text": "x"},
		"message text is empty":    {"chat_id": 7, "text": "  "},
		"message is too long":      {"chat_id": 7, "text": strings.Repeat("я", 4097)},
		"BUTTON_DATA_INVALID":      {"chat_id": 7, "text": "x", "reply_markup": keyboard("x", strings.Repeat("я", 33))},
		"object expected as reply": {"chat_id": 7, "text": "x", "reply_markup": "["},
		"text buttons are":         {"chat_id": 7, "text": "x", "reply_markup": keyboard("x", "")},
		"can't parse inline":       {"chat_id": 7, "text": "x", "reply_markup": keyboard("", "x")},
	} {
		bot(t, base, "sendMessage", params).wants(t, 400, "Bad Request: "+want)
	}

	bot(t, base, "sendMessage", map[string]any{"chat_id": 7, "text": strings.Repeat("я", 4096)}).must(t, nil)
	bot(
		t, base, "sendMessage",
		map[string]any{"chat_id": 7, "text": "x", "reply_markup": keyboard("x", strings.Repeat("я", 32))},
	).must(t, nil)
	bot(t, base, "sendMessage", map[string]any{"chat_id": -100123, "text": "to a group"}).must(t, &m)
	if m.Chat.Type != "supergroup" {
		t.Errorf("%+v", m)
	}
}

func TestParametersInEveryEncoding(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	values := url.Values{
		"chat_id": {"7"}, "text": {"hello"}, "reply_markup": {`{"inline_keyboard":[[{"text":"a","url":"http://b"}]]}`},
	}
	if response, err := http.Get(base + "sendMessage?" + values.Encode()); err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}
	if response, err := http.PostForm(base+"sendMessage", values); err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}

	body, contentType := form(
		t, map[string]string{"chat_id": "7", "text": "hello", "reply_markup": values.Get("reply_markup")}, "other", "x", nil,
	)
	if response, err := http.Post(base+"sendMessage", contentType, strings.NewReader(string(body))); err != nil || response.StatusCode != 200 {
		t.Fatal(err)
	}

	messages := tg.Chat(7).Messages[1:]
	if len(messages) != 3 {
		t.Fatal(len(messages))
	}

	for _, m := range messages {
		if m.Text != "hello" || m.Buttons[0][0].URL != "http://b" {
			t.Errorf("%+v", m)
		}
	}

	for contentType, body := range map[string]string{
		"application/json": "[1]", "application/x-www-form-urlencoded": "%zz", "multipart/form-data; boundary=x": "nothing",
	} {
		response, err := http.Post(base+"sendMessage", contentType, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != 400 {
			t.Error(contentType, response.Status)
		}
		_ = response.Body.Close()
	}

	response, err := http.Post(
		base+"sendMessage", "application/json", io.LimitReader(strings.NewReader(strings.Repeat(" ", 5<<20)), 5<<20),
	)
	if err != nil || response.StatusCode != 413 {
		t.Fatal(response, err)
	}

	_ = response.Body.Close()
}

func TestEditAndDelete(t *testing.T) {
	t.Parallel()
	tg, base := telegramTest(t, nil)
	var m sent
	bot(
		t, base, "sendMessage", map[string]any{"chat_id": 7, "text": "one", "reply_markup": keyboard("a", "a")},
	).must(t, &m)
	edit := func(method, text string, markup any) botReply {
		params := map[string]any{"chat_id": 7, "message_id": m.MessageID, "text": text}
		if markup != nil {
			params["reply_markup"] = markup
		}
		return bot(t, base, method, params)
	}

	edit("editMessageText", "one", keyboard("a", "a")).wants(t, 400, "Bad Request: message is not modified: ")
	edit("editMessageText", "two", keyboard("b", "b")).must(t, &m)
	if m.Text != "two" {
		t.Errorf("%+v", m)
	}

	edit("editMessageReplyMarkup", "", keyboard("b", "b")).wants(t, 400, "message is not modified")
	edit("editMessageReplyMarkup", "", keyboard("c", "c")).must(t, nil)
	edit("editMessageText", "", nil).wants(t, 400, "message text is empty")
	edit("editMessageText", "three", nil).must(t, nil) // removes the keyboard

	got := tg.Chat(7).Messages[1]
	if got.Text != "three" || got.FirstText != "one" || len(got.Buttons) != 0 || len(got.Edits) != 3 ||
		got.Edits[0].Text != "two" || got.Edits[1].Buttons[0][0].Data != "c" {
		t.Errorf("%+v", got)
	}

	bot(
		t, base, "editMessageText", map[string]any{"chat_id": 7, "message_id": 999, "text": "x"},
	).wants(t, 400, "message to edit not found")
	bot(
		t, base, "editMessageText", map[string]any{"chat_id": 7, "message_id": 1, "text": "x"},
	).wants(t, 400, "message can't be edited")
	bot(t, base, "deleteMessage", map[string]any{"chat_id": 7, "message_id": m.MessageID}).must(t, nil)
	bot(
		t, base, "deleteMessage", map[string]any{"chat_id": 7, "message_id": m.MessageID},
	).wants(t, 400, "message to delete not found")
	edit("editMessageText", "four", nil).wants(t, 400, "message to edit not found")
	if !tg.Chat(7).Messages[1].Deleted {
		t.Error("not marked as deleted")
	}

	var file sent
	sendFileReply(t, base, "a", []byte("x")).must(t, &file)
	bot(
		t, base, "editMessageText", map[string]any{"chat_id": 7, "message_id": file.MessageID, "text": "x"},
	).wants(t, 400, "there is no text")
}

func TestPeopleOverHTTP(t *testing.T) {
	t.Parallel()
	_, base := telegramTest(t, nil)
	root := strings.TrimSuffix(base, "/bot"+testToken+"/")
	bot(t, base, "getUpdates", map[string]any{"offset": -1}).must(t, nil)
	status, body := simtest.Do(
		t, "POST", root+"/_/users/42/messages", map[string]any{"text": "/files a", "language_code": "ru", "username": "anna"},
	)
	if status != 200 || !strings.Contains(string(body), "update_id") {
		t.Fatalf("%d %s", status, body)
	}

	simtest.Do(t, "POST", root+"/_/users/42/messages", map[string]any{"text": "again"}) // keeps the language
	var updates []struct {
		UpdateID int64 `json:"update_id"`
		Message  struct {
			Text     string
			From     telegramUser
			Entities []struct {
				Type   string
				Length int
			}
		}
	}

	bot(t, base, "getUpdates", nil).must(t, &updates)
	last := updates[len(updates)-1].Message
	if last.Text != "again" || last.From.LanguageCode != "ru" || last.From.Username != "anna" || last.From.ID != 42 {
		t.Errorf("%+v", last)
	}
	if e := updates[len(updates)-2].Message.Entities; len(e) != 1 || e[0].Type != "bot_command" || e[0].Length != 6 {
		t.Errorf("%+v", e)
	}

	bot(
		t, base, "sendMessage", map[string]any{"chat_id": 42, "text": "old", "reply_markup": keyboard("a", "a")},
	).must(t, nil)
	var m sent
	bot(
		t, base, "sendMessage", map[string]any{"chat_id": 42, "text": "new", "reply_markup": keyboard("a", "a")},
	).must(t, &m)
	status, body = simtest.Do(t, "POST", root+"/_/users/42/clicks", map[string]any{"data": "a"})
	var click struct {
		UpdateID        int64  `json:"update_id"`
		CallbackQueryID string `json:"callback_query_id"`
	}
	if err := json.Unmarshal(body, &click); err != nil || status != 200 {
		t.Fatalf("%d %s", status, body)
	}

	var queries []struct {
		UpdateID int64 `json:"update_id"`
		Query    struct {
			ID, Data string
			From     telegramUser
			Message  sent
		} `json:"callback_query"`
	}

	bot(t, base, "getUpdates", map[string]any{"offset": click.UpdateID}).must(t, &queries)
	if q := queries[0].Query; q.ID != click.CallbackQueryID || q.Data != "a" || q.From.ID != 42 || q.Message.MessageID != m.MessageID {
		t.Errorf("%+v", q)
	}

	for what, params := range map[string]map[string]any{
		"no such button": {"data": "b"}, "no such message": {"data": "a", "message_id": 999},
	} {
		if status, _ := simtest.Do(t, "POST", root+"/_/users/42/clicks", params); status != 404 {
			t.Error(what, status)
		}
	}

	if status, _ := simtest.Do(t, "POST", root+"/_/users/anna/clicks", map[string]any{"data": "a"}); status != 400 {
		t.Error(status)
	}
	if status, _ := simtest.Do(t, "POST", root+"/_/users/-3/messages", map[string]any{"text": "a"}); status != 400 {
		t.Error(status)
	}

	answer := map[string]any{"callback_query_id": click.CallbackQueryID, "text": "done", "show_alert": true}
	bot(t, base, "answerCallbackQuery", answer).must(t, nil)
	bot(t, base, "answerCallbackQuery", answer).wants(t, 400, "query is too old")
	bot(t, base, "answerCallbackQuery", map[string]any{"callback_query_id": "1"}).wants(t, 400, "query is too old")
	_, body = simtest.Do(t, "GET", root+"/_/callbacks", nil)
	if s := string(body); strings.Count(s, "user_id") != 1 || !strings.Contains(s, `"text":"done","show_alert":true`) {
		t.Error(s)
	}
	if _, body = simtest.Do(t, "GET", root+"/_/chats/42", nil); !strings.Contains(string(body), `"data":"a","callback_data":"a"`) {
		t.Errorf("%s", body)
	}
	if _, body = simtest.Do(t, "GET", root+"/_/chats/43", nil); string(body) != "{\"id\":43,\"messages\":[]}\n" {
		t.Errorf("%s", body)
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
	bot(t, base, "deleteWebhook", map[string]any{"drop_pending_updates": true}).must(t, nil)
	first := make(chan botReply, 1)
	go func() { first <- bot(t, base, "getUpdates", map[string]any{"timeout": 50}) }()
	simtest.Eventually(t, "the first one waits", func() bool {
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
