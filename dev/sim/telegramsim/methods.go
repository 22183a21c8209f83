package telegramsim

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"
)

// telegramMethods are the Bot API methods that the simulator supports, in lower case: case does not matter.
var telegramMethods = map[string]func(*Server, *call) (any, error){
	"getme":               (*Server).getMe,
	"getupdates":          (*Server).getUpdates,
	"sendmessage":         (*Server).sendMessage,
	"senddocument":        (*Server).sendDocument,
	"editmessagetext":     (*Server).editMessageText,
	"deletemessage":       (*Server).deleteMessage,
	"answercallbackquery": (*Server).answerCallbackQuery,
	"leavechat":           (*Server).leaveChat,
	"getwebhookinfo":      (*Server).getWebhookInfo,
	"setmycommands":       (*Server).setMyCommands,
}

func (t *Server) getMe(*call) (any, error) {
	return struct {
		telegramUser
		CanJoinGroups bool `json:"can_join_groups"`
	}{t.bot(), true}, nil
}

func (t *Server) bot() telegramUser {
	return telegramUser{ID: t.botID, IsBot: true, FirstName: "Stagecoach", Username: "stagecoach_stand_in_bot"}
}

func (t *Server) getWebhookInfo(*call) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return map[string]any{"url": "", "has_custom_certificate": false, "pending_update_count": len(t.state.updates)}, nil
}

func (t *Server) setMyCommands(c *call) (any, error) {
	var commands []struct {
		Command     string `json:"command"`
		Description string `json:"description"`
	}
	if json.Unmarshal([]byte(c.params["commands"]), &commands) != nil {
		return nil, badRequest("can't parse commands JSON object")
	}

	for _, command := range commands {
		if command.Command == "" || len(command.Command) > 32 || command.Description == "" {
			return nil, badRequest("BOT_COMMAND_INVALID")
		}
	}
	return true, nil
}

// chatID returns the chat of the call. People exist after their first message. Groups and channels (negative ids)
// always exist, as if the bot were a member of each. t.mu must be held.
func (t *Server) chatID(c *call) (int64, error) {
	id := c.number("chat_id")
	if c.params["chat_id"] == "" {
		return 0, badRequest("chat_id is empty")
	}
	if _, ok := t.state.users[id]; !ok && id >= 0 {
		return 0, badRequest("chat not found")
	}
	return id, nil
}

// leaveChat accepts leaving any group. The simulator does not remember it: what comes from a group is up to the test.
func (t *Server) leaveChat(c *call) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	id, err := t.chatID(c)
	if err == nil && id > 0 {
		err = badRequest("chat member status can't be changed in private chats")
	}
	return err == nil, err
}

