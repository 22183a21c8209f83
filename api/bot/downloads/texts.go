package downloads

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// How commands are used.
var (
	textBookUsage    = chat.Text{"A book has a title and, if you like, an author, of up to 500 characters each, for example: /book new Title / Author", "У книги есть название и, если хотите, автор, до 500 знаков каждый, например: /book new Название / Автор"}
	textDownloadsOff = chat.Text{"Downloads are switched off here.", "Загрузки здесь отключены."}
	textBadLink      = chat.Text{"This is not a link that I can use.", "Такая ссылка не подходит."}
	textStaleBook    = chat.Text{"This button is out of date. Open the book again: /books", "Эта кнопка устарела. Откройте книгу ещё раз: /books"}
)

// Labels of buttons.
var (
	labelBooks     = chat.Text{"📚 Books", "📚 Книги"}
	labelOpenBook  = chat.Text{"📖 Open the book", "📖 Открыть книгу"}
	labelAddBook   = chat.Text{"➕ Add “%s”", "➕ Добавить «%s»"}
	labelGetMedium = chat.Text{"⬇️ %s", "⬇️ %s"}
)

// mediaNames name the media.
var mediaNames = map[string]chat.Text{
	download.MediaText:  {"text", "текст"},
	download.MediaAudio: {"audio", "аудио"},
}

// mediaWords are the words by which people name the media.
var mediaWords = map[string][]string{
	download.MediaText:  {"text", "ebook", "текст"},
	download.MediaAudio: {"audio", "audiobook", "аудио", "аудиокнига"},
}

// mediaStates name the state of a medium.
var mediaStates = map[string]chat.Text{
	download.MediaAvailable: {"✅ in the library", "✅ в библиотеке"},
	download.MediaDeleted:   {"deleted", "удалено"},
	download.MediaMissing:   {"missing", "пропало"},
}

// bookMarks distinguish the books of the library from those of the archive.
var bookMarks = map[string]string{download.BookLibrary: "📗", download.BookArchive: "📖"}

// Books.
var (
	textBooks      = chat.Text{"📚 <b>Books</b>", "📚 <b>Книги</b>"}
	textChooseBook = chat.Text{"Choose a book, or write a part of its title or of the author's name.", "Выберите книгу или напишите часть названия или имени автора."}
	textNoBooks    = chat.Text{"No books yet. Add the first one: /book new Title / Author", "Книг пока нет. Добавьте первую: /book new Название / Автор"}
	textNoSuchBook = chat.Text{"No such book. Write other words, or add it.", "Такой книги нет. Напишите другие слова или добавьте её."}
	textBookMade   = chat.Text{"✅ The book is added.", "✅ Книга добавлена."}
	textBookNumber = chat.Text{"Book %d", "Книга %d"}
	textNoMedium   = chat.Text{"none yet", "пока нет"}
	textGoneBook   = chat.Text{"book %d", "книга %d"}
	textAskMedium  = chat.Text{"What does your link contain?", "Что по вашей ссылке?"}
	textAskLink    = chat.Text{"Send me a magnet link, or the address of a .torrent file.", "Пришлите magnet-ссылку или адрес торрент-файла."}
)

// The state of downloads.
var (
	textHeading  = chat.Text{"<b>Downloads</b>", "<b>Загрузки</b>"}
	textAnswers  = chat.Text{"qBittorrent answers", "qBittorrent отвечает"}
	textNoAnswer = chat.Text{"⚠️ qBittorrent does not answer, last time: %s", "⚠️ qBittorrent не отвечает, последний ответ: %s"}
)

// Downloads.
var (
	textDownloads           = chat.Text{"<b>Your downloads</b>", "<b>Ваши загрузки</b>"}
	textNoDownloads         = chat.Text{"No downloads yet: /books", "Загрузок пока нет: /books"}
	textDownloadTitle       = chat.Text{"📥 #%d <b>%s</b> (%s)", "📥 №%d <b>%s</b> (%s)"}
	textDownloadOf          = chat.Text{"📥 #%d (%s)", "📥 №%d (%s)"}
	textDownloadAsked       = chat.Text{"Download #%d has started.", "Загрузка №%d началась."}
	textDownloadAskedBefore = chat.Text{"This is download #%d, which you have already asked for.", "Это загрузка №%d, она уже заказана."}
	textOtherLink           = chat.Text{"Download #%d is in progress from another link. Cancel it to use this one.", "Загрузка №%d уже идёт, по другой ссылке. Отмените её, чтобы взять эту."}
	textWaitsForPeers       = chat.Text{"🔎 Looking for somebody who shares it", "🔎 Ищу, кто раздаёт"}
	textDownloadBegun       = chat.Text{"⏳ It has started", "⏳ Началась"}
	textDownloadAmount      = chat.Text{"⬇️ %d%% (%s of %s)", "⬇️ %d%% (%s из %s)"}
	textSpeed               = chat.Text{"%s a second", "%s в секунду"}
	textNoSpeed             = chat.Text{"No data at the moment", "Сейчас данные не поступают"}
	textTimeLeft            = chat.Text{"%s left", "осталось %s"}
	textTorrentMissing      = chat.Text{"❓ The download program does not list it now. I wait a while for it to come back.", "❓ Сейчас её нет в программе загрузки. Немного подожду, не вернётся ли."}
	textDownloaded          = chat.Text{"✅ In the library, %s", "✅ В библиотеке, %s"}
	textDownloadFailed      = chat.Text{"❌ Not downloaded", "❌ Не загружено"}
	textCancelling          = chat.Text{"Download #%d is being cancelled.", "Загрузка №%d отменяется."}
	textCancelled           = chat.Text{"Download #%d is cancelled.", "Загрузка №%d отменена."}
	textCancelWaits         = chat.Text{"Download #%d will be cancelled. The download program is unavailable, and the service keeps trying.", "Загрузка №%d будет отменена. Программа загрузки недоступна, попытки продолжаются."}
)

