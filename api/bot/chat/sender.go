package chat

import (
	"context"
	"log/slog"
	"time"

	"stagecoach/api/words"

	"github.com/mymmrac/telego"
)

const (
	// RequestTime is the timeout of one request to Telegram.
	RequestTime = 10 * time.Second

	answerTime  = 15 * time.Second // for one answer, including its retries
	longestWait = 5 * time.Second  // between two retries
	answerTries = 3
	noteLength  = 190 // Telegram allows 200 UTF-16 units
)

// Sender sends and edits messages, and answers button presses.
type Sender struct {
	Telegram *telego.Bot
	Log      *slog.Logger
	// LiveMessages makes live messages due at once.
	LiveMessages interface {
		HurryLiveMessage(ctx context.Context, workload string, entity int64) error
	}
	// Pseudonym replaces a person's id in the log.
	Pseudonym func(telegramID int64) string
}

// Send makes one request to send a message.
func (s *Sender) Send(ctx context.Context, chat int64, v View) (message int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, RequestTime)
	defer cancel()

	params := &telego.SendMessageParams{
		ChatID: telego.ChatID{ID: chat}, Text: v.Text, ParseMode: telego.ModeHTML,
		LinkPreviewOptions: &telego.LinkPreviewOptions{IsDisabled: true},
	}
	if len(v.Rows) > 0 {
		params.ReplyMarkup = &telego.InlineKeyboardMarkup{InlineKeyboard: v.Rows}
	}

	sent, err := s.Telegram.SendMessage(ctx, params)
	if err != nil {
		return 0, err
	}
	return int64(sent.MessageID), nil
}

// Edit makes one request to change a message.
func (s *Sender) Edit(ctx context.Context, chat, message int64, v View) error {
	ctx, cancel := context.WithTimeout(ctx, RequestTime)
	defer cancel()

	params := &telego.EditMessageTextParams{
		ChatID: telego.ChatID{ID: chat}, MessageID: int(message), Text: v.Text, ParseMode: telego.ModeHTML,
		LinkPreviewOptions: &telego.LinkPreviewOptions{IsDisabled: true},
	}
	if len(v.Rows) > 0 {
		params.ReplyMarkup = &telego.InlineKeyboardMarkup{InlineKeyboard: v.Rows}
	}

	_, err := s.Telegram.EditMessageText(ctx, params)
	return err
}

// Post sends a message and returns its id; 0 if that failed. A failure is logged.
func (s *Sender) Post(ctx context.Context, chat int64, v View) (message int64) {
	_, err := attempt(ctx, false, func(ctx context.Context) (err error) {
		message, err = s.Send(ctx, chat, v)
		return err
	})
	if err != nil {
		s.Log.Warn("bot: message not sent", "user", s.Pseudonym(chat), "error", err)
	}
	return message
}

// Reply edits the message whose button was pressed, or else sends a new one. A failure is logged.
func (s *Sender) Reply(ctx context.Context, r *Request, v View) {
	if r.Message == 0 {
		s.Post(ctx, r.Chat, v)
		return
	}
	s.redraw(ctx, r, v)
}

func (s *Sender) redraw(ctx context.Context, r *Request, v View) Outcome {
	outcome, err := attempt(ctx, true, func(ctx context.Context) error { return s.Edit(ctx, r.Chat, r.Message, v) })
	if outcome != Done {
		s.Log.Warn("bot: message not edited", "user", s.Pseudonym(r.Chat), "error", err)
	}
	return outcome
}

// Show draws the menu: on the message that the request came from, or else as a new message. Answers stay in the chat;
// an unanswered question disappears with its menu.
func (s *Sender) Show(ctx context.Context, r *Request, v View) {
	asked := r.Conv.Ask != ""
	r.Conv.Ask = v.Ask
	if r.Message != 0 && s.redraw(ctx, r, v) != Gone {
		r.Conv.MessageID = r.Message
		return
	}

	message := s.Post(ctx, r.Chat, v)
	if message == 0 {
		return
	}

	if r.Conv.MessageID != 0 && asked {
		s.remove(ctx, r.Chat, r.Conv.MessageID)
	}
	r.Conv.MessageID, r.Message = message, message
}

// remove deletes a message if it still can: Telegram only deletes messages of the last two days.
func (s *Sender) remove(ctx context.Context, chat, message int64) {
	ctx, cancel := context.WithTimeout(ctx, RequestTime)
	defer cancel()

	old := telego.DeleteMessageParams{ChatID: telego.ChatID{ID: chat}, MessageID: int(message)}
	PlaceOf(ctx).Yield(func() { _ = s.Telegram.DeleteMessage(ctx, &old) })
}

// Leave leaves a group. A failure is logged.
func (s *Sender) Leave(ctx context.Context, group int64) {
	_, err := attempt(ctx, true, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, RequestTime)
		defer cancel()
		return s.Telegram.LeaveChat(limited, &telego.LeaveChatParams{ChatID: telego.ChatID{ID: group}})
	})
	if err != nil {
		s.Log.Info("bot: group not left", "group", s.Pseudonym(group), "error", err)
	}
}

// Tell shows a sentence: as a note on the button that was pressed, or else as a message.
func (s *Sender) Tell(ctx context.Context, r *Request, sentence string) {
	if r.Click == "" {
		s.Post(ctx, r.Chat, View{Text: sentence})
		return
	}
	r.Note, r.Alert = sentence, true
}

// AnswerClick stops the spinner on the button and shows the note. Telegram accepts that for a few seconds only; an
// alert that comes too late becomes a message.
func (s *Sender) AnswerClick(ctx context.Context, r *Request) {
	if r.Click == "" {
		return
	}

	outcome, err := attempt(ctx, true, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, RequestTime)
		defer cancel()
		return s.Telegram.AnswerCallbackQuery(limited, &telego.AnswerCallbackQueryParams{
			CallbackQueryID: r.Click, Text: words.Shorten(r.Note, noteLength), ShowAlert: r.Alert,
		})
	})
	if outcome == Done {
		return
	}

	s.Log.Info("bot: button not answered", "user", s.Pseudonym(r.From.ID), "error", err)
	if r.Alert && outcome == Refused && r.Private {
		s.Post(ctx, r.Chat, View{Text: r.Note})
	}
}

// Hurry makes an entity's live messages due at once. They would be drawn soon anyway, so a failure is only logged.
func (s *Sender) Hurry(ctx context.Context, workload string, entity int64) {
	if err := s.LiveMessages.HurryLiveMessage(ctx, workload, entity); err != nil {
		s.Log.Warn("bot: live message update not requested", "workload", workload, "entity", entity, "error", err)
	}
}