func (t *Server) sendMessage(c *call) (any, error) {
	text, buttons, err := c.message()
	if err != nil {
		return nil, err
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	chat, err := t.chatID(c)
	if err != nil {
		return nil, err
	}
	return t.send(chat, Message{Text: text, Buttons: buttons})
}

// detected are the kinds of files that the server converts documents to, unless it is told not to.
var detected = map[string]string{
	".mp3": "audio", ".m4a": "audio", ".mp4": "video", ".gif": "animation", ".webp": "sticker", ".ogg": "voice",
}

func (t *Server) sendDocument(c *call) (any, error) {
	caption, err := c.text("caption", 1024, "message caption is too long")
	if err != nil {
		return nil, err
	}

	buttons, err := c.buttons()
	if err != nil {
		return nil, err
	}

	name, attached := strings.CutPrefix(c.params["document"], "attach://")
	if !attached {
		name = "document"
	}

	file, uploaded := c.files[name]
	if !uploaded && strings.HasPrefix(c.params["document"], "file:") {
		if file, err = t.takeShared(c.params["document"]); err != nil {
			return nil, err
		}
		defer file.drop()
		uploaded = true
	}

	if uploaded && file.size == 0 {
		return nil, badRequest("file must be non-empty")
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	chat, err := t.chatID(c)
	if err != nil {
		return nil, err
	}

	m := Message{MessageID: t.state.lastMessage + 1, Caption: caption, Buttons: buttons}
	known, again := t.state.files[c.params["document"]]
	switch {
	case uploaded:
		if m.Document, err = t.keep(file, chat, m.MessageID); err == nil && c.params["disable_content_type_detection"] != "true" {
			m.Document.Kind = detected[strings.ToLower(filepath.Ext(m.Document.Name))]
		}
	case again:
		m.Document = &known // both messages share its path
	case c.params["document"] == "":
		err = badRequest("there is no document in the request")
	default:
		err = errWrongFile
	}

	if err != nil {
		return nil, err
	}
	return t.send(chat, m)
}

// send adds a message of the bot to a chat; t.mu must be held.
func (t *Server) send(chat int64, m Message) (any, error) {
	m.MessageID, m.FromBot, m.At = t.state.lastMessage+1, true, time.Now()
	if err := t.commit(telegramEntry{Chat: chat, Message: &m}); err != nil {
		return nil, err
	}
	return t.wire(chat, m), nil
}

// message returns the text and the buttons of a message.
func (c *call) message() (text string, buttons [][]Button, err error) {
	if text, err = c.text("text", 4096, "message is too long"); err != nil {
		return "", nil, err
	}
	if text == "" {
		return "", nil, badRequest("message text is empty")
	}

	buttons, err = c.buttons()
	return text, buttons, err
}

// editMessageText replaces a message's text and buttons; a call without a keyboard removes the old one.
func (t *Server) editMessageText(c *call) (any, error) {
	text, buttons, err := c.message()
	if err != nil {
		return nil, err
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	chat, err := t.chatID(c)
	if err != nil {
		return nil, err
	}

	m := t.state.message(chat, c.number("message_id"))
	switch {
	case m == nil:
		return nil, badRequest("message to edit not found")
	case !m.FromBot:
		return nil, badRequest("message can't be edited")
	case m.Document != nil:
		return nil, badRequest("there is no text in the message to edit")
	case text == m.Text && slices.EqualFunc(buttons, m.Buttons, slices.Equal[[]Button]):
		return nil, badRequest("message is not modified: specified new message content and reply markup are exactly " +
			"the same as a current content and reply markup of the message")
	}

	edit := &Edit{Text: text, Buttons: buttons, At: time.Now()}
	if err := t.commit(telegramEntry{Chat: chat, Edited: m.MessageID, Edit: edit}); err != nil {
		return nil, err
	}
	return t.wire(chat, *m), nil
}

func (t *Server) deleteMessage(c *call) (any, error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	chat, err := t.chatID(c)
	if err != nil {
		return nil, err
	}

	id := c.number("message_id")
	if t.state.message(chat, id) == nil {
		return nil, badRequest("message to delete not found")
	}
	return true, t.commit(telegramEntry{Chat: chat, Deleted: id})
}

func (t *Server) answerCallbackQuery(c *call) (any, error) {
	text, err := c.text("text", 200, "MESSAGE_TOO_LONG")
	if err != nil {
		return nil, err
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	click, ok := t.state.clicks[c.params["callback_query_id"]]
	if !ok || click.AnsweredAt != nil {
		return nil, badRequest("query is too old and response timeout expired or query ID is invalid")
	}

	now := time.Now()
	click.Text, click.ShowAlert, click.AnsweredAt = text, c.params["show_alert"] == "true", &now
	return true, t.commit(telegramEntry{Click: &click})
}

// text returns a text parameter of at most limit characters; Telegram counts UTF-16 units.
func (c *call) text(name string, limit int, refusal string) (string, error) {
	text := strings.TrimSpace(c.params[name])
	if len(text) > limit && len(utf16.Encode([]rune(text))) > limit {
		return "", badRequest(refusal)
	}
	return text, nil
}
