package bot

import "stagecoach/internal/store"

// What the commands about books and downloads are for, and how they are used.
var (
	aboutDownload  = text{"download a book: /download 7 magnet:… — add “audio” for an audiobook", "скачать книгу: /download 7 magnet:… — добавьте «аудио» для аудиокниги"}
	aboutDownloads = text{"your downloads", "ваши загрузки"}
	aboutBooks     = text{"the library; with words: search it", "библиотека; со словами — поиск в ней"}
	aboutBook      = text{"a book: /book 7; a new one: /book new Title / Author", "книга: /book 7; новая: /book new Название / Автор"}

	textBookUsage    = text{"A book has a title, and perhaps an author, of up to 500 characters, like this: /book new Title / Author", "У книги есть название и, может быть, автор, до 500 знаков, например: /book new Название / Автор"}
	textDownloadsOff = text{"Downloads are switched off here.", "Загрузки здесь отключены."}
	textBadLink      = text{"This is not a link that I can use.", "Такая ссылка не подходит."}
	textStaleBook    = text{"This button is out of date. Open the book again: /books", "Эта кнопка устарела. Откройте книгу ещё раз: /books"}
)

// Labels of buttons.
var (
	labelBooks     = text{"📚 Books", "📚 Книги"}
	labelOpenBook  = text{"📖 Open the book", "📖 Открыть книгу"}
	labelAddBook   = text{"➕ Add “%s”", "➕ Добавить «%s»"}
	labelGetMedium = text{"⬇️ %s", "⬇️ %s"}
	labelTryAgain  = text{"🔁 Try again", "🔁 Попробовать ещё раз"}
)

// mediaNames name the media.
var mediaNames = map[string]text{
	store.MediaText:  {"text", "текст"},
	store.MediaAudio: {"audio", "аудио"},
}

// mediaWords are what people call the media.
var mediaWords = map[string][]string{
	store.MediaText:  {"text", "ebook", "текст"},
	store.MediaAudio: {"audio", "audiobook", "аудио", "аудиокнига"},
}

// mediaStates say what became of a medium.
var mediaStates = map[string]text{
	store.MediaAvailable: {"✅ in the library", "✅ в библиотеке"},
	store.MediaDeleted:   {"deleted", "удалено"},
	store.MediaMissing:   {"missing", "пропало"},
}

// bookMarks show where a book stands.
var bookMarks = map[string]string{store.BookLibrary: "📗", store.BookArchive: "📖"}

// Books.
var (
	textBooks      = text{"📚 <b>Books</b>", "📚 <b>Книги</b>"}
	textChooseBook = text{"Choose a book, or write a part of its title or of the author's name.", "Выберите книгу или напишите часть названия или имени автора."}
	textNoBooks    = text{"There are none yet. Make the first one: /book new Title / Author", "Пока ни одной. Добавьте первую: /book new Название / Автор"}
	textNoSuchBook = text{"There is no such book. Write other words, or add it.", "Такой книги нет. Напишите другие слова или добавьте её."}
	textBookMade   = text{"✅ The book is added.", "✅ Книга добавлена."}
	textBookNumber = text{"Book %d", "Книга %d"}
	textNoMedium   = text{"none yet", "пока нет"}
	textGoneBook   = text{"book %d", "книга %d"}
	textAskMedium  = text{"What does your link bring?", "Что по вашей ссылке?"}
	textAskLink    = text{"Send me a magnet link, or the address of a .torrent file.", "Пришлите magnet-ссылку или адрес торрент-файла."}
)

// Downloads.
var (
	textDownloads           = text{"<b>Your downloads</b>", "<b>Ваши загрузки</b>"}
	textNoDownloads         = text{"There are none yet: /books", "Пока ни одной: /books"}
	textDownloadTitle       = text{"📥 #%d <b>%s</b> (%s)", "📥 №%d <b>%s</b> (%s)"}
	textDownloadOf          = text{"📥 #%d (%s)", "📥 №%d (%s)"}
	textDownloadAsked       = text{"Download #%d has begun.", "Загрузка №%d началась."}
	textDownloadAskedBefore = text{"This is download #%d, asked for already.", "Это загрузка №%d, она уже заказана."}
	textDownloadOther       = text{"Download #%d is under way, from another link. Cancel it to take this one.", "Загрузка №%d уже идёт, по другой ссылке. Отмените её, чтобы взять эту."}
	textWaitsForPeers       = text{"🔎 Looking for somebody who shares it", "🔎 Ищу, кто раздаёт"}
	textDownloadBegun       = text{"⏳ It has begun", "⏳ Началась"}
	textDownloadAmount      = text{"⬇️ %d%% (%s of %s)", "⬇️ %d%% (%s из %s)"}
	textSpeed               = text{"%s a second", "%s в секунду"}
	textNoSpeed             = text{"Nothing comes at the moment", "Сейчас ничего не приходит"}
	textTimeLeft            = text{"%s left", "осталось %s"}
	textTorrentMissing      = text{"❓ The download program does not have it now. I wait a while for it to come back.", "❓ Сейчас её нет в программе загрузки. Немного подожду, не вернётся ли."}
	textDownloaded          = text{"✅ In the library, %s", "✅ В библиотеке, %s"}
	textDownloadFailed      = text{"❌ Not downloaded", "❌ Не загружено"}
	textDownloadCanceled    = text{"🚫 Cancelled", "🚫 Отменено"}
	textDownloadStopping    = text{"Download #%d is being stopped.", "Загрузка №%d останавливается."}
	textDownloadStopped     = text{"Download #%d is cancelled.", "Загрузка №%d отменена."}
	textStopWaits           = text{"Download #%d is to be stopped. The download program cannot be reached now: this is tried until it succeeds.", "Загрузка №%d будет остановлена. Программа загрузки сейчас недоступна, попытки продолжаются."}
)

// What people are told of the end of a download, or of its standstill.
var (
	textNewsDownloaded = text{"✅ <b>%s</b> (%s) is in the library.", "✅ <b>%s</b> (%s) — в библиотеке."}
	textNewsFailed     = text{"❌ <b>%s</b> (%s) was not downloaded.", "❌ <b>%s</b> (%s) — не удалось загрузить."}
	textNewsCanceled   = text{"🚫 The download of <b>%s</b> (%s) was cancelled.", "🚫 Загрузка <b>%s</b> (%s) отменена."}
	textNewsStalled    = text{"⚠️ The download of <b>%s</b> (%s) stands still.", "⚠️ Загрузка <b>%s</b> (%s) стоит на месте."}
	textByAdmin        = text{"An administrator stopped it.", "Остановлено администратором."}
)

// Times, from the longest unit to the shortest: two units of each language.
var (
	textDaysHours    = text{"%d d %d h", "%d д %d ч"}
	textHoursMinutes = text{"%d h %d min", "%d ч %d мин"}
	textMinutes      = text{"%d min", "%d мин"}
	textSecondsOnly  = text{"%d s", "%d с"}
)
