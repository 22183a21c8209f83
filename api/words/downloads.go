package words

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/download"
	"stagecoach/internal/store/notice"
)

// Downloads are the texts about downloads and books.
var Downloads = Texts{
	Faults: downloadFaults, Quotas: downloadQuotas, Alerts: downloadAlerts, AlertsOver: downloadAlertsOver,
}

// MediaNames name the media.
var MediaNames = map[string]Text{
	download.MediaText:  {"text", "текст"},
	download.MediaAudio: {"audio", "аудио"},
}

// MediaStates name the states of a medium.
var MediaStates = map[string]Text{
	download.MediaAvailable: {"✅ in the library", "✅ в библиотеке"},
	download.MediaDeleted:   {"deleted", "удалено"},
	download.MediaMissing:   {"missing", "пропало"},
}

// DownloadStates name the statuses of a download.
var DownloadStates = map[lifecycle.DownloadState]Text{
	lifecycle.DownloadQueued:      {"🕓 in the queue", "🕓 в очереди"},
	lifecycle.DownloadDownloading: {"⬇️ downloading", "⬇️ загружается"},
	lifecycle.DownloadCompleted:   {"✅ in the library", "✅ в библиотеке"},
	lifecycle.DownloadFailed:      {"❌ not downloaded", "❌ не загружено"},
	lifecycle.DownloadCanceled:    {"🚫 cancelled", "🚫 отменено"},
}

// About books and downloads.
var (
	NoMedium   = Text{"none yet", "пока нет"}
	NoSuchBook = Text{
		"No such book. Try other words, or add it.", "Такой книги нет. Напишите другие слова или добавьте её.",
	}
	OtherLink = Text{
		"Download #%d is in progress from another link. Cancel it to use this one.",
		"Загрузка №%d уже идёт, по другой ссылке. Отмените её, чтобы взять эту.",
	}
	SearchOff     = Text{"Search is not set up here: there are no indexers.", "Поиск здесь не настроен: нет индексаторов."}
	IndexerFailed = Text{"%s gave no results", "%s ничего не нашёл"}
	NoReleases    = Text{"Nothing was found. Try other words.", "Ничего не нашлось. Попробуйте другие слова."}

	FailedBefore = Text{"⚠️ failed before", "⚠️ уже не удалось"}
	SourceOf     = Text{"🧭 Source %d of %d", "🧭 Источник %d из %d"}

	OtherCopy = Text{
		"📎 The book has another copy. This one stays with the download.",
		"📎 У книги другая копия. Эта остаётся при загрузке.",
	}

	InCategory = Text{"It is in the category “%s” there.", "Там он в категории «%s»."}

	LeftOut = Text{
		"⚠️ The torrent has more files of this kind, which were skipped: %d.",
		"⚠️ В торренте есть и другие такие файлы, они пропущены: %d.",
	}

	WaitsForMetadata = Text{"🔎 Looking for seeders", "🔎 Ищу раздающих"}
	DownloadSpeed    = Text{"%s per second", "%s в секунду"}
	NoSpeed          = Text{"No data at the moment", "Сейчас данные не поступают"}
	TimeLeft         = Text{"%s left", "осталось %s"}
	TorrentMissing   = Text{
		"❓ The download program does not list it now. Waiting a while for it to reappear.",
		"❓ Сейчас её нет в программе загрузки. Немного подожду: она может появиться снова.",
	}
)

// downloadFaults explain the faults of downloads in plain words.
var downloadFaults = Faults{
	fault.DownloadNotFound:     {"No such download. /downloads lists yours.", "Такой загрузки нет. Ваши загрузки: /downloads"},
	fault.BookNotFound:         {"No such book.", "Такой книги нет."},
	fault.MediaNotReady:        {"The library has no files for it.", "В библиотеке нет его файлов."},
	fault.TooManyFiles:         {"It has too many files to send them all at once.", "В нём слишком много файлов, чтобы прислать все сразу."},
	fault.NoFreeSpace:          {"There is too little free disk space. The download waits until there is more.", "Мало свободного места на диске. Загрузка ждёт, пока его станет больше."},
	fault.SourceUnavailable:    {"The site of the torrent file does not answer now.", "Сайт с торрент-файлом сейчас не отвечает."},
	fault.SourceRefused:        {"The site refuses to send this torrent file. Check the link.", "Сайт не отдаёт этот торрент-файл. Проверьте ссылку."},
	fault.SourceForbidden:      {"This link leads to an address that is not on the Internet.", "Ссылка ведёт на адрес не из интернета."},
	fault.SourceNotTorrent:     {"The file behind the link is not a torrent file, or is too big for one.", "Файл по ссылке — не торрент-файл или слишком велик для него."},
	fault.TorrentElsewhere:     {"The download program already has this torrent for something else. Remove it there or move it to the category stagecoach, then download it again.", "Этот торрент уже есть в программе загрузки, для чего-то другого. Удалите его там или перенесите в категорию stagecoach, потом загрузите ещё раз."},
	fault.TorrentStopped:       {"A person or a rule has stopped it in the download program. Start it there, or cancel the download.", "Её остановили в программе загрузки: кто-то вручную или какое-то правило. Запустите её там или отмените загрузку."},
	fault.TorrentTooLarge:      {"The torrent has too many files, or they are too large.", "В торренте слишком много файлов, или они слишком велики."},
	fault.ProviderUnavailable:  {"The download program is unavailable. The service keeps trying.", "Программа загрузки недоступна. Попытки продолжаются."},
	fault.ProviderUnauthorized: {"The download program refuses the service's login.", "Программа загрузки не принимает вход сервиса."},
	fault.ProviderRejected:     {"The download program refused it.", "Программа загрузки отказалась это принять."},
	fault.MissingExternalJob:   {"The download program no longer has it.", "Её больше нет в программе загрузки."},
	fault.ProviderError:        {"The download program reported an error.", "Программа загрузки сообщила об ошибке."},
	fault.EnqueueFailed:        {"It could not be started.", "Её не удалось начать."},
	fault.EnqueueUnavailable:   {"The download program was unavailable for too long. Try again later.", "Программа загрузки слишком долго была недоступна. Попробуйте позже."},
	fault.BookGone:             {"The book has been removed.", "Книгу удалили."},
	fault.ImportFailed:         {"It is downloaded, but its files could not be put into the library. An administrator should check the folders, then retry.", "Загружено, но файлы не удалось поместить в библиотеку. Администратору нужно проверить папки, затем повторите."},
	fault.MediumUnsuitable:     {"The torrent does not contain what was requested, or its files are not what their names say.", "В торренте нет того, что нужно, или содержимое файлов не соответствует их именам."},
	fault.Stalled:              {"There has been no progress for a long time. Perhaps nobody shares it any more.", "Уже долго ничего не загружается. Возможно, раздающих больше нет."},
}

