// Package telegramsim simulates Telegram: the Bot API, its Local Bot API server and the people who write to the bot.
package telegramsim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"stagecoach/dev/sim"
)

// Options are the settings of the simulated Local Bot API server.
type Options struct {
	Dir          string // where received files and the journal are kept
	Token        string // the bot's token, "<bot id>:<secret>"
	MaxFileSize  int64  // largest document in bytes; 0 means 2097152000
	SharedDir    string // folder that file:// documents may be in; empty refuses them
	DiscardFiles bool   // count and hash documents, but do not keep them
}

// Server simulates Telegram behind a Local Bot API server. It plays the server and the users.
type Server struct {
	sim.Control
	options Options
	botID   int64

	mu      sync.Mutex
	state   telegramState
	journal *sim.Journal[telegramEntry]
	arrived chan struct{}     // closed when an update arrives
	poller  chan struct{}     // closed to end the getUpdates that waits; nil when none does
	slowed  map[int64]*slowed // chats to which the bot may only write now and then
}

// Chat is everything that one chat has received.
type Chat struct {
	ID       int64     `json:"id"`
	Messages []Message `json:"messages"`
}

// Message is one message of a chat in its current form.
type Message struct {
	MessageID int64      `json:"message_id"`
	FromBot   bool       `json:"from_bot"`
	Text      string     `json:"text,omitempty"`
	Caption   string     `json:"caption,omitempty"`
	Buttons   [][]Button `json:"buttons,omitempty"`
	Document  *Document  `json:"document,omitempty"`
	Edits     []Edit     `json:"edits,omitempty"`
	Deleted   bool       `json:"deleted,omitempty"`
	At        time.Time  `json:"at"`
}

// Edit is one change of a message.
type Edit struct {
	Text    string     `json:"text"`
	Buttons [][]Button `json:"buttons,omitempty"`
	At      time.Time  `json:"at"`
}

// Button is one button of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Document is a file that a chat received.
type Document struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	Name         string `json:"name"`
	Size         int64  `json:"size"`
	Kind         string `json:"kind,omitempty"` // how the server classified it: audio, video, …; empty: document
	SHA256       string `json:"sha256"`         // lower-case hex
	Path         string `json:"path,omitempty"` // where the bytes are; empty if discarded
}

// New opens the simulator with the state that an earlier one left in the same folder.
func New(o Options) (*Server, error) {
	id, _, _ := strings.Cut(o.Token, ":")
	botID, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		return nil, errors.New("telegram simulator: the token must begin with the bot's id and a colon")
	}
	if o.Dir == "" {
		return nil, errors.New("telegram simulator: no folder given")
	}

	if o.MaxFileSize == 0 {
		o.MaxFileSize = 2_097_152_000
	}

	if o.Dir, err = filepath.Abs(o.Dir); err != nil {
		return nil, fmt.Errorf("telegram simulator: %w", err)
	}

	if o.SharedDir != "" {
		if o.SharedDir, err = realPath(o.SharedDir); err != nil {
			return nil, fmt.Errorf("telegram simulator: shared folder: %w", err)
		}
	}

	t := &Server{options: o, botID: botID, state: newTelegramState(), arrived: make(chan struct{})}
	if err := t.openJournal(); err != nil {
		return nil, fmt.Errorf("telegram simulator: %w", err)
	}

	t.addRoutes(t.SetUp(sim.Protocol{Mask: maskToken, Call: chatOf, Fail: failTelegram, Named: telegramFaults}))
	return t, nil
}

// Close releases held connections and closes the journal; the handler must no longer be served.
func (t *Server) Close() error {
	t.ClearFaults()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.journal.Close()
}

// telegramFaults are Telegram's error responses that differ from the usual one of their status.
var telegramFaults = map[string]sim.Problem{
	"blocked":        {Status: 403, Text: "Forbidden: bot was blocked by the user"},
	"deactivated":    {Status: 403, Text: "Forbidden: user is deactivated"},
	"wrong_file_id":  {Status: 400, Text: "Bad Request: wrong file identifier/HTTP URL specified"},
	"internal_error": {Status: 500, Text: "Internal Server Error"}, // in JSON, unlike a restarting server
}

