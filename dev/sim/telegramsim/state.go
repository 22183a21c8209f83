package telegramsim

import (
	"encoding/json"
	"os"
	"slices"
	"time"

	"stagecoach/dev/sim"
)

// telegramState is everything that the simulator remembers. Only applied telegramEntries change it, and the journal is
// the list of these: a restart restores exactly the same state.
type telegramState struct {
	chats       map[int64][]*Message // in order of message id, which is unique over all chats
	users       map[int64]telegramUser
	files       map[string]Document // by file id
	updates     []telegramUpdate    // not yet acknowledged, in order of id
	clicks      map[string]Callback
	answered    []string // ids of answered clicks, oldest first
	allowed     []string // update types that the bot asked for; empty: all
	lastMessage int64
	lastUpdate  int64
}

// telegramEntry is one line of the journal: the changes that one call made.
type telegramEntry struct {
	User    *telegramUser   `json:"user,omitempty"`
	Chat    int64           `json:"chat,omitempty"` // the chat of Message, Edited and Deleted
	Message *Message        `json:"message,omitempty"`
	Edited  int64           `json:"edited,omitempty"` // id of the message that Edit changes
	Edit    *Edit           `json:"edit,omitempty"`
	Deleted int64           `json:"deleted,omitempty"`
	Update  *telegramUpdate `json:"update,omitempty"`
	Ack     int64           `json:"ack,omitempty"` // updates before this id are forgotten
	Click   *Callback       `json:"click,omitempty"`
	Allowed *[]string       `json:"allowed,omitempty"`
}

// telegramUser is a person who has written to the bot.
type telegramUser struct {
	ID           int64  `json:"id"`
	IsBot        bool   `json:"is_bot"`
	FirstName    string `json:"first_name"`
	Username     string `json:"username,omitempty"`
	LanguageCode string `json:"language_code,omitempty"`
}

// telegramUpdate is an update as getUpdates sends it.
type telegramUpdate struct {
	ID   int64           `json:"id"`
	Body json.RawMessage `json:"body"`
}

// Callback is a click on a button and, once the bot answered it, the answer.
type Callback struct {
	ID         string     `json:"callback_query_id"`
	UserID     int64      `json:"user_id"`
	MessageID  int64      `json:"message_id"`
	Data       string     `json:"data"`
	Text       string     `json:"text"`
	ShowAlert  bool       `json:"show_alert"`
	AnsweredAt *time.Time `json:"answered_at,omitempty"`
}

func newTelegramState() telegramState {
	return telegramState{
		chats: map[int64][]*Message{}, users: map[int64]telegramUser{},
		files: map[string]Document{}, clicks: map[string]Callback{},
		lastUpdate: 100_000_000, // real update ids are large too
	}
}

// apply makes the changes of an entry. It must not fail: a replay cannot report an error.
func (s *telegramState) apply(e telegramEntry) {
	if e.User != nil {
		s.users[e.User.ID] = *e.User
	}

	if e.Message != nil {
		s.chats[e.Chat] = append(s.chats[e.Chat], e.Message)
		s.lastMessage = max(s.lastMessage, e.Message.MessageID)
		if d := e.Message.Document; d != nil {
			if _, ok := s.files[d.FileID]; !ok { // the first copy stays the source of the later ones
				s.files[d.FileID] = *d
			}
		}
	}

	if m := s.message(e.Chat, e.Edited); m != nil && e.Edit != nil {
		m.Edits = append(m.Edits, *e.Edit)
		m.Text, m.Buttons = e.Edit.Text, e.Edit.Buttons
	}

	if m := s.message(e.Chat, e.Deleted); m != nil {
		m.Deleted = true
	}

	if e.Update != nil {
		s.updates = append(s.updates, *e.Update)
		s.lastUpdate = max(s.lastUpdate, e.Update.ID)
	}

	if e.Ack > 0 {
		s.updates = slices.DeleteFunc(s.updates, func(u telegramUpdate) bool { return u.ID < e.Ack })
	}

	if e.Click != nil {
		s.clicks[e.Click.ID] = *e.Click
		if e.Click.AnsweredAt != nil {
			s.answered = append(s.answered, e.Click.ID)
		}
	}

	if e.Allowed != nil {
		s.allowed = *e.Allowed
	}
}

// message returns an existing message, or nil.
func (s *telegramState) message(chat, id int64) *Message {
	messages := s.chats[chat]
	i, ok := slices.BinarySearchFunc(messages, id, func(m *Message, id int64) int { return int(m.MessageID - id) })
	if !ok || messages[i].Deleted {
		return nil
	}
	return messages[i]
}

// commit writes an entry to the journal and applies it; t.mu must be held.
func (t *Server) commit(e telegramEntry) error {
	if err := t.journal.Add(e); err != nil {
		return err
	}
	t.state.apply(e)
	return nil
}

// openJournal restores what an earlier simulator left in the folder.
func (t *Server) openJournal() (err error) {
	if err := os.MkdirAll(t.uploadDir(), 0o755); err != nil {
		return err
	}

	t.journal, err = sim.OpenJournal(t.options.Dir, func(e telegramEntry) error {
		t.state.apply(e)
		return nil
	})
	if err != nil {
		return err
	}

	return t.removeStaleUploads()
}
