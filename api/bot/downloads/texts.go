package downloads

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/download"
)

// What the commands about books and downloads are for, and how they are used.
var (
	aboutDownload  = chat.Text{"download a book: /download 7 magnet:… — add “audio” for an audiobook", "скачать книгу: /download 7 magnet:… — добавьте «аудио» для аудиокниги"}
	aboutDownloads = chat.Text{"your downloads", "ваши загрузки"}
	aboutBooks     = chat.Text{"the library; with words: search it", "библиотека; со словами — поиск в ней"}
	aboutBook      = chat.Text{"a book: /book 7; a new one: /book new Title / Author", "книга: /book 7; новая: /book new Название / Автор"}

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

// mediaWords are what people call the media.
var mediaWords = map[string][]string{
	download.MediaText:  {"text", "ebook", "текст"},
	download.MediaAudio: {"audio", "audiobook", "аудио", "аудиокнига"},
}

// mediaStates say what became of a medium.
var mediaStates = map[string]chat.Text{
	download.MediaAvailable: {"✅ in the library", "✅ в библиотеке"},
	download.MediaDeleted:   {"deleted", "удалено"},
	download.MediaMissing:   {"missing", "пропало"},
}

// bookMarks show where a book stands.
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
