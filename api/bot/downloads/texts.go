package downloads

import (
	"stagecoach/api/words"
	"stagecoach/internal/store/download"
)

// Usage of commands.
var (
	textBookUsage    = words.Text{"A book has a title and, if you like, an author, of up to 500 characters each, for example: /book new Title / Author", "У книги есть название и, если хотите, автор, до 500 знаков каждый, например: /book new Название / Автор"}
	textDownloadsOff = words.Text{"Downloads are switched off here.", "Загрузки здесь отключены."}
	textBadLink      = words.Text{"This is not a link that I can use.", "Такая ссылка не подходит."}
	textFindUsage    = words.Text{"Write what to find, up to 200 characters, for example: /find On Wheels Cartwright", "Напишите, что найти, до 200 знаков, например: /find На колёсах Картрайт"}
	textStaleList    = words.Text{"This list is out of date. Search again: /find", "Этот список устарел. Поищите ещё раз: /find"}
	textStaleBook    = words.Text{"This button is out of date. Open the book again: /books", "Эта кнопка устарела. Откройте книгу ещё раз: /books"}
)

// Labels of buttons.
var (
	labelBooks      = words.Text{"📚 Books", "📚 Книги"}
	labelOpenBook   = words.Text{"📖 Open the book", "📖 Открыть книгу"}
	labelAddBook    = words.Text{"➕ Add “%s”", "➕ Добавить «%s»"}
	labelFindMedium = words.Text{"🔎 %s", "🔎 %s"}
	labelSend       = words.Text{"📤 Send it here", "📤 Прислать сюда"}
	labelSendMedium = words.Text{"📤 %s", "📤 %s"}
	labelGetMedium  = words.Text{"⬇️ %s", "⬇️ %s"}
)

// mediaWords are the words by which people name the media.
var mediaWords = map[string][]string{
	download.MediaText:  {"text", "ebook", "текст"},
	download.MediaAudio: {"audio", "audiobook", "аудио", "аудиокнига"},
}

// bookMarks distinguish books of the library from those of the archive.
var bookMarks = map[string]string{download.BookLibrary: "📗", download.BookArchive: "📖"}

// Books.
var (
	textBooks      = words.Text{"📚 <b>Books</b>", "📚 <b>Книги</b>"}
	textChooseBook = words.Text{"Choose a book, or write a part of its title or of the author's name.", "Выберите книгу или напишите часть названия или имени автора."}
	textNoBooks    = words.Text{"No books yet. Add the first one: /book new Title / Author", "Книг пока нет. Добавьте первую: /book new Название / Автор"}
	textNoBook     = words.Text{"There is no book %d.", "Книги %d нет."}
	textNotThere   = words.Text{"It is not in the library yet. Add it, or write a part of its title or “Title / Author”.", "В библиотеке её пока нет. Добавьте её или напишите часть названия либо «Название / Автор»."}
	textBookMade   = words.Text{"✅ The book is added.", "✅ Книга добавлена."}
	textBookNumber = words.Text{"Book %d", "Книга %d"}
	textGoneBook   = words.Text{"book %d", "книга %d"}
	textAskLink    = words.Text{"Send me a magnet link, or the address of a .torrent file.", "Пришлите magnet-ссылку или адрес торрент-файла."}
	textWhichLink  = words.Text{"🔗 <b>Which book is your link for?</b>", "🔗 <b>Для какой книги ваша ссылка?</b>"}
	textAskMedium  = words.Text{"What does your link contain?", "Что по вашей ссылке?"}
)

// Releases.
var (
	textChooseRelease = words.Text{"Choose one, or write other words. If it fails or stalls, the next ones are tried.", "Выберите одну или напишите другие слова. Если она не загрузится, будут испробованы следующие."}
	textWhichRelease  = words.Text{"📥 Which book is <b>%s</b> for?", "📥 Для какой книги <b>%s</b>?"}
	textSeeders       = words.Text{"↑ %d", "↑ %d"}
	textReleaseAge    = words.Text{"%d d", "%d дн."}
)

