package bot

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/store"
)

// alertTexts name the incidents that administrators are notified of.
var alertTexts = map[string]chat.Text{
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

func alertText(kind string) chat.Text {
	if known, ok := alertTexts[kind]; ok {
		return known
	}
	return chat.Text{"Something needs attention: " + kind, "Что-то требует внимания: " + kind}
}

// alertOverTexts say that an incident is over.
var alertOverTexts = map[string]chat.Text{
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

func alertOverText(kind string) chat.Text {
	if known, ok := alertOverTexts[kind]; ok {
		return known
	}
	return chat.Text{"This is over: " + kind, "Это закончилось: " + kind}
}
