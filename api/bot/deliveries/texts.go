package deliveries

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
)

// What the commands are for.
var (
	aboutFiles  = chat.Text{"browse the files", "посмотреть файлы"}
	aboutJobs   = chat.Text{"your latest deliveries", "ваши последние доставки"}
	aboutCancel = chat.Text{"cancel a delivery: /cancel 12", "отменить доставку: /cancel 12"}
)

// Labels of buttons.
var (
	labelTop      = chat.Text{"Files", "Файлы"}
	labelSearch   = chat.Text{"🔎 Search", "🔎 Поиск"}
	labelAgain    = chat.Text{"🔄 Search again", "🔄 Искать ещё раз"}
	labelUp       = chat.Text{"⬆️ Up", "⬆️ Вверх"}
	labelDownload = chat.Text{"⬇️ Download", "⬇️ Скачать"}
)

// Files.
var (
	textEmptyFolder  = chat.Text{"This folder is empty.", "В этой папке пусто."}
	textStaleListing = chat.Text{"⚠️ The file storage is unavailable. The folder is shown as it was a while ago.", "⚠️ Хранилище файлов недоступно. Папка показана такой, какой была раньше."}
	textFile         = chat.Text{"📄 <b>%s</b>\n\nFolder: %s\nSize: %s\nModified: %s", "📄 <b>%s</b>\n\nПапка: %s\nРазмер: %s\nИзменён: %s"}
	textAskWords     = chat.Text{"🔎 Write a part of the name.", "🔎 Напишите часть названия."}
	textNothingFound = chat.Text{"Nothing was found.", "Ничего не нашлось."}
	textIndexing     = chat.Text{"The folder is still being read. More may be found soon.", "Папка ещё читается. Скоро может найтись больше."}
	textAsked        = chat.Text{"Delivery #%d has started.", "Доставка №%d началась."}
	textAskedBefore  = chat.Text{"This is delivery #%d, which you have already asked for.", "Это доставка №%d, она уже заказана."}
)

// Deliveries.
var (
	textDeliveries  = chat.Text{"<b>Deliveries</b>", "<b>Доставки</b>"}
	textJobs        = chat.Text{"<b>Your deliveries</b>", "<b>Ваши доставки</b>"}
	textNoJobs      = chat.Text{"No deliveries yet: /files", "Доставок пока нет: /files"}
	textJobLine     = chat.Text{"#%d %s — %s", "№%d %s — %s"}
	textJobTitle    = chat.Text{"#%d <b>%s</b> (%s)", "№%d <b>%s</b> (%s)"}
	textInLine      = chat.Text{"🕓 In the queue, place %d", "🕓 В очереди, место %d"}
	textRetrying    = chat.Text{"🔁 The attempt failed. Attempt %d of %d follows:", "🔁 Попытка не удалась. Будет попытка %d из %d:"}
	textNextTry     = chat.Text{"Next attempt at %s, deadline at %s", "Следующая попытка в %s, срок до %s"}
	textStarting    = chat.Text{"⏳ Opening the file", "⏳ Открываю файл"}
	textSending     = chat.Text{"📤 Sending: %d%% (%s of %s)", "📤 Отправляю: %d%% (%s из %s)"}
	textUploading   = chat.Text{"📤 The whole file is handed over, Telegram is uploading it", "📤 Файл передан целиком, Telegram загружает его"}
	textDelivered   = chat.Text{"✅ Delivered", "✅ Доставлено"}
	textFailed      = chat.Text{"❌ Not delivered", "❌ Не доставлено"}
	textExpired     = chat.Text{"⌛ Expired: it waited for too long. Try again later.", "⌛ Срок истёк: слишком долгое ожидание. Попробуйте позже."}
	textCancelling  = chat.Text{"Delivery #%d is being cancelled.", "Доставка №%d отменяется."}
	textCancelled   = chat.Text{"Delivery #%d is cancelled.", "Доставка №%d отменена."}
	textCancelUsage = chat.Text{"Give the delivery's number, for example: /cancel 12", "Укажите номер доставки, например: /cancel 12"}
)

// jobStates name a job's state in the list.
var jobStates = map[lifecycle.DeliveryState]chat.Text{
	lifecycle.DeliveryQueued:      {"🕓 in the queue", "🕓 в очереди"},
	lifecycle.DeliveryClaimed:     {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryDownloading: {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryStreaming:   {"📤 sending", "📤 отправляется"},
	lifecycle.DeliveryDelivered:   {"✅ delivered", "✅ доставлено"},
	lifecycle.DeliveryFailed:      {"❌ not delivered", "❌ не доставлено"},
	lifecycle.DeliveryCancelled:   {"🚫 cancelled", "🚫 отменено"},
	lifecycle.DeliveryExpired:     {"⌛ expired", "⌛ срок истёк"},
}