// States of downloads.
var (
	textHeading  = words.Text{"<b>Downloads</b>", "<b>Загрузки</b>"}
	textAnswers  = words.Text{"qBittorrent answers", "qBittorrent отвечает"}
	textNoAnswer = words.Text{"⚠️ qBittorrent does not answer, last answer: %s", "⚠️ qBittorrent не отвечает, последний ответ: %s"}
)

// Downloads.
var (
	textDownloads           = words.Text{"<b>Your downloads</b>", "<b>Ваши загрузки</b>"}
	textNoDownloads         = words.Text{"No downloads yet: /books", "Загрузок пока нет: /books"}
	textDownloadTitle       = words.Text{"📥 #%d <b>%s</b> (%s)", "📥 №%d <b>%s</b> (%s)"}
	textDownloadOf          = words.Text{"📥 #%d (%s)", "📥 №%d (%s)"}
	textDownloadAsked       = words.Text{"Download #%d has started.", "Загрузка №%d началась."}
	textDownloadAskedBefore = words.Text{"This is download #%d, which you have already requested.", "Это загрузка №%d, она уже заказана."}
	textDownloadBegun       = words.Text{"⏳ It has started", "⏳ Началась"}
	textDownloadAmount      = words.Text{"⬇️ %d%% (%s of %s)", "⬇️ %d%% (%s из %s)"}
	textDownloaded          = words.Text{"✅ In the library, %s", "✅ В библиотеке, %s"}
	textKeptApart           = words.Text{"✅ Downloaded, %s", "✅ Загружено, %s"}
	textDownloadFailed      = words.Text{"❌ Not downloaded", "❌ Не загружено"}
	textWillBeSent          = words.Text{"📤 It will be sent here once it is downloaded", "📤 Придёт сюда, когда загрузится"}
	textSending             = words.Text{"Files on their way to you: %d", "Файлов на пути к вам: %d"}
	textCancelling          = words.Text{"Download #%d is being cancelled.", "Загрузка №%d отменяется."}
	textCancelled           = words.Text{"Download #%d is cancelled.", "Загрузка №%d отменена."}
	textImporting           = words.Text{"The files of download #%d are being put into the library again.", "Файлы загрузки №%d снова помещаются в библиотеку."}
	textCancelWaits         = words.Text{"Download #%d will be cancelled. The download program is unavailable, and the service keeps trying.", "Загрузка №%d будет отменена. Программа загрузки недоступна, попытки продолжаются."}
)

// Notifications about a download that has ended, or that makes no progress.
var (
	textNoticeDownloaded = words.Text{"✅ <b>%s</b> (%s) is in the library.", "✅ <b>%s</b> (%s) — в библиотеке."}
	textNoticeKeptApart  = words.Text{"✅ <b>%s</b> (%s) is downloaded.", "✅ <b>%s</b> (%s) — загружено."}
	textNoticeFailed     = words.Text{"❌ <b>%s</b> (%s) was not downloaded.", "❌ <b>%s</b> (%s) — не удалось загрузить."}
	textNoticeCanceled   = words.Text{"🚫 The download of <b>%s</b> (%s) was cancelled.", "🚫 Загрузка <b>%s</b> (%s) отменена."}
	textNoticeNotSent    = words.Text{"⚠️ <b>%s</b> (%s) is downloaded, but was not sent.", "⚠️ <b>%s</b> (%s) — загружено, но прислать не удалось."}
	textNoticeNotPut     = words.Text{"⚠️ <b>%s</b> (%s) is downloaded, but not in the library.", "⚠️ <b>%s</b> (%s) — загружено, но не в библиотеке."}
	textNoticeStalled    = words.Text{"⚠️ The download of <b>%s</b> (%s) makes no progress.", "⚠️ Загрузка <b>%s</b> (%s) стоит на месте."}
	textByAdmin          = words.Text{"An administrator cancelled it.", "Отменено администратором."}
)
