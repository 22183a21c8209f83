package bot

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/telegram"
)

const (
	requestTime = 10 * time.Second // for one request to Telegram
	tokenWait   = 30 * time.Second // an operator must look at the token
	shortWait   = 5 * time.Second  // a person waits this long for an answer, not longer
	answerTries = 3
	noteLength  = 190 // Telegram takes 200 UTF-16 units
)

// view is a message as it is drawn: HTML, and rows of buttons.
type view struct {
	text string
	rows [][]telego.InlineKeyboardButton
	ask  string // what the menu asks the person for with this view, as the conversation remembers it
}

// rows puts buttons under each other, leaving out empty rows.
func rows(all ...[]telego.InlineKeyboardButton) [][]telego.InlineKeyboardButton {
	var kept [][]telego.InlineKeyboardButton
	for _, row := range all {
		if len(row) > 0 {
			kept = append(kept, row)
		}
	}
	return kept
}

// press makes a row of one button whose data is the prefix and the arguments.
func press(label, prefix string, args ...any) []telego.InlineKeyboardButton {
	data := prefix
	for _, arg := range args {
		data += fmt.Sprintf(":%v", arg)
	}
	return []telego.InlineKeyboardButton{{Text: label, CallbackData: data}}
}

// send makes one request to send a message.
func (b *Bot) send(ctx context.Context, chat int64, v view) (message int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()

	params := &telego.SendMessageParams{
		ChatID: telego.ChatID{ID: chat}, Text: v.text, ParseMode: telego.ModeHTML,
		LinkPreviewOptions: &telego.LinkPreviewOptions{IsDisabled: true},
	}

	if len(v.rows) > 0 {
		params.ReplyMarkup = &telego.InlineKeyboardMarkup{InlineKeyboard: v.rows}
	}

	sent, err := b.telegram.SendMessage(ctx, params)
	if err != nil {
		return 0, err
	}
	return int64(sent.MessageID), nil
}

// edit makes one request to change a message.
func (b *Bot) edit(ctx context.Context, chat, message int64, v view) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()

	params := &telego.EditMessageTextParams{
		ChatID: telego.ChatID{ID: chat}, MessageID: int(message), Text: v.text, ParseMode: telego.ModeHTML,
		LinkPreviewOptions: &telego.LinkPreviewOptions{IsDisabled: true},
	}

	if len(v.rows) > 0 {
		params.ReplyMarkup = &telego.InlineKeyboardMarkup{InlineKeyboard: v.rows}
	}

	_, err := b.telegram.EditMessageText(ctx, params)
	return err
}

// fate is what became of a request to Telegram.
type fate int

const (
	done    fate = iota
	later        // not done; it may be repeated after a pause
	unknown      // no answer came: it may have been done
	gone         // the message or the person cannot be reached any more
	refused      // it will never be done
)

// fateOf reads the outcome of a request, and how long to wait when it may be repeated.
func fateOf(err error) (fate, time.Duration) {
	if err == nil || says(err, "message is not modified") {
		return done, 0
	}

	switch problem := telegram.Classify(err); {
	case says(err, "message to edit not found", "message can't be edited", "MESSAGE_ID_INVALID"):
		return gone, 0
	case problem.Code == fault.TelegramForbidden:
		return gone, 0
	case problem.Code == fault.TelegramRateLimited:
		return later, max(problem.RetryAfter, time.Second)
	case problem.Code == fault.TelegramUnauthorized:
		return later, tokenWait
	case telegram.Unanswered(err):
		return unknown, time.Second
	case problem.Retryable:
		return later, time.Second
	default:
		return refused, 0
	}
}

func says(err error, phrases ...string) bool {
	for _, phrase := range phrases {
		if strings.Contains(err.Error(), phrase) {
			return true
		}
	}
	return false
}

// answer makes a request that a person waits for, with few and short repetitions. harmless says that doing it twice
// is the same as doing it once.
func (b *Bot) answer(ctx context.Context, harmless bool, do func() error) (fate, error) {
	for try := 1; ; try++ {
		err := do()
		outcome, wait := fateOf(err)
		again := outcome == later || outcome == unknown && harmless
		if !again || wait > shortWait || try == answerTries || !sleep(ctx, wait) {
			return outcome, err
		}
	}
}

// post sends a message; 0 when that failed, which is logged: nothing more can be done about it.
func (b *Bot) post(ctx context.Context, chat int64, v view) (message int64) {
	_, err := b.answer(ctx, false, func() (err error) {
		message, err = b.send(ctx, chat, v)
		return err
	})
	if err != nil {
		b.log.Warn("bot: message not sent", "user", who(chat), "error", err)
	}
	return message
}

// show draws the menu: on the message the request came from, else as a new message that takes the old menu's place.
// What the menu asked for before it asks for no more.
func (b *Bot) show(ctx context.Context, r *request, v view) {
	r.conv.Ask = v.ask
	if r.message != 0 {
		outcome, err := b.answer(ctx, true, func() error { return b.edit(ctx, r.chat, r.message, v) })
		if outcome != gone {
			if outcome != done {
				b.log.Warn("bot: menu not drawn", "user", who(r.chat), "error", err)
			}
			r.conv.MessageID = r.message
			return
		}
	}

	message := b.post(ctx, r.chat, v)
	if message == 0 {
		return
	}

	if old := r.conv.MessageID; old != 0 {
		// Best effort: Telegram deletes only messages of the last two days.
		_ = b.telegram.DeleteMessage(ctx, &telego.DeleteMessageParams{ChatID: telego.ChatID{ID: r.chat}, MessageID: int(old)})
	}

	r.conv.MessageID, r.message = message, message
}

// tell says a sentence: over the button that was pressed, else as a message.
func (b *Bot) tell(ctx context.Context, r *request, sentence string) {
	if r.click == "" {
		b.post(ctx, r.chat, view{text: sentence})
		return
	}
	r.note, r.alert = sentence, true
}

// answerClick ends the waiting sign on the button and shows the note. Telegram takes that for some seconds only; a
// note that matters and came too late becomes a message.
func (b *Bot) answerClick(ctx context.Context, r *request) {
	if r.click == "" {
		return
	}

	outcome, err := b.answer(ctx, true, func() error {
		limited, cancel := context.WithTimeout(ctx, requestTime)
		defer cancel()
		return b.telegram.AnswerCallbackQuery(limited, &telego.AnswerCallbackQueryParams{
			CallbackQueryID: r.click, Text: shorten(r.note, noteLength), ShowAlert: r.alert,
		})
	})
	if outcome == done {
		return
	}

	b.log.Info("bot: button not answered", "user", who(r.from.ID), "error", err)
	if r.alert && outcome == refused && r.private {
		b.post(ctx, r.chat, view{text: r.note})
	}
}

// tellAdmins sends each administrator who uses Telegram a message in their language, and says whether one got it.
func (b *Bot) tellAdmins(ctx context.Context, draw func(admin store.User) view) (told bool) {
	var admins []store.User
	err := store.RetryWhileUnavailable(ctx, func() (err error) {
		admins, err = b.store.Admins(ctx)
		return err
	})
	if err != nil {
		b.log.Error("bot: administrators not told", "error", err)
	}

	for _, admin := range admins {
		if admin.TelegramID != nil && b.post(ctx, *admin.TelegramID, draw(admin)) != 0 {
			told = true
		}
	}
	return told
}
