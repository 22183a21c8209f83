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

// MediaStates name the state of a medium.
var MediaStates = map[string]Text{
	download.MediaAvailable: {"✅ in the library", "✅ в библиотеке"},
	download.MediaDeleted:   {"deleted", "удалено"},
	download.MediaMissing:   {"missing", "пропало"},
}

// DownloadStates name the status of a download.
var DownloadStates = map[lifecycle.DownloadState]Text{
	lifecycle.DownloadQueued:      {"🕓 in the queue", "🕓 в очереди"},
	lifecycle.DownloadDownloading: {"⬇️ downloading", "⬇️ загружается"},
	lifecycle.DownloadCompleted:   {"✅ in the library", "✅ в библиотеке"},
	lifecycle.DownloadFailed:      {"❌ not downloaded", "❌ не загружено"},
	lifecycle.DownloadCanceled:    {"🚫 cancelled", "🚫 отменено"},
}

// What is said of books and downloads.
var (
	NoMedium   = Text{"none yet", "пока нет"}
	NoSuchBook = Text{
		"No such book. Write other words, or add it.", "Такой книги нет. Напишите другие слова или добавьте её.",
	}
	OtherLink = Text{
		"Download #%d is in progress from another link. Cancel it to use this one.",
		"Загрузка №%d уже идёт, по другой ссылке. Отмените её, чтобы взять эту.",
	}
	SearchOff     = Text{"Nothing can be searched for here: no indexer is set up.", "Поиск здесь не настроен: нет индексаторов."}
	IndexerFailed = Text{"%s gave no results", "%s ничего не нашёл"}
	NoReleases    = Text{"Nothing was found. Try other words.", "Ничего не нашлось. Попробуйте другие слова."}

	FailedBefore = Text{"⚠️ failed before", "⚠️ уже не вышло"}
	SourceOf     = Text{"🧭 Source %d of %d", "🧭 Источник %d из %d"}

	WaitsForPeers  = Text{"🔎 Looking for somebody who shares it", "🔎 Ищу, кто раздаёт"}
	DownloadSpeed  = Text{"%s a second", "%s в секунду"}
	NoSpeed        = Text{"No data at the moment", "Сейчас данные не поступают"}
	TimeLeft       = Text{"%s left", "осталось %s"}
	TorrentMissing = Text{
		"❓ The download program does not list it now. I wait a while for it to come back.",
		"❓ Сейчас её нет в программе загрузки. Немного подожду, не вернётся ли.",
	}
)

// downloadFaults are the plain words for the faults of downloads.
var downloadFaults = Faults{
	fault.DownloadNotFound:     {"No such download. /downloads lists yours.", "Такой загрузки нет. Ваши загрузки: /downloads"},
	fault.BookNotFound:         {"No such book.", "Такой книги нет."},
	fault.MediaNotReady:        {"The library has no files of it.", "В библиотеке нет его файлов."},
	fault.TooManyFiles:         {"It has too many files to send them all at once.", "В нём слишком много файлов, чтобы прислать все сразу."},
	fault.NoFreeSpace:          {"There is too little free disk space. The download waits until there is more.", "Мало свободного места на диске. Загрузка ждёт, пока его станет больше."},
	fault.SourceUnavailable:    {"The site of the torrent file does not answer now.", "Сайт с торрент-файлом сейчас не отвечает."},
	fault.SourceRefused:        {"The site refuses to send this torrent file. Check the link.", "Сайт не отдаёт этот торрент-файл. Проверьте ссылку."},
	fault.SourceForbidden:      {"This link leads to an address that is not on the Internet.", "Ссылка ведёт на адрес не из интернета."},
	fault.SourceNotTorrent:     {"The file behind the link is not a torrent file, or is too big for one.", "Файл по ссылке — не торрент-файл или слишком велик для него."},
	fault.ProviderUnavailable:  {"The download program is unavailable. The service keeps trying.", "Программа загрузки недоступна. Попытки продолжаются."},
	fault.ProviderUnauthorized: {"The download program refuses the service's login.", "Программа загрузки не принимает вход сервиса."},
	fault.ProviderRejected:     {"The download program refused it.", "Программа загрузки отказалась это принять."},
	fault.MissingExternalJob:   {"The download program no longer has it.", "Её больше нет в программе загрузки."},
	fault.ProviderError:        {"The download program reported an error.", "Программа загрузки сообщила об ошибке."},
	fault.EnqueueFailed:        {"It could not be started.", "Её не удалось начать."},
	fault.EnqueueUnavailable:   {"The download program was unavailable for too long. Try again later.", "Программа загрузки слишком долго была недоступна. Попробуйте позже."},
	fault.BookGone:             {"The book has been removed.", "Книгу удалили."},
	fault.ImportFailed:         {"It is downloaded, but its files could not be put into the library. An administrator should check the folders; then repeat it.", "Загружено, но файлы не удалось поместить в библиотеку. Администратору стоит проверить папки, потом повторите."},
	fault.MediumUnsuitable:     {"The torrent does not have what was asked for, or its files are not what their names say.", "В торренте нет того, что нужно, или его файлы не то, чем названы."},
	fault.Stalled:              {"There has been no progress for a long time. Perhaps nobody shares it any more.", "Уже долго ничего не загружается. Возможно, раздающих больше нет."},
}

