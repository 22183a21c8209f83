package telegramsim

import (
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"stagecoach/dev/sim"
)

// errNoButton is a press of a button that no message of the chat has.
var errNoButton = errors.New("no message in this chat has such a button")

// typed is what a person writes to the bot, and who they are. Empty fields stay unchanged.
type typed struct {
	Text         string `json:"text"`
	LanguageCode string `json:"language_code"`
	FirstName    string `json:"first_name"`
	Username     string `json:"username"`
}

// SendMessage writes to the bot as the user, who exists from then on. It panics on a disk error and on an invalid user
// id.
func (t *Server) SendMessage(user int64, text string) {
	if err := t.receive(user, typed{Text: text}); err != nil {
		panic(err) // the test is void
	}
}

// receive takes a message of a user.
func (t *Server) receive(id int64, in typed) error {
	if id <= 0 {
		return fmt.Errorf("a user's id must be positive, not %d", id)
	}

	t.mu.Lock()
	defer t.mu.Unlock()

	user, ok := t.state.users[id]
	if !ok {
		user = telegramUser{ID: id, FirstName: "User " + strconv.FormatInt(id, 10), LanguageCode: "en"}
	}

	for field, value := range map[*string]string{
		&user.LanguageCode: in.LanguageCode, &user.FirstName: in.FirstName, &user.Username: in.Username,
	} {
		if value != "" {
			*field = value
		}
	}

	// The update shows the sender, so the user is written before it.
	if err := t.commit(telegramEntry{User: &user}); err != nil {
		return err
	}

	m := Message{MessageID: t.state.lastMessage + 1, Text: in.Text, At: time.Now()}
	e := telegramEntry{Chat: id, Message: &m}
	if err := t.publish(&e, "message", t.wire(id, m)); err != nil {
		return err
	}
	if err := t.commit(e); err != nil {
		return err
	}

	t.announce()
	return nil
}

// Click presses, as the user, the button with the given callback data on the newest message that has it.
func (t *Server) Click(user int64, data string) error {
	_, err := t.click(user, 0, data)
	return err
}

// click presses a button on the given message, or on the newest when messageID is 0, and returns the id of the bot's answer.
func (t *Server) click(user, messageID int64, data string) (query string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()

	var m *Message
	for _, candidate := range slices.Backward(t.state.chats[user]) {
		if !candidate.Deleted && candidate.has(data) && (messageID == 0 || messageID == candidate.MessageID) {
			m = candidate
			break
		}
	}

	if m == nil {
		return "", errNoButton
	}

	id := strconv.Itoa(1_000_000 + len(t.state.clicks))
	click := &Callback{ID: id, UserID: user, MessageID: m.MessageID, Data: data}
	e := telegramEntry{Click: click}
	err = t.publish(&e, "callback_query", map[string]any{
		"id": click.ID, "from": t.state.users[user], "message": t.wire(user, *m),
		"chat_instance": strconv.FormatInt(user, 10), "data": data,
	})
	if err != nil {
		return "", err
	}
	if err := t.commit(e); err != nil {
		return "", err
	}

	t.announce()
	return click.ID, nil
}

// has reports whether the message carries a button with the given callback data.
func (m *Message) has(data string) bool {
	return m.FromBot && slices.ContainsFunc(slices.Concat(m.Buttons...), func(b Button) bool {
		return b.Data != "" && b.Data == data
	})
}

// addRoutes adds the control routes that act as the users and show their chats.
func (t *Server) addRoutes(mux *http.ServeMux) {
	mux.HandleFunc("POST /_/users/{id}/messages", t.postMessage)
	mux.HandleFunc("POST /_/users/{id}/clicks", t.postClick)
	mux.HandleFunc("GET /_/chats/{id}", t.getChat)
	mux.HandleFunc("GET /_/chats/{id}/messages/{message}/document", t.getDocument)
	mux.HandleFunc("GET /_/callbacks", t.getCallbacks)
}

func (t *Server) postMessage(w http.ResponseWriter, r *http.Request) {
	var in typed
	id, ok := pathID(w, r, "id")
	if !ok || !sim.ReadControl(w, r, &in) {
		return
	}

	sim.AnswerControl(w, t.receive(id, in))
}

func (t *Server) postClick(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Data      string `json:"data"`
		MessageID int64  `json:"message_id"`
	}

	id, ok := pathID(w, r, "id")
	if !ok || !sim.ReadControl(w, r, &in) {
		return
	}

	query, err := t.click(id, in.MessageID, in.Data)
	if err != nil {
		sim.WriteControlError(w, http.StatusBadRequest, err)
		return
	}
	sim.WriteJSON(w, http.StatusOK, map[string]string{"callback_query_id": query})
}

//go:embed chat.html
var chatPage []byte

// getChat shows a chat: to a browser as a page in which a person can write and press buttons, to programs as JSON.
func (t *Server) getChat(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(w, r, "id")
	switch {
	case !ok:
	case strings.Contains(r.Header.Get("Accept"), "text/html"):
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(chatPage) // an error means that the browser has disconnected
	default:
		sim.WriteJSON(w, http.StatusOK, t.Chat(id))
	}
}

func (t *Server) getDocument(w http.ResponseWriter, r *http.Request) {
	id, ok := pathID(w, r, "id")
	if !ok {
		return
	}

	message, ok := pathID(w, r, "message")
	if !ok {
		return
	}

	for _, m := range t.Chat(id).Messages {
		if m.MessageID != message || m.Document == nil || m.Document.Path == "" {
			continue
		}
		f, err := os.Open(m.Document.Path)
		if err != nil {
			break
		}
		defer func() { _ = f.Close() }()
		http.ServeContent(w, r, m.Document.Name, m.At, f)
		return
	}

	sim.WriteControlError(w, http.StatusNotFound, errors.New("no such document, or its bytes were not kept"))
}

func (t *Server) getCallbacks(w http.ResponseWriter, _ *http.Request) {
	sim.WriteJSON(w, http.StatusOK, map[string]any{"items": t.Callbacks()})
}

// Callbacks returns the clicks that the bot answered, in the order of the answers.
func (t *Server) Callbacks() []Callback {
	t.mu.Lock()
	defer t.mu.Unlock()
	items := make([]Callback, 0, len(t.state.answered))
	for _, id := range t.state.answered {
		items = append(items, t.state.clicks[id])
	}
	return items
}

// pathID reads a number of the path, or answers 400 and returns false.
func pathID(w http.ResponseWriter, r *http.Request, name string) (int64, bool) {
	id, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		sim.WriteControlError(w, http.StatusBadRequest, fmt.Errorf("%s must be a number", name))
	}
	return id, err == nil
}