// failTelegram responds with an error as the Bot API does.
func failTelegram(w http.ResponseWriter, _ *http.Request, p sim.Problem) {
	body := map[string]any{"ok": false, "error_code": p.Status, "description": p.Text}
	switch {
	case p.Text != "":
	case p.Status == http.StatusTooManyRequests:
		body["description"] = fmt.Sprintf("Too Many Requests: retry after %d", p.RetryAfter)
	case p.Status == http.StatusInternalServerError:
		body["description"] = "Internal Server Error: restart"
	default:
		body["description"] = http.StatusText(p.Status)
	}

	if p.RetryAfter > 0 {
		body["parameters"] = map[string]any{"retry_after": p.RetryAfter}
	}

	sim.WriteJSON(w, p.Status, body)
}

// chatOf names the chat of a call whose body is JSON, such as "chat=200;", so that a fault can match one chat.
func chatOf(r *http.Request) string {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return ""
	}

	begin, err := io.ReadAll(io.LimitReader(r.Body, maxParameters))
	r.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(begin), r.Body), r.Body}

	var named struct {
		Chat json.RawMessage `json:"chat_id"`
	}
	if err != nil || json.Unmarshal(begin, &named) != nil || named.Chat == nil {
		return ""
	}
	return "chat=" + strings.Trim(string(named.Chat), `"`) + ";"
}

// maskToken hides the bot's token in a path.
func maskToken(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if strings.HasPrefix(part, "bot") {
			parts[i] = "bot***"
		}
	}
	return strings.Join(parts, "/")
}

// ServeHTTP serves the Bot API at the root and the control routes under /_/.
func (t *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t.Serve(w, r, http.HandlerFunc(t.serveMethod))
}

func (t *Server) serveMethod(w http.ResponseWriter, r *http.Request) {
	bot, name, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	token, isBot := strings.CutPrefix(bot, "bot")
	if !ok || !isBot {
		failTelegram(w, r, sim.Problem{Status: http.StatusNotFound})
		return
	}
	if token != t.options.Token {
		failTelegram(w, r, sim.Problem{Status: http.StatusUnauthorized})
		return
	}

	method, ok := telegramMethods[strings.ToLower(name)]
	if !ok {
		failTelegram(w, r, sim.Problem{Status: http.StatusNotFound, Text: "Not Found: method not found"})
		return
	}

	c, err := t.readCall(r)
	defer c.dropFiles()

	if err == nil {
		err = t.admit(c)
	}

	var result any
	if err == nil {
		result, err = method(t, c)
	}

	var refusal *sim.Problem
	switch {
	case err == nil:
		sim.WriteJSON(w, http.StatusOK, map[string]any{"ok": true, "result": result})
	case errors.Is(err, errTooLarge): // the real server closes the connection on such a body and responds without JSON
		sim.AnswerEarly(w)
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	case errors.As(err, &refusal):
		failTelegram(w, r, *refusal)
	default:
		failTelegram(w, r, sim.Problem{Status: http.StatusInternalServerError, Text: "Internal Server Error: " + err.Error()})
	}
}

// badRequest is Telegram's refusal of an invalid call.
func badRequest(text string) error {
	return &sim.Problem{Status: http.StatusBadRequest, Text: "Bad Request: " + text}
}

// Chat returns what the chat with the given id has received; it is empty for an unused chat.
func (t *Server) Chat(id int64) Chat {
	t.mu.Lock()
	defer t.mu.Unlock()
	chat := Chat{ID: id, Messages: []Message{}}
	for _, m := range t.state.chats[id] {
		chat.Messages = append(chat.Messages, t.visible(*m))
	}
	return chat
}

// visible returns a copy of a message that no later edit changes.
func (t *Server) visible(m Message) Message {
	m.Edits = slices.Clone(m.Edits)
	if m.Document != nil {
		d := *m.Document
		if d.Path != "" {
			d.Path = filepath.Join(t.options.Dir, d.Path) // stored relative, so that the folder may move
		}
		m.Document = &d
	}
	return m
}
