package words

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/notice"
)

// Deliveries are the texts about deliveries.
var Deliveries = Texts{Faults: deliveryFaults, Quotas: deliveryQuotas, Alerts: deliveryAlerts, AlertsOver: deliveryAlertsOver}

// DeliveryStates name the states of a delivery.
var DeliveryStates = map[lifecycle.DeliveryState]Text{
	lifecycle.DeliveryQueued:      {"🕓 in the queue", "🕓 в очереди"},
	lifecycle.DeliveryClaimed:     {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryDownloading: {"⏳ opening the file", "⏳ открывается файл"},
	lifecycle.DeliveryStreaming:   {"📤 sending", "📤 отправляется"},
	lifecycle.DeliveryDelivered:   {"✅ delivered", "✅ доставлено"},
	lifecycle.DeliveryFailed:      {"❌ not delivered", "❌ не доставлено"},
	lifecycle.DeliveryCancelled:   {"🚫 cancelled", "🚫 отменено"},
	lifecycle.DeliveryExpired:     {"⌛ expired", "⌛ срок истёк"},
}

// deliveryFaults explain the faults of deliveries in plain words.
var deliveryFaults = Faults{
	fault.DeliveryNotFound:  {"No such delivery. /jobs lists yours.", "Такой доставки нет. Ваши доставки: /jobs"},
	fault.NoTelegramChat:    {"There is no chat to send the file to.", "Нет чата, куда отправить файл."},
	fault.FileNotFound:      {"This file or folder no longer exists.", "Этого файла или папки больше нет."},
	fault.FileTooBig:        {"The file is too big: Telegram accepts up to about 2 GB.", "Файл слишком большой: Telegram принимает примерно до 2 ГБ."},
	fault.FileEmpty:         {"The file is empty: Telegram does not accept empty files.", "Файл пустой: Telegram не принимает пустые файлы."},
	fault.FileIsFolder:      {"This is a folder: choose a file in it.", "Это папка: выберите файл в ней."},
	fault.FileChanged:       {"The file changed while it was being sent. Try again.", "Файл изменился во время отправки. Попробуйте ещё раз."},
	fault.YandexLocked:      {"The file is locked now. Try again later.", "Файл сейчас заблокирован. Попробуйте позже."},
	fault.YandexLimit:       {"The storage does not serve this file any more today: it was downloaded too often. Try again tomorrow.", "Хранилище сегодня больше не отдаёт этот файл: его скачивали слишком часто. Попробуйте завтра."},
	fault.TelegramForbidden: {"Telegram does not let me write to this chat.", "Telegram не разрешает мне писать в этот чат."},
	fault.OutcomeUnknown: {
		"The outcome is unknown: the file may or may not have arrived. Check this chat before you request it again.",
		"Исход неизвестен: файл мог дойти, а мог и не дойти. Проверьте этот чат, прежде чем запрашивать его снова.",
	},
}.With(
	Text{"The file storage is unavailable. Try again later.", "Хранилище файлов недоступно. Попробуйте позже."},
	fault.YandexUnauthorized, fault.YandexUnavailable, fault.YandexProtocol,
).With(
	Text{"Telegram did not accept the file. Try again later.", "Telegram не принял файл. Попробуйте позже."},
	fault.TelegramUnauthorized, fault.TelegramRateLimited, fault.TelegramUnavailable,
).With(
	Text{"Telegram refused the file.", "Telegram отказался принять файл."},
	fault.TelegramRejected, fault.TelegramFileID, fault.TelegramFolder,
)

// deliveryQuotas name the limit that is reached; each takes the number.
var deliveryQuotas = map[string]Text{
	"deliveries": {
		"You have %d deliveries in progress, which is the limit. Wait for one to end, or cancel one: /jobs",
		"У вас %d доставок в работе, это предел. Дождитесь окончания или отмените одну: /jobs",
	},
}

// deliveryAlerts name the incidents that administrators are notified of, and deliveryAlertsOver their ends.
var (
	deliveryAlerts = map[string]Text{
		notice.AlertStorageToken:   {"The file storage refuses our token, even after a refresh. Deliveries fail until somebody authorises the service again.", "Хранилище файлов не принимает наш токен даже после обновления. Доставки не будут работать, пока доступ не выдадут заново."},
		notice.AlertTelegramToken:  {"Telegram refused our token. Deliveries failed until it was replaced.", "Telegram не принимал наш токен. Доставки не работали, пока его не заменили."},
		notice.AlertTelegramFolder: {"Telegram's server cannot read the shared folder: it runs without --local, or does not see the folder. Until then files are sent as bytes, which is slower.", "Сервер Telegram не может читать общую папку: он запущен без --local или не видит её. Пока файлы отправляются целиком, это медленнее."},
		notice.AlertTokenEnding:    {"The file storage's token expires within a week and cannot be renewed automatically. Deliveries stop then. Authorise the service again.", "Токен хранилища файлов истекает в течение недели, и обновить его автоматически нельзя. Потом доставки остановятся. Выдайте доступ заново."},
		notice.AlertStuckJobs:      {"Deliveries in progress have sent no heartbeat for too long. See /status.", "Начатые доставки слишком долго не подают сигналов. Смотрите /status."},
		notice.AlertStorageAway:    {"The file storage has not answered for some minutes. Deliveries are retried and may fail.", "Хранилище файлов не отвечает уже несколько минут. Доставки повторяются и могут не удаться."},
	}

	deliveryAlertsOver = map[string]Text{
		notice.AlertStorageToken:   {"The file storage accepts our token again.", "Хранилище файлов снова принимает наш токен."},
		notice.AlertTelegramToken:  {"Telegram accepts our token again.", "Telegram снова принимает наш токен."},
		notice.AlertTelegramFolder: {"Telegram's server reads the shared folder again.", "Сервер Telegram снова читает общую папку."},
		notice.AlertTokenEnding:    {"The file storage's token no longer expires soon.", "Токен хранилища файлов больше не истекает в ближайшее время."},
		notice.AlertStuckJobs:      {"No delivery is stuck any more.", "Зависших доставок больше нет."},
		notice.AlertStorageAway:    {"The file storage answers again.", "Хранилище файлов снова отвечает."},
	}
)

// StillIndexing says that a search may find more soon.
var StillIndexing = Text{"The folder is still being read. More may be found soon.", "Папка ещё читается. Скоро может найтись больше."}
