package chat

import (
	"fmt"
)

// Languages, as a user's row names them.
const (
	English = "en"
	Russian = "ru"
)

// Text is one text of the bot, in English and in Russian. Placeholders are those of fmt; their values in a message must
// be HTML.
type Text [2]string

// In returns the text in a language; in English when the language is another one.
func (t Text) In(language string, args ...any) string {
	pattern := t[0]
	if language == Russian {
		pattern = t[1]
	}
	return fmt.Sprintf(pattern, args...)
}

// Labels of buttons that several workloads have.
var (
	LabelFiles    = Text{"📁 Files", "📁 Файлы"}
	LabelBack     = Text{"⬅️ Back", "⬅️ Назад"}
	LabelCancel   = Text{"✖️ Cancel", "✖️ Отменить"}
	LabelCancelID = Text{"✖️ Cancel #%d", "✖️ Отменить №%d"}
	LabelRefresh  = Text{"🔄 Refresh", "🔄 Обновить"}
	LabelTryAgain = Text{"🔁 Try again", "🔁 Попробовать ещё раз"}

	labelNewest = Text{"« Newest", "« Последние"}
	labelOlder  = Text{"Older ›", "Раньше ›"}
)

// Texts that several workloads use.
var (
	TextBlocked     = Text{"You have no access.", "У вас нет доступа."}
	TextAdminsOnly  = Text{"Only administrators may do this.", "Это могут только администраторы."}
	TextStaleButton = Text{"This button is out of date. Send /files to get a new menu.", "Эта кнопка устарела. Отправьте /files, чтобы открыть новое меню."}
	TextOnlyWords   = Text{"I understand text and buttons only. /help lists what I can do.", "Я понимаю только текст и кнопки. Что я умею: /help"}
	TextResults     = Text{"🔎 <b>%s</b>", "🔎 <b>%s</b>"}
	TextQueued      = Text{"🕓 Waiting to start", "🕓 Ждёт начала"}
	TextCancelled   = Text{"🚫 Cancelled", "🚫 Отменено"}
	TextCancelling  = Text{"🚫 cancelling…", "🚫 отменяется…"}
	textAgo         = Text{"%s ago", "%s назад"}
	TextNotKnown    = Text{"not known", "неизвестно"}
)

// Times, from the longest unit to the shortest: two units of each language.
var (
	textDaysHours    = Text{"%d d %d h", "%d д %d ч"}
	textHoursMinutes = Text{"%d h %d min", "%d ч %d мин"}
	textMinutes      = Text{"%d min", "%d мин"}
	textSecondsOnly  = Text{"%d s", "%d с"}
)