// downloadQuotas name the limit that is reached; each takes the limit.
var downloadQuotas = map[string]Text{
	"downloads": {
		"You have %d downloads in progress, which is the limit. Wait for one to end, or cancel one: /downloads",
		"У вас %d загрузок в работе, это предел. Дождитесь окончания или отмените одну: /downloads",
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
		notice.AlertDownloadsSpace: {"There is too little free space on qBittorrent's disk. New downloads wait until there is more.", "На диске qBittorrent мало места. Новые загрузки ждут, пока его станет больше."},
		notice.AlertMediaMissing:   {"The files of too many books disappeared at once, so none was marked as missing. Check the library's disk, or mark the files by hand.", "Пропали файлы сразу слишком многих книг, поэтому ни один не отмечен. Проверьте диск библиотеки или отметьте файлы вручную."},
	}

	downloadAlertsOver = map[string]Text{
		notice.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
		notice.AlertDownloadsLogin: {"qBittorrent accepts our name and password again.", "qBittorrent снова принимает наши имя и пароль."},
		notice.AlertDownloadsSpace: {"There is enough free space on qBittorrent's disk again.", "На диске qBittorrent снова достаточно места."},
		notice.AlertMediaMissing:   {"The files of the books are checked again.", "Файлы книг снова проверяются."},
	}
)

// WhyDownloadNeedsLook says in plain words why a person should look at a download, with the last error of a failed
// import.
func WhyDownloadNeedsLook(language, attention, lastError string) string {
	if fault.Code(attention) == fault.ImportFailed && fault.Code(lastError) == fault.MediumUnsuitable {
		attention = lastError
	}
	return Downloads.Faults.Text(fault.Code(attention)).In(language)
}

// WhyDownloadFailed says in plain words why a download failed, with the last error of one that could not be started.
// reason is the one in the record; nil: none is known.
func WhyDownloadFailed(language string, reason *string, lastError string) string {
	code := fault.Internal
	if reason != nil {
		code = fault.Code(*reason)
	}

	said := Downloads.Faults.Text(code).In(language)
	if code == fault.EnqueueFailed && lastError != "" {
		said += " " + Downloads.Faults.Text(fault.Code(lastError)).In(language)
	}
	return said
}

// WhyNotSent says why what was downloaded was not sent to the chat, by a fault code of downloads or of deliveries.
func WhyNotSent(code string) Text {
	if said, ok := downloadFaults[fault.Code(code)]; ok {
		return said
	}
	return deliveryFaults.Text(fault.Code(code))
}