// downloadQuotas name the limit that is reached; each takes the number.
var downloadQuotas = map[string]Text{
	"downloads": {
		"You have %d downloads in progress, which is the limit. Wait for one to end, or cancel one: /downloads",
		"У вас %d загрузок в работе, это предел. Дождитесь окончания или отмените одну: /downloads",
	},
	"downloads_per_day": {
		"You and your agents have requested %d downloads within 24 hours, which is the limit. Try again later.",
		"Вы и ваши агенты запросили %d загрузок за сутки, это предел. Попробуйте позже.",
	},
	"books": {
		"You have added %d books, which is the limit. Ask an administrator to add more.",
		"Вы добавили %d книг, это предел. Попросите администратора добавить ещё.",
	},
}

// downloadAlerts name the incidents that administrators are notified of, and downloadAlertsOver their ends.
var (
	downloadAlerts = map[string]Text{
		notice.AlertDownloadsAway:  {"qBittorrent has not answered for some minutes. Downloads in progress stay as they are, new ones wait.", "qBittorrent не отвечает уже несколько минут. Начатые загрузки остаются как есть, новые ждут."},
		notice.AlertDownloadsLogin: {"qBittorrent refuses our name and password. Downloads wait until the setting is corrected and the worker is restarted.", "qBittorrent не принимает наши имя и пароль. Загрузки ждут, пока настройку не исправят и не перезапустят worker."},
		notice.AlertDownloadsSpace: {"There is too little free space on the disk for a download. It waits until there is more.", "На диске не хватает места для загрузки. Она ждёт, пока его станет больше."},
		notice.AlertMediaMissing:   {"The files of too many books disappeared at once, so none was marked as missing. Check the library's disk, or mark the files by hand.", "Пропали файлы сразу слишком многих книг, поэтому ни один не отмечен. Проверьте диск библиотеки или отметьте файлы вручную."},
	}

	downloadAlertsOver = map[string]Text{
		notice.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
		notice.AlertDownloadsLogin: {"qBittorrent accepts our name and password again.", "qBittorrent снова принимает наши имя и пароль."},
		notice.AlertDownloadsSpace: {"No download waits for free space on the disk any more.", "Загрузки больше не ждут свободного места на диске."},
		notice.AlertMediaMissing:   {"The files of the books are checked again.", "Файлы книг снова проверяются."},
	}
)

// WhyDownloadNeedsLook explains why a download needs attention, with the last error of a failed import.
func WhyDownloadNeedsLook(language, attention, lastError string) string {
	if fault.Code(attention) == fault.ImportFailed && fault.Code(lastError) == fault.MediumUnsuitable {
		attention = lastError
	}
	return Downloads.Faults.Text(fault.Code(attention)).In(language)
}

// WhyDownloadFailed explains why a download failed, with the last error of one that could not be started. reason is the
// one in the record; nil: unknown. category is the torrent's category if it belongs to somebody else; empty: it does
// not.
func WhyDownloadFailed(language string, reason *string, lastError, category string) string {
	code := fault.Internal
	if reason != nil {
		code = fault.Code(*reason)
	}

	said := Downloads.Faults.Text(code).In(language)
	if code == fault.EnqueueFailed && lastError != "" {
		said += " " + Downloads.Faults.Text(fault.Code(lastError)).In(language)
	}
	if fault.Code(lastError) == fault.TorrentElsewhere && category != "" {
		said += " " + InCategory.In(language, category)
	}
	return said
}

// WhyNotSent explains why a downloaded file was not sent to the chat, by a fault code of downloads or deliveries.
func WhyNotSent(code string) Text {
	if said, ok := downloadFaults[fault.Code(code)]; ok {
		return said
	}
	return deliveryFaults.Text(fault.Code(code))
}
