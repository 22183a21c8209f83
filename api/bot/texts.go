package bot

import (
	"fmt"

	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// Languages, as a user's row names them.
const (
	english = "en"
	russian = "ru"
)

// text is one thing that the bot says, in each language. Placeholders are those of fmt; what stands in their place in
// a message must be HTML.
type text struct{ en, ru string }

// in gives the text in a language.
func (t text) in(language string, args ...any) string {
	pattern := t.en
	if language == russian {
		pattern = t.ru
	}
	return fmt.Sprintf(pattern, args...)
}

// What the commands are for.
var (
	aboutStart   = text{"begin", "начать"}
	aboutHelp    = text{"what I can do", "что я умею"}
	aboutFiles   = text{"browse the files", "посмотреть файлы"}
	aboutJobs    = text{"your latest deliveries", "ваши последние доставки"}
	aboutCancel  = text{"stop a delivery: /cancel 12", "остановить доставку: /cancel 12"}
	aboutStatus  = text{"how the service is doing", "состояние сервиса"}
	aboutApprove = text{"let a user in: /approve 7; without a number: who waits", "впустить пользователя: /approve 7; без номера — кто ждёт"}
	aboutBlock   = text{"keep a user out: /block 7", "закрыть доступ: /block 7"}
)

// Labels of buttons.
var (
	labelFiles    = text{"📁 Files", "📁 Файлы"}
	labelTop      = text{"Files", "Файлы"}
	labelSearch   = text{"🔎 Search", "🔎 Поиск"}
	labelAgain    = text{"🔄 Search again", "🔄 Искать ещё раз"}
	labelUp       = text{"⬆️ Up", "⬆️ Вверх"}
	labelBack     = text{"⬅️ Back", "⬅️ Назад"}
	labelDownload = text{"⬇️ Download", "⬇️ Скачать"}
	labelStop     = text{"✖️ Cancel", "✖️ Отменить"}
	labelStopJob  = text{"✖️ Cancel #%d", "✖️ Отменить №%d"}
	labelNewest   = text{"« Newest", "« Последние"}
	labelOlder    = text{"Older ›", "Раньше ›"}
	labelApprove  = text{"✅ Approve %d", "✅ Впустить %d"}
	labelBlock    = text{"⛔ Block %d", "⛔ Закрыть %d"}
)

// Access.
var (
	textWelcome        = text{"Hello! Choose a file, and I will send it to this chat. What else I can do: /help", "Здравствуйте! Выберите файл, и я пришлю его в этот чат. Что ещё я умею: /help"}
	textWelcomePending = text{"Hello! An administrator will look at your request. I will write to you when you can begin.", "Здравствуйте! Администратор рассмотрит вашу заявку. Я напишу, когда можно будет начать."}
	textApproved       = text{"You have been approved: choose a file, and I will send it to this chat.", "Доступ открыт: выберите файл, и я пришлю его в этот чат."}
	textPending        = text{"An administrator has not approved you yet. I will write to you when that happens.", "Администратор ещё не открыл вам доступ. Я напишу, когда это случится."}
	textBlocked        = text{"You have no access.", "У вас нет доступа."}
	textAdminsOnly     = text{"This is for administrators only.", "Это могут только администраторы."}
	textPrivateOnly    = text{"I work in private chats only: write to me there.", "Я работаю только в личных чатах: напишите мне туда."}
	textNewcomer       = text{"👤 <b>%s</b> asks for access. User %d.", "👤 <b>%s</b> просит доступ. Пользователь %d."}
	textPendingUsers   = text{"<b>Waiting for approval</b>", "<b>Ждут доступа</b>"}
	textPendingUser    = text{"%d: %s", "%d: %s"}
	textNobodyWaits    = text{"Nobody is waiting for approval.", "Никто не ждёт доступа."}
	textUserActive     = text{"✅ User %d, <b>%s</b>, has access.", "✅ Пользователь %d, <b>%s</b>: доступ открыт."}
	textUserBlocked    = text{"⛔ User %d, <b>%s</b>, has no access.", "⛔ Пользователь %d, <b>%s</b>: доступ закрыт."}
	textUserUsage      = text{"Name the user by number, like this: /approve 7 or /block 7", "Укажите номер пользователя, например: /approve 7 или /block 7"}
)

// Help, and what is not understood.
var (
	textHelp           = text{"I send files from the shared folder to this chat. Write a part of a name to search for it. I also know the tasks that you share with others, download books for the library (send me a link), and tell how to buy Telegram Stars for GRAM (ex TON).\n", "Я присылаю файлы из общей папки в этот чат. Напишите часть названия, чтобы найти файл. Ещё я знаю задачи, которые у вас общие с другими, скачиваю книги для библиотеки (пришлите ссылку) и подскажу, как купить звёзды Telegram за GRAM (бывший TON).\n"}
	textUnknownCommand = text{"I do not know this command. /help lists what I can do.", "Я не знаю такой команды. Что я умею: /help"}
	textOnlyWords      = text{"I understand words and buttons only. /help lists what I can do.", "Я понимаю только слова и кнопки. Что я умею: /help"}
	textStaleButton    = text{"This button is out of date. Send /files to get a new menu.", "Эта кнопка устарела. Отправьте /files, чтобы открыть новое меню."}
)

// Files.
var (
	textEmptyFolder  = text{"This folder is empty.", "В этой папке пусто."}
	textStaleListing = text{"⚠️ The files cannot be looked at now: this is how the folder was a while ago.", "⚠️ Сейчас до файлов не добраться: папка показана такой, какой была раньше."}
	textFile         = text{"📄 <b>%s</b>\n\nFolder: %s\nSize: %s\nChanged: %s", "📄 <b>%s</b>\n\nПапка: %s\nРазмер: %s\nИзменён: %s"}
	textAskWords     = text{"🔎 Write a part of the name.", "🔎 Напишите часть названия."}
	textResults      = text{"🔎 <b>%s</b>", "🔎 <b>%s</b>"}
	textNothingFound = text{"Nothing was found.", "Ничего не нашлось."}
	textIndexing     = text{"The folder is still being read: more may be found soon.", "Папка ещё читается: скоро может найтись больше."}
	textAsked        = text{"Delivery #%d has begun.", "Доставка №%d началась."}
	textAskedBefore  = text{"This is delivery #%d, asked for already.", "Это доставка №%d, она уже заказана."}
)

// Deliveries.
var (
	textJobs        = text{"<b>Your deliveries</b>", "<b>Ваши доставки</b>"}
	textNoJobs      = text{"There are none yet: /files", "Пока ни одной: /files"}
	textJobLine     = text{"#%d %s — %s", "№%d %s — %s"}
	textJobTitle    = text{"#%d <b>%s</b> (%s)", "№%d <b>%s</b> (%s)"}
	textQueued      = text{"🕓 Waiting to begin", "🕓 Ждёт начала"}
	textInLine      = text{"🕓 In line, place %d", "🕓 В очереди, место %d"}
	textRetrying    = text{"🔁 It did not work, try %d of %d follows:", "🔁 Не получилось, будет попытка %d из %d:"}
	textNextTry     = text{"Next try at %s, given up at %s", "Следующая попытка в %s, срок до %s"}
	textStarting    = text{"⏳ Opening the file", "⏳ Открываю файл"}
	textSending     = text{"📤 Sending: %d%% (%s of %s)", "📤 Отправляю: %d%% (%s из %s)"}
	textUploading   = text{"📤 All of it is handed over, Telegram is uploading the file", "📤 Всё передано, Telegram загружает файл"}
	textDelivered   = text{"✅ Delivered", "✅ Доставлено"}
	textFailed      = text{"❌ Not delivered", "❌ Не доставлено"}
	textCancelled   = text{"🚫 Cancelled", "🚫 Отменено"}
	textExpired     = text{"⌛ It waited too long and was given up. Try again later.", "⌛ Ждала слишком долго и снята с очереди. Попробуйте позже."}
	textStopping    = text{"Delivery #%d is being stopped.", "Доставка №%d останавливается."}
	textStoppingNow = text{"🚫 stopping…", "🚫 останавливается…"}
	textStopped     = text{"Delivery #%d is cancelled.", "Доставка №%d отменена."}
	textCancelUsage = text{"Name the delivery by number, like this: /cancel 12", "Укажите номер доставки, например: /cancel 12"}
)

// jobStates name a job's state in the list.
var jobStates = map[lifecycle.DeliveryState]text{
	lifecycle.DeliveryQueued:      {"🕓 in line", "🕓 в очереди"},
	lifecycle.DeliveryClaimed:     {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryDownloading: {"⏳ starting", "⏳ начинается"},
	lifecycle.DeliveryStreaming:   {"📤 sending", "📤 отправляется"},
	lifecycle.DeliveryDelivered:   {"✅ delivered", "✅ доставлено"},
	lifecycle.DeliveryFailed:      {"❌ not delivered", "❌ не доставлено"},
	lifecycle.DeliveryCancelled:   {"🚫 cancelled", "🚫 отменено"},
	lifecycle.DeliveryExpired:     {"⌛ given up", "⌛ снято с очереди"},
}

// Status and alerts.
var (
	textStatus          = text{"<b>Status</b>", "<b>Состояние</b>"}
	textQueueDepth      = text{"Queue: %d", "Очередь: %d"}
	textHeartbeat       = text{"Worker last heard of: %s", "Последний сигнал обработчика: %s"}
	textToken           = text{"Storage token ends in: %s", "Токен хранилища истекает через: %s"}
	textInState         = text{"<b>Deliveries</b>", "<b>Доставки</b>"}
	textTorrents        = text{"<b>Downloads</b>", "<b>Загрузки</b>"}
	textAnswers         = text{"qBittorrent answers", "qBittorrent отвечает"}
	textNoAnswer        = text{"⚠️ qBittorrent does not answer, last time: %s", "⚠️ qBittorrent не отвечает, последний ответ: %s"}
	textTasksIn         = text{"<b>Tasks</b>", "<b>Задачи</b>"}
	textTransactionsIn  = text{"<b>Stars</b>", "<b>Звёзды</b>"}
	textTemporalAway    = text{"⚠️ the workflow service does not answer", "⚠️ служба процессов не отвечает"}
	textQueueLine       = text{"Queue %s (%s): %d, oldest %s", "Очередь %s (%s): %d, старейшая %s"}
	textWorkers         = text{"Workers: %d", "Обработчиков: %d"}
	textFails           = text{"⚠️ %s: <code>%s</code> for %s", "⚠️ %s: <code>%s</code> уже %s"}
	textAlertOpen       = text{"🚨 <code>%s</code> for %s", "🚨 <code>%s</code> уже %s"}
	textReviews         = text{"⚠️ transactions that need review: %d", "⚠️ транзакций, требующих разбора: %d"}
	textPaymentsStopped = text{"⏸ payments are stopped: %s", "⏸ платежи остановлены: %s"}
	textFindings        = text{"⚠️ reconciler: %d in 10 minutes, %d open", "⚠️ сверка: %d за 10 минут, открытых: %d"}
	textTopErrors       = text{"<b>Errors in 24 hours</b>", "<b>Ошибки за 24 часа</b>"}
	textStuck           = text{"⚠️ stuck: %d (%s)", "⚠️ зависли: %d (%s)"}
	textAgo             = text{"%s ago", "%s назад"}
	textNotKnown        = text{"not known", "неизвестно"}
)

// alertTexts name the incidents that administrators are told of.
var alertTexts = map[string]text{
	store.AlertStorageToken: {
		"The storage refuses our token, also after a refresh: deliveries fail until somebody authorises the service anew.",
		"Хранилище не принимает наш токен даже после обновления: доставки не будут работать, пока доступ не выдадут заново.",
	},
	store.AlertTelegramToken: {
		"Telegram refused our token: deliveries failed until it was replaced.",
		"Telegram не принимал наш токен: доставки не работали, пока его не заменили.",
	},
	store.AlertDownloadsAway: {
		"qBittorrent has not answered for some minutes: downloads under way are left as they are, new ones wait.",
		"qBittorrent не отвечает уже несколько минут: начатые загрузки остаются как есть, новые ждут.",
	},
	store.AlertDownloadsLogin: {
		"qBittorrent refuses our name and password: downloads wait until the setting is corrected and the worker restarted.",
		"qBittorrent не принимает наши имя и пароль: загрузки ждут, пока настройку не исправят и не перезапустят worker.",
	},
	store.AlertDownloadsSpace: {
		"There is little room left on the disk of qBittorrent. New downloads wait until there is more.",
		"На диске qBittorrent мало места. Новые загрузки ждут, пока оно появится.",
	},
	store.AlertMediaMissing: {
		"Files of too many books are gone at once: none was marked as missing. Look whether the library's disk is there, or mark them by hand.",
		"Пропали файлы сразу слишком многих книг: ни одна не отмечена. Проверьте диск библиотеки или отметьте их вручную.",
	},
	store.AlertFragmentSession: {
		"Fragment does not accept our session any more: purchases of Stars wait until the cookies are renewed and the worker restarted.",
		"Fragment больше не принимает наш вход: покупки звёзд ждут, пока cookies не обновят и не перезапустят worker.",
	},
	store.AlertPaymentRefused: {
		"A payment that Fragment asked for did not pass our checks, and was not made. Look at it: /tx",
		"Платёж, который запросил Fragment, не прошёл наши проверки и не сделан. Посмотрите: /tx",
	},
	store.AlertDailyLimit: {
		"The limit of payments for a day is reached: what does not fit waits, smaller payments go on.",
		"Достигнут дневной предел платежей: что не помещается, ждёт, меньшие платежи проходят.",
	},
	store.AlertWalletEmpty: {
		"There is too little GRAM in the wallet: purchases of Stars wait until it is filled up.",
		"В кошельке не хватает GRAM: покупки звёзд ждут, пока его не пополнят.",
	},
	store.AlertTransactionStuck: {
		"A transaction has been in processing for too long. Nothing was reset; look at it: /tx",
		"Транзакция обрабатывается слишком долго. Ничего не сброшено; посмотрите: /tx",
	},
	store.AlertTransactionReview: {
		"A transaction needs review: it is never bought again before you resolve it. Look at it: /tx",
		"Транзакция требует разбора: до вашего решения её не купят повторно. Посмотрите: /tx",
	},
	store.AlertTransactionGivenUp: {
		"An order could not be carried out, and is not tried again by itself any more. The payer waits: look at it with /tx, remove the reason, and retry it.",
		"Заказ не удалось выполнить, и сам он больше не повторяется. Плательщик ждёт: посмотрите в /tx, устраните причину и повторите.",
	},
	store.AlertRefund: {
		"A refund could not be paid. Look at the transactions: /tx",
		"Не удалось вернуть деньги. Посмотрите транзакции: /tx",
	},
	store.AlertChain: {
		"The wallet cannot be followed: new transfers are not seen, and payments are not confirmed.",
		"За кошельком не удаётся следить: новых переводов не видно, платежи не подтверждаются.",
	},
	store.AlertChainClock: {
		"The time that toncenter tells is more than two minutes from ours. Nothing is taken for true that depends on it: purchases wait. Check this machine's clock, then toncenter.",
		"Время, которое сообщает toncenter, расходится с нашим больше чем на две минуты. Всё, что от него зависит, не принимается: покупки ждут. Проверьте часы этой машины, затем toncenter.",
	},
	store.AlertDeposit: {
		"Two sources tell different things about a large deposit: nothing is paid for it before you resolve it. Look at it: /tx",
		"Два источника сообщают о крупном переводе разное: до вашего решения по нему ничего не платят. Посмотрите: /tx",
	},
	store.AlertSecondSource: {
		"The second source of the chain has not answered for some minutes: large deposits wait for it.",
		"Второй источник блокчейна не отвечает уже несколько минут: крупные переводы ждут.",
	},
	store.AlertTokenEnding: {
		"The storage's token ends within a week and nothing renews it: deliveries stop then. Authorise the service anew.",
		"Токен хранилища истекает в течение недели, и его нечем обновить: потом доставки остановятся. Выдайте доступ заново.",
	},
	store.AlertQueue: {
		"Too much waits in a queue, or for too long. See /status, and start more workers.",
		"В очереди ждёт слишком много или слишком долго. Смотрите /status и добавьте обработчиков.",
	},
	store.AlertNoWorker: {
		"No worker has been heard of for a while: nothing is being done. Start one.",
		"Обработчиков давно не слышно: ничего не выполняется. Запустите хотя бы один.",
	},
	store.AlertStuckJobs: {
		"Deliveries in workers' hands show no sign of life. See /status.",
		"Доставки у обработчиков не подают признаков жизни. Смотрите /status.",
	},
	store.AlertStorageAway: {
		"The file storage has not answered for some minutes: deliveries are tried again and may fail.",
		"Хранилище файлов не отвечает уже несколько минут: доставки повторяются и могут не удаться.",
	},
	store.AlertFragmentAway: {
		"Fragment has not answered for some minutes: purchases of Stars are tried again and may fail.",
		"Fragment не отвечает уже несколько минут: покупки звёзд повторяются и могут не удаться.",
	},
	store.AlertFindings: {
		"The record and the workflows differed somewhere: the reconciler repairs it. See: starter findings",
		"Записи и процессы где-то разошлись: сверка исправляет это. Смотрите: starter findings",
	},
	store.AlertTemporalAway: {
		"The workflow service does not answer: nothing new is begun, what is recorded waits.",
		"Служба процессов не отвечает: ничего нового не начинается, записанное ждёт.",
	},
	store.AlertDatabaseAway: {
		"The database did not answer for a while: nothing could be asked for or recorded.",
		"База данных какое-то время не отвечала: ничего нельзя было ни запросить, ни записать.",
	},
}

func alertText(kind string) text {
	if known, ok := alertTexts[kind]; ok {
		return known
	}
	return text{"Something needs attention: " + kind, "Что-то требует внимания: " + kind}
}

// alertOverTexts say that an incident is over.
var alertOverTexts = map[string]text{
	store.AlertStorageToken:   {"The storage accepts our token again.", "Хранилище снова принимает наш токен."},
	store.AlertTelegramToken:  {"Telegram accepts our token again.", "Telegram снова принимает наш токен."},
	store.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
	store.AlertDownloadsLogin: {"qBittorrent lets us in again.", "qBittorrent снова нас пускает."},
	store.AlertDownloadsSpace: {"There is room again on qBittorrent's disk.", "На диске qBittorrent снова есть место."},

	store.AlertMediaMissing: {"The files of the books are looked after again.", "За файлами книг снова следят."},

	store.AlertFragmentSession:    {"Fragment accepts our session again: purchases of Stars go on.", "Fragment снова принимает наш вход: покупки звёзд продолжаются."},
	store.AlertPaymentRefused:     {"The payments that Fragment asks for pass our checks again.", "Платежи, которые запрашивает Fragment, снова проходят проверки."},
	store.AlertDailyLimit:         {"Payments are below the limit for a day again.", "Платежи снова в пределах дневного лимита."},
	store.AlertWalletEmpty:        {"There is enough GRAM in the wallet again.", "В кошельке снова достаточно GRAM."},
	store.AlertTransactionStuck:   {"No transaction is stuck any more.", "Зависших транзакций больше нет."},
	store.AlertTransactionReview:  {"No transaction needs review any more.", "Транзакций, требующих разбора, больше нет."},
	store.AlertTransactionGivenUp: {"No failed order waits for a decision any more.", "Неудавшихся заказов, ждущих решения, больше нет."},
	store.AlertRefund:             {"Refunds are paid again.", "Возвраты снова проходят."},
	store.AlertChain:              {"The wallet is followed again.", "За кошельком снова удаётся следить."},

	store.AlertChainClock: {"The time that toncenter tells is right again.", "Время, которое сообщает toncenter, снова верно."},

	store.AlertDeposit:      {"No deposit is disputed any more.", "Спорных переводов больше нет."},
	store.AlertSecondSource: {"The second source of the chain answers again.", "Второй источник блокчейна снова отвечает."},

	store.AlertTokenEnding:  {"The storage's token does not end soon any more.", "Токен хранилища больше не истекает в ближайшее время."},
	store.AlertQueue:        {"The queues are short again.", "Очереди снова короткие."},
	store.AlertNoWorker:     {"A worker is heard of again.", "Обработчик снова на связи."},
	store.AlertStuckJobs:    {"No delivery is stuck any more.", "Зависших доставок больше нет."},
	store.AlertStorageAway:  {"The file storage answers again.", "Хранилище файлов снова отвечает."},
	store.AlertFragmentAway: {"Fragment answers again.", "Fragment снова отвечает."},
	store.AlertFindings:     {"The reconciler finds nothing new any more.", "Сверка больше не находит нового."},
	store.AlertTemporalAway: {"The workflow service answers again.", "Служба процессов снова отвечает."},
	store.AlertDatabaseAway: {"The database answers again.", "База данных снова отвечает."},
}

func alertOverText(kind string) text {
	if known, ok := alertOverTexts[kind]; ok {
		return known
	}
	return text{"This is over: " + kind, "Это закончилось: " + kind}
}

// faultText gives the plain words for a fault.
func faultText(code fault.Code) text {
	if known, ok := faultTexts[code]; ok {
		return known
	}
	return textTrouble
}
