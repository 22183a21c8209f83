package bot

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/notice"
)

// alertTexts name the incidents that administrators are notified of.
var alertTexts = map[string]chat.Text{
	notice.AlertStorageToken:       {"The file storage refuses our token, even after a refresh. Deliveries fail until somebody authorises the service again.", "Хранилище файлов не принимает наш токен даже после обновления. Доставки не будут работать, пока доступ не выдадут заново."},
	notice.AlertTelegramToken:      {"Telegram refused our token. Deliveries failed until it was replaced.", "Telegram не принимал наш токен. Доставки не работали, пока его не заменили."},
	notice.AlertDownloadsAway:      {"qBittorrent has not answered for some minutes. Downloads in progress stay as they are, new ones wait.", "qBittorrent не отвечает уже несколько минут. Начатые загрузки остаются как есть, новые ждут."},
	notice.AlertDownloadsLogin:     {"qBittorrent refuses our name and password. Downloads wait until the setting is corrected and the worker is restarted.", "qBittorrent не принимает наши имя и пароль. Загрузки ждут, пока настройку не исправят и не перезапустят worker."},
	notice.AlertDownloadsSpace:     {"There is too little free space on qBittorrent's disk. New downloads wait until there is more.", "На диске qBittorrent мало места. Новые загрузки ждут, пока его станет больше."},
	notice.AlertMediaMissing:       {"The files of too many books disappeared at once, so none was marked as missing. Check the library's disk, or mark the files by hand.", "Пропали файлы сразу слишком многих книг, поэтому ни один не отмечен. Проверьте диск библиотеки или отметьте файлы вручную."},
	notice.AlertFragmentSession:    {"Fragment no longer accepts our session. Purchases of Stars wait until the cookies are renewed and the worker is restarted.", "Fragment больше не принимает наш вход. Покупки звёзд ждут, пока cookies не обновят и не перезапустят worker."},
	notice.AlertPaymentRefused:     {"A payment that Fragment asked for failed our checks and was not made. See /tx", "Платёж, который запросил Fragment, не прошёл наши проверки и не сделан. Смотрите /tx"},
	notice.AlertDailyLimit:         {"The daily limit of payments is reached. Payments that do not fit wait, smaller ones continue.", "Достигнут дневной предел платежей. Платежи, которые не помещаются, ждут, меньшие проходят."},
	notice.AlertWalletEmpty:        {"There is too little GRAM in the wallet. Purchases of Stars wait until it is topped up.", "В кошельке не хватает GRAM. Покупки звёзд ждут, пока его не пополнят."},
	notice.AlertTransactionStuck:   {"A transaction has been in processing for too long. Nothing was reset. See /tx", "Транзакция обрабатывается слишком долго. Ничего не сброшено. Смотрите /tx"},
	notice.AlertTransactionReview:  {"A transaction needs review. It is not bought again until you resolve it. See /tx", "Транзакция требует разбора. До вашего решения покупку не повторят. Смотрите /tx"},
	notice.AlertTransactionGivenUp: {"An order failed and is no longer retried automatically. The payer waits. Look at it with /tx, remove the cause, and retry it.", "Заказ не удалось выполнить, и автоматически он больше не повторяется. Плательщик ждёт. Посмотрите в /tx, устраните причину и повторите."},
	notice.AlertRefund:             {"A refund could not be paid. See /tx", "Не удалось вернуть деньги. Смотрите /tx"},
	notice.AlertChain:              {"The wallet cannot be followed. New transfers are not seen, and payments are not confirmed.", "За кошельком не удаётся следить. Новых переводов не видно, платежи не подтверждаются."},
	notice.AlertChainClock:         {"The time that toncenter reports differs from ours by more than two minutes. Nothing that depends on it is trusted, so purchases wait. Check this machine's clock, then toncenter.", "Время, которое сообщает toncenter, расходится с нашим больше чем на две минуты. Всему, что от него зависит, нельзя верить, поэтому покупки ждут. Проверьте часы этой машины, затем toncenter."},
	notice.AlertDeposit:            {"Two sources disagree about a large deposit. Nothing is paid for it until you resolve it. See /tx", "Два источника сообщают о крупном переводе разное. До вашего решения по нему ничего не платят. Смотрите /tx"},
	notice.AlertSecondSource:       {"The second source of the chain has not answered for some minutes. Large deposits wait for it.", "Второй источник блокчейна не отвечает уже несколько минут. Крупные переводы ждут."},
	notice.AlertTokenEnding:        {"The file storage's token expires within a week and cannot be renewed automatically. Deliveries stop then. Authorise the service again.", "Токен хранилища файлов истекает в течение недели, и обновить его автоматически нельзя. Потом доставки остановятся. Выдайте доступ заново."},
	notice.AlertQueue:              {"A queue is too long, or its oldest entry has waited for too long. See /status, and start more workers.", "Очередь слишком длинная или ждёт слишком долго. Смотрите /status и добавьте обработчиков."},
	notice.AlertNoWorker:           {"No worker has sent a heartbeat for a while, so nothing is being done. Start one.", "Обработчики давно не подают сигналов, поэтому ничего не выполняется. Запустите хотя бы один."},
	notice.AlertStuckJobs:          {"Deliveries in progress have sent no heartbeat for too long. See /status.", "Начатые доставки слишком долго не подают сигналов. Смотрите /status."},
	notice.AlertStorageAway:        {"The file storage has not answered for some minutes. Deliveries are retried and may fail.", "Хранилище файлов не отвечает уже несколько минут. Доставки повторяются и могут не удаться."},
	notice.AlertFragmentAway:       {"Fragment has not answered for some minutes. Purchases of Stars are retried and may fail.", "Fragment не отвечает уже несколько минут. Покупки звёзд повторяются и могут не удаться."},
	notice.AlertFindings:           {"The record and the workflows differed. The reconciler repairs the difference. See: starter findings", "Записи и процессы разошлись. Сверка исправляет расхождение. Смотрите: starter findings"},
	notice.AlertTemporalAway:       {"The workflow service does not answer. Nothing new is started, and what is recorded waits.", "Служба процессов не отвечает. Ничего нового не начинается, записанное ждёт."},
	notice.AlertDatabaseAway:       {"The database did not answer for a while. Nothing could be requested or recorded.", "База данных какое-то время не отвечала. Ничего нельзя было ни запросить, ни записать."},
}

