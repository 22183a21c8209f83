package downloads

import (
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
)

var texts = words.Catalog{
	"library":           {"Library", "Библиотека"},
	"search-books":      {"Part of a title or of a name", "Часть названия или имени"},
	"add-book":          {"Add a book", "Добавить книгу"},
	"no-books":          {"No books yet. Add the first one.", "Книг пока нет. Добавьте первую."},
	"no-such-book":      words.NoSuchBook,
	"no-book-here":      {"No book is in this state.", "В этом состоянии книг нет."},
	"book":              {"Book", "Книга"},
	"gone-book":         {"book %s", "книга %s"},
	"book-author":       {"Author", "Автор"},
	"book-added":        {"Added", "Добавлена"},
	"get-book":          {"Download it", "Загрузить"},
	"get-text":          {"Download the text", "Загрузить текст"},
	"get-audio":         {"Download the audiobook", "Загрузить аудиокнигу"},
	"search-releases":   {"Find a release by words of the title and the author", "Найти раздачу по словам названия и автора"},
	"find-text":         {"Find the text", "Найти текст"},
	"find-audio":        {"Find the audiobook", "Найти аудиокнигу"},
	"found-text":        {"Releases of the text", "Раздачи текста"},
	"found-audio":       {"Releases of the audiobook", "Раздачи аудиокниги"},
	"search-off":        words.SearchOff,
	"release-gone":      {"This release is no longer in the list. Search again.", "Этой раздачи больше нет в списке. Поищите ещё раз."},
	"indexer-failed":    words.IndexerFailed,
	"no-releases":       words.NoReleases,
	"file-size":         {"Size", "Размер"},
	"seeders":           {"Seeders", "Раздают"},
	"published":         {"Published", "Опубликована"},
	"indexer":           {"Indexer", "Индексатор"},
	"get-release":       {"Download this", "Загрузить эту"},
	"release-hint":      {"If the download stalls or fails, the next ones in the list are tried.", "Если загрузка встанет или не удастся, будут испробованы следующие из списка."},
	"link":              {"Magnet link, or the address of a .torrent file", "Magnet-ссылка или адрес торрент-файла"},
	"link-given":        {"Link", "Ссылка"},
	"sources":           {"Sources, in this order", "Источники по порядку"},
	"current-source":    {"this one now", "сейчас этот"},
	"failed-before":     {"failed before", "уже не удалось"},
	"workload-download": {"Downloads", "Загрузки"},
	"downloads":         {"Downloads", "Загрузки"},
	"no-downloads":      {"No downloads yet. Choose a book.", "Загрузок пока нет. Выберите книгу."},
	"no-such-status":    {"No download is in this state.", "В этом состоянии загрузок нет."},
	"to-books":          {"Choose a book", "Выбрать книгу"},
	"amount":            {"%d%% (%s of %s)", "%d%% (%s из %s)"},
	"speed":             words.DownloadSpeed,
	"no-speed":          words.NoSpeed,
	"time-left":         words.TimeLeft,
	"media":             {"Media", "Носители"},
	"book-change":       {"Correct or delete the book", "Исправить или удалить книгу"},
	"book-delete":       {"Delete the book", "Удалить книгу"},
	"book-delete-sure":  {"Yes, delete it. Its files stay in the library folder.", "Да, удалить. Файлы в папке библиотеки останутся."},
	"medium":            {"Text or audio", "Текст или аудио"},
	"file":              {"File", "Файл"},
	"loaded":            {"Downloaded", "Загружено"},
	"missing-until":     {"Fails unless found by", "Не удастся, если не найдётся до"},
	"completed-at":      {"Completed", "Завершена"},
	"asked-by":          {"Requested by user", "Заказал пользователь"},
	"import-again":      {"Put into the library again", "Поместить в библиотеку ещё раз"},
	"send":              {"Send to my chat", "Прислать в чат"},
	"send-text":         {"Send the text to my chat", "Прислать текст в чат"},
	"send-audio":        {"Send the audiobook to my chat", "Прислать аудиокнигу в чат"},
	"send-wish":         {"Send it to my chat once it is downloaded", "Прислать в чат, когда загрузится"},
	"sent-at":           {"Sent to the chat", "Отправлена в чат"},
	"download-again":    {"Download again", "Загрузить ещё раз"},
}

// indexerFailures say why an indexer gave no results.
var indexerFailures = map[string]words.Text{
	string(fault.SourceUnavailable): {"it does not answer now", "сейчас не отвечает"},
	string(fault.SourceRefused):     {"it refuses the search", "отказывает в поиске"},
}

// bookStates name the states of a book: whether anything of it can be read.
var bookStates = map[string]words.Text{
	download.BookLibrary: {"in the library", "в библиотеке"},
	download.BookArchive: {"not here yet", "ещё нет"},
}

// eventNames name the events of a download that do not change its status.
var eventNames = map[string]words.Text{
	lifecycle.DownloadWentMissing:   {"the download program no longer lists it", "пропала из программы загрузки"},
	lifecycle.DownloadFoundAgain:    {"found again", "нашлась"},
	lifecycle.DownloadStalled:       {"no progress for a long time", "долго стоит на месте"},
	lifecycle.DownloadStopped:       {"stopped in the download program", "остановлена в программе загрузки"},
	lifecycle.DownloadImportFailed:  {"not put into the library", "не удалось поместить в библиотеку"},
	lifecycle.DownloadImportRetried: {"put into the library again", "снова помещается в библиотеку"},
	lifecycle.DownloadRecovered:     {"there is progress again", "снова загружается"},
	lifecycle.DownloadNotSent:       {"not sent to the chat", "не отправлена в чат"},
	lifecycle.DownloadNextSource:    {"the next source is tried", "пробуется следующий источник"},
	lifecycle.DownloadEarlierSource: {"an earlier source is complete", "загружен один из прежних источников"},
}
