package chat

import "stagecoach/api/words"

// Button labels that several workloads use.
var (
	LabelFiles    = words.Text{"📁 Files", "📁 Файлы"}
	LabelBack     = words.Text{"⬅️ Back", "⬅️ Назад"}
	LabelCancel   = words.Text{"✖️ Cancel", "✖️ Отменить"}
	LabelCancelID = words.Text{"✖️ Cancel #%d", "✖️ Отменить №%d"}
	LabelRefresh  = words.Text{"🔄 Refresh", "🔄 Обновить"}
	LabelTryAgain = words.Text{"🔁 Try again", "🔁 Попробовать ещё раз"}

	labelNewest = words.Text{"« Newest", "« Последние"}
	labelOlder  = words.Text{"Older ›", "Раньше ›"}
)

// Texts that several workloads use.
var (
	TextStaleButton = words.Text{"This button is out of date. Send /files to get a new menu.", "Эта кнопка устарела. Отправьте /files, чтобы открыть новое меню."}
	TextOnlyWords   = words.Text{"I understand text and buttons only. /help lists what I can do.", "Я понимаю только текст и кнопки. Что я умею: /help"}
	TextResults     = words.Text{"🔎 <b>%s</b>", "🔎 <b>%s</b>"}
	TextQueued      = words.Text{"🕓 Waiting to start", "🕓 Ждёт начала"}
	TextCancelled   = words.Text{"🚫 Cancelled", "🚫 Отменено"}
	TextCancelling  = words.Text{"🚫 cancelling…", "🚫 отменяется…"}
)
