package bot

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/notice"
)

// alertTexts name the incidents that administrators are notified of.
var alertTexts = map[string]chat.Text{
	notice.AlertStorageToken: {
		"The storage refuses our token, also after a refresh: deliveries fail until somebody authorises the service anew.",
		"Хранилище не принимает наш токен даже после обновления: доставки не будут работать, пока доступ не выдадут заново.",
	},
	notice.AlertTelegramToken: {
		"Telegram refused our token: deliveries failed until it was replaced.",
		"Telegram не принимал наш токен: доставки не работали, пока его не заменили.",
	},
	notice.AlertDownloadsAway: {
		"qBittorrent has not answered for some minutes: downloads under way are left as they are, new ones wait.",
		"qBittorrent не отвечает уже несколько минут: начатые загрузки остаются как есть, новые ждут.",
	},
	notice.AlertDownloadsLogin: {
		"qBittorrent refuses our name and password: downloads wait until the setting is corrected and the worker restarted.",
		"qBittorrent не принимает наши имя и пароль: загрузки ждут, пока настройку не исправят и не перезапустят worker.",
	},
	notice.AlertDownloadsSpace: {
		"There is little room left on the disk of qBittorrent. New downloads wait until there is more.",
		"На диске qBittorrent мало места. Новые загрузки ждут, пока оно появится.",
	},
	notice.AlertMediaMissing: {
		"Files of too many books are gone at once: none was marked as missing. Look whether the library's disk is there, or mark them by hand.",
		"Пропали файлы сразу слишком многих книг: ни одна не отмечена. Проверьте диск библиотеки или отметьте их вручную.",
	},
	notice.AlertFragmentSession: {
		"Fragment does not accept our session any more: purchases of Stars wait until the cookies are renewed and the worker restarted.",
		"Fragment больше не принимает наш вход: покупки звёзд ждут, пока cookies не обновят и не перезапустят worker.",
	},
	notice.AlertPaymentRefused: {
		"A payment that Fragment asked for did not pass our checks, and was not made. Look at it: /tx",
		"Платёж, который запросил Fragment, не прошёл наши проверки и не сделан. Посмотрите: /tx",
	},
	notice.AlertDailyLimit: {
		"The limit of payments for a day is reached: what does not fit waits, smaller payments go on.",
		"Достигнут дневной предел платежей: что не помещается, ждёт, меньшие платежи проходят.",
	},
	notice.AlertWalletEmpty: {
		"There is too little GRAM in the wallet: purchases of Stars wait until it is filled up.",
		"В кошельке не хватает GRAM: покупки звёзд ждут, пока его не пополнят.",
	},
	notice.AlertTransactionStuck: {
		"A transaction has been in processing for too long. Nothing was reset; look at it: /tx",
		"Транзакция обрабатывается слишком долго. Ничего не сброшено; посмотрите: /tx",
	},
	notice.AlertTransactionReview: {
		"A transaction needs review: it is never bought again before you resolve it. Look at it: /tx",
		"Транзакция требует разбора: до вашего решения её не купят повторно. Посмотрите: /tx",
	},
	notice.AlertTransactionGivenUp: {
		"An order could not be carried out, and is not tried again by itself any more. The payer waits: look at it with /tx, remove the reason, and retry it.",
		"Заказ не удалось выполнить, и сам он больше не повторяется. Плательщик ждёт: посмотрите в /tx, устраните причину и повторите.",
	},
	notice.AlertRefund: {
		"A refund could not be paid. Look at the transactions: /tx",
		"Не удалось вернуть деньги. Посмотрите транзакции: /tx",
	},
	notice.AlertChain: {
		"The wallet cannot be followed: new transfers are not seen, and payments are not confirmed.",
		"За кошельком не удаётся следить: новых переводов не видно, платежи не подтверждаются.",
	},
	notice.AlertChainClock: {
		"The time that toncenter tells is more than two minutes from ours. Nothing is taken for true that depends on it: purchases wait. Check this machine's clock, then toncenter.",
		"Время, которое сообщает toncenter, расходится с нашим больше чем на две минуты. Всё, что от него зависит, не принимается: покупки ждут. Проверьте часы этой машины, затем toncenter.",
	},
	notice.AlertDeposit: {
		"Two sources tell different things about a large deposit: nothing is paid for it before you resolve it. Look at it: /tx",
		"Два источника сообщают о крупном переводе разное: до вашего решения по нему ничего не платят. Посмотрите: /tx",
	},
	notice.AlertSecondSource: {
		"The second source of the chain has not answered for some minutes: large deposits wait for it.",
		"Второй источник блокчейна не отвечает уже несколько минут: крупные переводы ждут.",
	},
	notice.AlertTokenEnding: {
		"The storage's token ends within a week and nothing renews it: deliveries stop then. Authorise the service anew.",
		"Токен хранилища истекает в течение недели, и его нечем обновить: потом доставки остановятся. Выдайте доступ заново.",
	},
	notice.AlertQueue: {
		"Too much waits in a queue, or for too long. See /status, and start more workers.",
		"В очереди ждёт слишком много или слишком долго. Смотрите /status и добавьте обработчиков.",
	},
	notice.AlertNoWorker: {
		"No worker has been heard of for a while: nothing is being done. Start one.",
		"Обработчиков давно не слышно: ничего не выполняется. Запустите хотя бы один.",
	},
	notice.AlertStuckJobs: {
		"Deliveries in workers' hands show no sign of life. See /status.",
		"Доставки у обработчиков не подают признаков жизни. Смотрите /status.",
	},
	notice.AlertStorageAway: {
		"The file storage has not answered for some minutes: deliveries are tried again and may fail.",
		"Хранилище файлов не отвечает уже несколько минут: доставки повторяются и могут не удаться.",
	},
	notice.AlertFragmentAway: {
		"Fragment has not answered for some minutes: purchases of Stars are tried again and may fail.",
		"Fragment не отвечает уже несколько минут: покупки звёзд повторяются и могут не удаться.",
	},
	notice.AlertFindings: {
		"The record and the workflows differed somewhere: the reconciler repairs it. See: starter findings",
		"Записи и процессы где-то разошлись: сверка исправляет это. Смотрите: starter findings",
	},
	notice.AlertTemporalAway: {
		"The workflow service does not answer: nothing new is begun, what is recorded waits.",
		"Служба процессов не отвечает: ничего нового не начинается, записанное ждёт.",
	},
	notice.AlertDatabaseAway: {
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
	notice.AlertStorageToken:   {"The storage accepts our token again.", "Хранилище снова принимает наш токен."},
	notice.AlertTelegramToken:  {"Telegram accepts our token again.", "Telegram снова принимает наш токен."},
	notice.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
	notice.AlertDownloadsLogin: {"qBittorrent lets us in again.", "qBittorrent снова нас пускает."},
	notice.AlertDownloadsSpace: {"There is room again on qBittorrent's disk.", "На диске qBittorrent снова есть место."},

	notice.AlertMediaMissing: {"The files of the books are looked after again.", "За файлами книг снова следят."},

	notice.AlertFragmentSession:    {"Fragment accepts our session again: purchases of Stars go on.", "Fragment снова принимает наш вход: покупки звёзд продолжаются."},
	notice.AlertPaymentRefused:     {"The payments that Fragment asks for pass our checks again.", "Платежи, которые запрашивает Fragment, снова проходят проверки."},
	notice.AlertDailyLimit:         {"Payments are below the limit for a day again.", "Платежи снова в пределах дневного лимита."},
	notice.AlertWalletEmpty:        {"There is enough GRAM in the wallet again.", "В кошельке снова достаточно GRAM."},
	notice.AlertTransactionStuck:   {"No transaction is stuck any more.", "Зависших транзакций больше нет."},
	notice.AlertTransactionReview:  {"No transaction needs review any more.", "Транзакций, требующих разбора, больше нет."},
	notice.AlertTransactionGivenUp: {"No failed order waits for a decision any more.", "Неудавшихся заказов, ждущих решения, больше нет."},
	notice.AlertRefund:             {"Refunds are paid again.", "Возвраты снова проходят."},
	notice.AlertChain:              {"The wallet is followed again.", "За кошельком снова удаётся следить."},

	notice.AlertChainClock: {"The time that toncenter tells is right again.", "Время, которое сообщает toncenter, снова верно."},

	notice.AlertDeposit:      {"No deposit is disputed any more.", "Спорных переводов больше нет."},
	notice.AlertSecondSource: {"The second source of the chain answers again.", "Второй источник блокчейна снова отвечает."},

	notice.AlertTokenEnding:  {"The storage's token does not end soon any more.", "Токен хранилища больше не истекает в ближайшее время."},
	notice.AlertQueue:        {"The queues are short again.", "Очереди снова короткие."},
	notice.AlertNoWorker:     {"A worker is heard of again.", "Обработчик снова на связи."},
	notice.AlertStuckJobs:    {"No delivery is stuck any more.", "Зависших доставок больше нет."},
	notice.AlertStorageAway:  {"The file storage answers again.", "Хранилище файлов снова отвечает."},
	notice.AlertFragmentAway: {"Fragment answers again.", "Fragment снова отвечает."},
	notice.AlertFindings:     {"The reconciler finds nothing new any more.", "Сверка больше не находит нового."},
	notice.AlertTemporalAway: {"The workflow service answers again.", "Служба процессов снова отвечает."},
	notice.AlertDatabaseAway: {"The database answers again.", "База данных снова отвечает."},
}

func alertOverText(kind string) chat.Text {
	if known, ok := alertOverTexts[kind]; ok {
		return known
	}
	return chat.Text{"This is over: " + kind, "Это закончилось: " + kind}
}
