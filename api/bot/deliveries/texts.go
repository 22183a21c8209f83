package deliveries

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
)

// What the commands are for.
var (
	aboutFiles  = chat.Text{"browse the files", "посмотреть файлы"}
	aboutJobs   = chat.Text{"your latest deliveries", "ваши последние доставки"}
	aboutCancel = chat.Text{"stop a delivery: /cancel 12", "остановить доставку: /cancel 12"}
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
	textStaleListing = chat.Text{"⚠️ The files cannot be looked at now: this is how the folder was a while ago.", "⚠️ Сейчас до файлов не добраться: папка показана такой, какой была раньше."}
	textFile         = chat.Text{"📄 <b>%s</b>\n\nFolder: %s\nSize: %s\nChanged: %s", "📄 <b>%s</b>\n\nПапка: %s\nРазмер: %s\nИзменён: %s"}
	textAskWords     = chat.Text{"🔎 Write a part of the name.", "🔎 Напишите часть названия."}
	textNothingFound = chat.Text{"Nothing was found.", "Ничего не нашлось."}
	textIndexing     = chat.Text{"The folder is still being read: more may be found soon.", "Папка ещё читается: скоро может найтись больше."}
	textAsked        = chat.Text{"Delivery #%d has begun.", "Доставка №%d началась."}
	textAskedBefore  = chat.Text{"This is delivery #%d, asked for already.", "Это доставка №%d, она уже заказана."}
)

// Deliveries.
var (
	textJobs        = chat.Text{"<b>Your deliveries</b>", "<b>Ваши доставки</b>"}
	textNoJobs      = chat.Text{"There are none yet: /files", "Пока ни одной: /files"}
	textJobLine     = chat.Text{"#%d %s — %s", "№%d %s — %s"}
	textJobTitle    = chat.Text{"#%d <b>%s</b> (%s)", "№%d <b>%s</b> (%s)"}
	textInLine      = chat.Text{"🕓 In line, place %d", "🕓 В очереди, место %d"}
	textRetrying    = chat.Text{"🔁 It did not work, try %d of %d follows:", "🔁 Не получилось, будет попытка %d из %d:"}
	textNextTry     = chat.Text{"Next try at %s, given up at %s", "Следующая попытка в %s, срок до %s"}
	textStarting    = chat.Text{"⏳ Opening the file", "⏳ Открываю файл"}
	textSending     = chat.Text{"📤 Sending: %d%% (%s of %s)", "📤 Отправляю: %d%% (%s из %s)"}
	textUploading   = chat.Text{"📤 All of it is handed over, Telegram is uploading the file", "📤 Всё передано, Telegram загружает файл"}
	textDelivered   = chat.Text{"✅ Delivered", "✅ Доставлено"}
	textFailed      = chat.Text{"❌ Not delivered", "❌ Не доставлено"}
	textExpired     = chat.Text{"⌛ It waited too long and was given up. Try again later.", "⌛ Ждала слишком долго и снята с очереди. Попробуйте позже."}
	textCancelling  = chat.Text{"Delivery #%d is being stopped.", "Доставка №%d останавливается."}
	textCancelled   = chat.Text{"Delivery #%d is cancelled.", "Доставка №%d отменена."}
	textCancelUsage = chat.Text{"Name the delivery by number, like this: /cancel 12", "Укажите номер доставки, например: /cancel 12"}
)

// jobStates name a job's state in the list.
var jobStates = map[lifecycle.DeliveryState]chat.Text{
	lifecycle.DeliveryQueued:      {"🕓 in line", "🕓 в очереди"},
	lifecycle.DeliveryClaimed:     {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryDownloading: {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryStreaming:   {"📤 sending", "📤 отправляется"},
	lifecycle.DeliveryDelivered:   {"✅ delivered", "✅ доставлено"},
	lifecycle.DeliveryFailed:      {"❌ not delivered", "❌ не доставлено"},
	lifecycle.DeliveryCancelled:   {"🚫 cancelled", "🚫 отменено"},
	lifecycle.DeliveryExpired:     {"⌛ given up", "⌛ снято с очереди"},
}