// Notices of the end of a download, or of one that makes no progress.
var (
	textNoticeDownloaded = chat.Text{"✅ <b>%s</b> (%s) is in the library.", "✅ <b>%s</b> (%s) — в библиотеке."}
	textNoticeFailed     = chat.Text{"❌ <b>%s</b> (%s) was not downloaded.", "❌ <b>%s</b> (%s) — не удалось загрузить."}
	textNoticeCanceled   = chat.Text{"🚫 The download of <b>%s</b> (%s) was cancelled.", "🚫 Загрузка <b>%s</b> (%s) отменена."}
	textNoticeStalled    = chat.Text{"⚠️ The download of <b>%s</b> (%s) makes no progress.", "⚠️ Загрузка <b>%s</b> (%s) стоит на месте."}
	textByAdmin          = chat.Text{"An administrator cancelled it.", "Отменено администратором."}
)

// faults are the plain words for the faults of downloads.
var faults = chat.Faults{
	fault.DownloadNotFound:     {"No such download. /downloads lists yours.", "Такой загрузки нет. Ваши загрузки: /downloads"},
	fault.BookNotFound:         {"No such book.", "Такой книги нет."},
	fault.NoFreeSpace:          {"There is too little free disk space. The download waits until there is more.", "Мало свободного места на диске. Загрузка ждёт, пока его станет больше."},
	fault.SourceUnavailable:    {"The site of the torrent file does not answer now.", "Сайт с торрент-файлом сейчас не отвечает."},
	fault.SourceRefused:        {"The site refuses to send this torrent file. Check the link.", "Сайт не отдаёт этот торрент-файл. Проверьте ссылку."},
	fault.SourceForbidden:      {"This link leads to an address that is not on the Internet.", "Ссылка ведёт на адрес не из интернета."},
	fault.SourceTooBig:         {"The file behind the link is too big for a torrent file.", "Файл по ссылке слишком большой для торрент-файла."},
	fault.SourceNotTorrent:     {"The file behind the link is not a torrent file.", "Файл по ссылке — не торрент-файл."},
	fault.ProviderUnavailable:  {"The download program is unavailable. The service keeps trying.", "Программа загрузки недоступна. Попытки продолжаются."},
	fault.ProviderUnauthorized: {"The download program refuses the service's login.", "Программа загрузки не принимает вход сервиса."},
	fault.ProviderRejected:     {"The download program refused it.", "Программа загрузки отказалась это принять."},
	fault.MissingExternalJob:   {"The download program no longer has it.", "Её больше нет в программе загрузки."},
	fault.ProviderError:        {"The download program reported an error.", "Программа загрузки сообщила об ошибке."},
	fault.EnqueueFailed:        {"It could not be started.", "Её не удалось начать."},
	fault.EnqueueUnavailable:   {"The download program was unavailable for too long. Try again later.", "Программа загрузки слишком долго была недоступна. Попробуйте позже."},
	fault.BookGone:             {"The book has been removed.", "Книгу удалили."},
	fault.Stalled:              {"There has been no progress for a long time. Perhaps nobody shares it any more.", "Уже долго ничего не загружается. Возможно, раздающих больше нет."},
}

// quotas name the limit that is reached; each takes the limit.
var quotas = map[string]chat.Text{
	"downloads": {
		"You have %d downloads in progress, which is the limit. Wait for one to end, or cancel one: /downloads",
		"У вас %d загрузок в работе, это предел. Дождитесь окончания или отмените одну: /downloads",
	},
	"books": {
		"You have added %d books, which is the limit. Ask an administrator to add more.",
		"Вы добавили %d книг, это предел. Попросите администратора добавить ещё.",
	},
}

// alerts name the incidents that administrators are notified of, and alertsOver their ends.
var (
	alerts = map[string]chat.Text{
		notice.AlertDownloadsAway:  {"qBittorrent has not answered for some minutes. Downloads in progress stay as they are, new ones wait.", "qBittorrent не отвечает уже несколько минут. Начатые загрузки остаются как есть, новые ждут."},
		notice.AlertDownloadsLogin: {"qBittorrent refuses our name and password. Downloads wait until the setting is corrected and the worker is restarted.", "qBittorrent не принимает наши имя и пароль. Загрузки ждут, пока настройку не исправят и не перезапустят worker."},
		notice.AlertDownloadsSpace: {"There is too little free space on qBittorrent's disk. New downloads wait until there is more.", "На диске qBittorrent мало места. Новые загрузки ждут, пока его станет больше."},
		notice.AlertMediaMissing:   {"The files of too many books disappeared at once, so none was marked as missing. Check the library's disk, or mark the files by hand.", "Пропали файлы сразу слишком многих книг, поэтому ни один не отмечен. Проверьте диск библиотеки или отметьте файлы вручную."},
	}

	alertsOver = map[string]chat.Text{
		notice.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
		notice.AlertDownloadsLogin: {"qBittorrent accepts our name and password again.", "qBittorrent снова принимает наши имя и пароль."},
		notice.AlertDownloadsSpace: {"There is enough free space on qBittorrent's disk again.", "На диске qBittorrent снова достаточно места."},
		notice.AlertMediaMissing:   {"The files of the books are checked again.", "Файлы книг снова проверяются."},
	}
)
