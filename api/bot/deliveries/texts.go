package deliveries

import (
	"stagecoach/api/words"
)

// Labels of buttons.
var (
	labelTop      = words.Text{"Files", "Файлы"}
	labelSearch   = words.Text{"🔎 Search", "🔎 Поиск"}
	labelAgain    = words.Text{"🔄 Search again", "🔄 Искать ещё раз"}
	labelUp       = words.Text{"⬆️ Up", "⬆️ Вверх"}
	labelDownload = words.Text{"⬇️ Download", "⬇️ Скачать"}
)

// Files.
var (
	textEmptyFolder  = words.Text{"This folder is empty.", "В этой папке пусто."}
	textStaleListing = words.Text{"⚠️ The file storage is unavailable. The folder is shown as it was a while ago.", "⚠️ Хранилище файлов недоступно. Папка показана такой, какой была раньше."}
	textFile         = words.Text{"📄 <b>%s</b>\n\nFolder: %s\nSize: %s\nModified: %s", "📄 <b>%s</b>\n\nПапка: %s\nРазмер: %s\nИзменён: %s"}
	textAskWords     = words.Text{"🔎 Write a part of the name.", "🔎 Напишите часть названия."}
	textNothingFound = words.Text{"No file has this in its name. Write another part of a name, or see what else I can do: /help", "Файлов с таким названием нет. Напишите другую часть названия или посмотрите, что ещё я умею: /help"}
	textAsked        = words.Text{"Delivery #%d has started.", "Доставка №%d началась."}
	textAskedBefore  = words.Text{"This is delivery #%d, which you have already requested.", "Это доставка №%d, она уже заказана."}
)

// Deliveries.
var (
	textDeliveries  = words.Text{"<b>Deliveries</b>", "<b>Доставки</b>"}
	textJobs        = words.Text{"<b>Your deliveries</b>", "<b>Ваши доставки</b>"}
	textNoJobs      = words.Text{"No deliveries yet: /files", "Доставок пока нет: /files"}
	textJobLine     = words.Text{"#%d %s — %s", "№%d %s — %s"}
	textJobTitle    = words.Text{"#%d <b>%s</b> (%s)", "№%d <b>%s</b> (%s)"}
	textInLine      = words.Text{"🕓 In the queue, place %d", "🕓 В очереди, место %d"}
	textRetrying    = words.Text{"🔁 The attempt failed. Attempt %d of %d follows:", "🔁 Попытка не удалась. Будет попытка %d из %d:"}
	textNextTry     = words.Text{"Next attempt at %s", "Следующая попытка в %s"}
	textStarting    = words.Text{"⏳ Opening the file", "⏳ Открываю файл"}
	textSending     = words.Text{"📤 Sending: %d%% (%s of %s)", "📤 Отправляю: %d%% (%s из %s)"}
	textUploading   = words.Text{"📤 The whole file is handed over, Telegram is uploading it", "📤 Файл передан целиком, Telegram загружает его"}
	textDelivered   = words.Text{"✅ Delivered", "✅ Доставлено"}
	textFailed      = words.Text{"❌ Not delivered", "❌ Не доставлено"}
	textExpired     = words.Text{"⌛ Expired: it waited for too long. Try again later.", "⌛ Срок истёк: слишком долгое ожидание. Попробуйте позже."}
	textCancelling  = words.Text{"Delivery #%d is being cancelled.", "Доставка №%d отменяется."}
	textCancelled   = words.Text{"Delivery #%d is cancelled.", "Доставка №%d отменена."}
	textCancelUsage = words.Text{"Give the delivery's number, for example: /cancel 12", "Укажите номер доставки, например: /cancel 12"}
)
