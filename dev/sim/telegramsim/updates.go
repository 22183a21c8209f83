package telegramsim

import (
	"cmp"
	"context"
	"encoding/json"
	"mime"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf16"

	"stagecoach/dev/sim"
)

// getUpdates returns the updates from offset on and forgets those before it. If there are none it waits up to timeout
// seconds. Only one call may wait: a second one ends it with a conflict, as in the real server.
func (t *Server) getUpdates(c *call) (any, error) {
	limit := int(c.number("limit"))
	if limit <= 0 || limit > 100 {
		limit = 100
	}

	over := time.After(time.Duration(min(c.number("timeout"), 50)) * time.Second)
	evicted := make(chan struct{})

	t.mu.Lock()
	defer t.mu.Unlock()

	if t.poller != nil {
		close(t.poller)
	}

	t.poller = evicted
	defer func() {
		if t.poller == evicted {
			t.poller = nil
		}
	}()

	if err := t.forget(c.number("offset")); err != nil {
		return nil, err
	}
	if err := t.allow(c.params["allowed_updates"]); err != nil {
		return nil, err
	}

	if err := t.awaitUpdate(c.ctx, over, evicted); err != nil {
		return nil, err
	}

	items := []json.RawMessage{}
	for _, u := range t.state.updates[:min(limit, len(t.state.updates))] {
		items = append(items, u.Body)
	}
	return items, nil
}

// awaitUpdate returns when there is an update, at a receive on over, or when ctx ends. It fails when another call has
// closed evicted. t.mu must be held; it is released during the wait.
func (t *Server) awaitUpdate(ctx context.Context, over <-chan time.Time, evicted <-chan struct{}) error {
	for len(t.state.updates) == 0 {
		arrived := t.arrived
		t.mu.Unlock()

		waiting, conflict := false, false
		select {
		case <-arrived:
			waiting = true
		case <-evicted:
			conflict = true
		case <-over:
		case <-ctx.Done():
		}

		t.mu.Lock()
		if conflict {
			return &sim.Problem{Status: 409, Text: "Conflict: terminated by other getUpdates request; " +
				"make sure that only one bot instance is running"}
		}
		if !waiting {
			break
		}
	}

	return nil
}

// forget acknowledges the updates before offset; a negative offset keeps only that many of the last. t.mu must be held.
func (t *Server) forget(offset int64) error {
	if keep := int(-offset); keep > 0 && keep < len(t.state.updates) {
		offset = t.state.updates[len(t.state.updates)-keep].ID
	}
	if offset <= 0 || len(t.state.updates) == 0 || t.state.updates[0].ID >= offset {
		return nil
	}
	return t.commit(telegramEntry{Ack: offset})
}

// allow sets which types of update the bot wants from now on; raw is JSON, empty for no change. t.mu must be held.
func (t *Server) allow(raw string) error {
	if raw == "" || raw == "null" {
		return nil
	}

	var types []string
	if json.Unmarshal([]byte(raw), &types) != nil {
		return badRequest("can't parse allowed updates")
	}
	if slices.Equal(types, t.state.allowed) {
		return nil
	}

	return t.commit(telegramEntry{Allowed: &types})
}

// publish adds an update of the given type to an entry that is committed next. It adds none if the bot has not asked
// for the type. t.mu must be held.
func (t *Server) publish(e *telegramEntry, kind string, content any) error {
	if len(t.state.allowed) > 0 && !slices.Contains(t.state.allowed, kind) {
		return nil
	}
	id := t.state.lastUpdate + 1
	body, err := json.Marshal(map[string]any{"update_id": id, kind: content})
	e.Update = &telegramUpdate{ID: id, Body: body}
	return err
}

// announce wakes the waiting getUpdates; t.mu must be held.
func (t *Server) announce() {
	close(t.arrived)
	t.arrived = make(chan struct{})
}

// wire returns a message as the Bot API writes it; t.mu must be held.
func (t *Server) wire(chat int64, m Message) map[string]any {
	w := map[string]any{"message_id": m.MessageID, "date": m.At.Unix(), "chat": t.wireChat(chat), "from": t.bot()}
	if !m.FromBot {
		w["from"] = t.state.users[chat]
	}

	if m.Text != "" {
		w["text"] = m.Text
	}

	if m.Caption != "" {
		w["caption"] = m.Caption
	}

	if command, _, _ := strings.Cut(m.Text, " "); !m.FromBot && strings.HasPrefix(command, "/") {
		length := len(utf16.Encode([]rune(command)))
		w["entities"] = []any{map[string]any{"type": "bot_command", "offset": 0, "length": length}}
	}

	if len(m.Buttons) > 0 {
		w["reply_markup"] = newWireKeyboard(m.Buttons)
	}

	if len(m.Edits) > 0 {
		w["edit_date"] = m.Edits[len(m.Edits)-1].At.Unix()
	}

	if d := m.Document; d != nil {
		kind := mime.TypeByExtension(filepath.Ext(d.Name))
		if kind == "" {
			kind = "application/octet-stream"
		}
		w[cmp.Or(d.Kind, "document")] = map[string]any{
			"file_id": d.FileID, "file_unique_id": d.FileUniqueID,
			"file_name": d.Name, "file_size": d.Size, "mime_type": kind,
		}
	}

	return w
}

// wireKeyboard is an inline keyboard as the Bot API writes it.
type wireKeyboard struct {
	Rows [][]wireButton `json:"inline_keyboard"`
}

// wireButton is a Button under the Bot API's names.
type wireButton struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
}

func newWireKeyboard(buttons [][]Button) wireKeyboard {
	k := wireKeyboard{Rows: make([][]wireButton, len(buttons))}
	for i, row := range buttons {
		for _, b := range row {
			k.Rows[i] = append(k.Rows[i], wireButton(b))
		}
	}
	return k
}

func (t *Server) wireChat(id int64) map[string]any {
	user, ok := t.state.users[id]
	if !ok {
		return map[string]any{"id": id, "type": "supergroup", "title": "Group"}
	}
	chat := map[string]any{"id": id, "type": "private", "first_name": user.FirstName}
	if user.Username != "" {
		chat["username"] = user.Username
	}
	return chat
}