func alertText(kind string) chat.Text {
	if known, ok := alertTexts[kind]; ok {
		return known
	}
	return chat.Text{"Something needs attention: " + kind, "Что-то требует внимания: " + kind}
}

// alertOverTexts say that an incident is over.
var alertOverTexts = map[string]chat.Text{
	notice.AlertStorageToken:   {"The file storage accepts our token again.", "Хранилище файлов снова принимает наш токен."},
	notice.AlertTelegramToken:  {"Telegram accepts our token again.", "Telegram снова принимает наш токен."},
	notice.AlertDownloadsAway:  {"qBittorrent answers again.", "qBittorrent снова отвечает."},
	notice.AlertDownloadsLogin: {"qBittorrent accepts our name and password again.", "qBittorrent снова принимает наши имя и пароль."},
	notice.AlertDownloadsSpace: {"There is enough free space on qBittorrent's disk again.", "На диске qBittorrent снова достаточно места."},

	notice.AlertMediaMissing: {"The files of the books are checked again.", "Файлы книг снова проверяются."},

	notice.AlertFragmentSession:    {"Fragment accepts our session again: purchases of Stars continue.", "Fragment снова принимает наш вход: покупки звёзд продолжаются."},
	notice.AlertPaymentRefused:     {"The payments that Fragment asks for pass our checks again.", "Платежи, которые запрашивает Fragment, снова проходят проверки."},
	notice.AlertDailyLimit:         {"Payments are below the daily limit again.", "Платежи снова в пределах дневного лимита."},
	notice.AlertWalletEmpty:        {"There is enough GRAM in the wallet again.", "В кошельке снова достаточно GRAM."},
	notice.AlertTransactionStuck:   {"No transaction is stuck any more.", "Зависших транзакций больше нет."},
	notice.AlertTransactionReview:  {"No transaction needs review any more.", "Транзакций, требующих разбора, больше нет."},
	notice.AlertTransactionGivenUp: {"No failed order waits for a decision any more.", "Неудавшихся заказов, ждущих решения, больше нет."},
	notice.AlertRefund:             {"Refunds are paid again.", "Возвраты снова проходят."},
	notice.AlertChain:              {"The wallet is followed again.", "За кошельком снова удаётся следить."},

	notice.AlertChainClock: {"The time that toncenter reports is right again.", "Время, которое сообщает toncenter, снова верно."},

	notice.AlertDeposit:      {"No deposit is disputed any more.", "Спорных переводов больше нет."},
	notice.AlertSecondSource: {"The second source of the chain answers again.", "Второй источник блокчейна снова отвечает."},

	notice.AlertTokenEnding:  {"The file storage's token no longer expires soon.", "Токен хранилища файлов больше не истекает в ближайшее время."},
	notice.AlertQueue:        {"The queues are short again.", "Очереди снова короткие."},
	notice.AlertNoWorker:     {"A worker sends heartbeats again.", "Обработчик снова подаёт сигналы."},
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
