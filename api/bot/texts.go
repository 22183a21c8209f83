package bot

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/notice"
)

// Labels of buttons.
var (
	labelApprove = chat.Text{"✅ Approve %d", "✅ Впустить %d"}
	labelBlock   = chat.Text{"⛔ Block %d", "⛔ Закрыть %d"}
)

// Access.
var (
	textWelcome        = chat.Text{"Hello! Choose a file, and I will send it to this chat. What else I can do: /help", "Здравствуйте! Выберите файл, и я пришлю его в этот чат. Что ещё я умею: /help"}
	textWelcomePending = chat.Text{"Hello! An administrator will review your request. I will write to you when you have access.", "Здравствуйте! Администратор рассмотрит вашу заявку. Я напишу, когда доступ откроют."}
	textApproved       = chat.Text{"You have been approved: choose a file, and I will send it to this chat.", "Доступ открыт: выберите файл, и я пришлю его в этот чат."}
	textPending        = chat.Text{"An administrator has not approved you yet. I will write to you when that happens.", "Администратор ещё не открыл вам доступ. Я напишу, когда это случится."}
	textPrivateOnly    = chat.Text{"I work in private chats only: write to me there.", "Я работаю только в личных чатах: напишите мне туда."}
	textNewcomer       = chat.Text{"👤 <b>%s</b> asks for access. User %d.", "👤 <b>%s</b> просит доступ. Пользователь %d."}
	textPendingUsers   = chat.Text{"<b>Waiting for approval</b>", "<b>Ждут доступа</b>"}
	textPendingUser    = chat.Text{"%d: %s", "%d: %s"}
	textNobodyWaits    = chat.Text{"Nobody is waiting for approval.", "Никто не ждёт доступа."}
	textUserActive     = chat.Text{"✅ User %d, <b>%s</b>, has access.", "✅ Пользователь %d, <b>%s</b>: доступ открыт."}
	textUserBlocked    = chat.Text{"⛔ User %d, <b>%s</b>, has no access.", "⛔ Пользователь %d, <b>%s</b>: доступ закрыт."}
	textUserUsage      = chat.Text{"Give the user's number, for example: /approve 7 or /block 7", "Укажите номер пользователя, например: /approve 7 или /block 7"}
)

// Help, and the answers to unknown input.
var (
	textHelp           = chat.Text{"I send files from the shared folder to this chat. Write a part of a name to search for it. I also show the tasks that you share with others, download books into the library (send me a link), and explain how to buy Telegram Stars for GRAM (ex TON).\n", "Я присылаю файлы из общей папки в этот чат. Напишите часть названия, чтобы найти файл. Ещё я показываю задачи, которые у вас общие с другими, скачиваю книги в библиотеку (пришлите ссылку) и объясняю, как купить звёзды Telegram за GRAM (бывший TON).\n"}
	textUnknownCommand = chat.Text{"I do not know this command. /help lists what I can do.", "Я не знаю такой команды. Что я умею: /help"}
)

// Status.
var (
	textStatus          = chat.Text{"<b>Status</b>", "<b>Состояние</b>"}
	textQueueDepth      = chat.Text{"Queue: %d", "Очередь: %d"}
	textHeartbeat       = chat.Text{"Last heartbeat of a worker: %s", "Последний сигнал обработчика: %s"}
	textToken           = chat.Text{"Storage token expires in: %s", "Токен хранилища истекает через: %s"}
	textTemporalAway    = chat.Text{"⚠️ the workflow service does not answer", "⚠️ служба процессов не отвечает"}
	textQueueLine       = chat.Text{"Queue %s (%s): %d, oldest %s", "Очередь %s (%s): %d, старейшая %s"}
	textWorkers         = chat.Text{"Workers: %d", "Обработчиков: %d"}
	textFails           = chat.Text{"⚠️ %s: <code>%s</code> for %s", "⚠️ %s: <code>%s</code> уже %s"}
	textAlertOpen       = chat.Text{"🚨 <code>%s</code> for %s", "🚨 <code>%s</code> уже %s"}
	textReviews         = chat.Text{"⚠️ transactions that need review: %d", "⚠️ транзакций, требующих разбора: %d"}
	textPaymentsStopped = chat.Text{"⏸ payments are stopped: %s", "⏸ платежи остановлены: %s"}
	textFindings        = chat.Text{"⚠️ findings of the reconciler: %d in 10 minutes, %d open", "⚠️ находки сверки: %d за 10 минут, открытых: %d"}
	textTopErrors       = chat.Text{"<b>Errors in 24 hours</b>", "<b>Ошибки за 24 часа</b>"}
	textStuck           = chat.Text{"⚠️ stuck: %d (%s)", "⚠️ зависли: %d (%s)"}
)

// commonAlerts name the incidents that administrators are notified of, and commonAlertsOver their ends.
var (
	commonAlerts = map[string]chat.Text{
		notice.AlertQueue:        {"A queue is too long, or its oldest entry has waited for too long. See /status, and start more workers.", "Очередь слишком длинная или ждёт слишком долго. Смотрите /status и добавьте обработчиков."},
		notice.AlertNoWorker:     {"No worker has sent a heartbeat for a while, so nothing is being done. Start one.", "Обработчики давно не подают сигналов, поэтому ничего не выполняется. Запустите хотя бы один."},
		notice.AlertFindings:     {"The record and the workflows differed. The reconciler repairs the difference. See: starter findings", "Записи и процессы разошлись. Сверка исправляет расхождение. Смотрите: starter findings"},
		notice.AlertTemporalAway: {"The workflow service does not answer. Nothing new is started, and what is recorded waits.", "Служба процессов не отвечает. Ничего нового не начинается, записанное ждёт."},
		notice.AlertDatabaseAway: {"The database did not answer for a while. Nothing could be requested or recorded.", "База данных какое-то время не отвечала. Ничего нельзя было ни запросить, ни записать."},
	}

	commonAlertsOver = map[string]chat.Text{
		notice.AlertQueue:        {"The queues are short again.", "Очереди снова короткие."},
		notice.AlertNoWorker:     {"A worker sends heartbeats again.", "Обработчик снова подаёт сигналы."},
		notice.AlertFindings:     {"The reconciler finds nothing new any more.", "Сверка больше не находит нового."},
		notice.AlertTemporalAway: {"The workflow service answers again.", "Служба процессов снова отвечает."},
		notice.AlertDatabaseAway: {"The database answers again.", "База данных снова отвечает."},
	}
)

// commonQuotas name the limit that is reached; each takes the limit.
var commonQuotas = map[string]chat.Text{
	"tokens": {
		"You have %d tokens, which is the limit. Revoke some first.",
		"У вас %d токенов, это предел. Сначала отзовите часть из них.",
	},
}

// The texts for an incident without words of its own; its kind follows.
var (
	textAlert     = chat.Text{"Something needs attention: ", "Что-то требует внимания: "}
	textAlertOver = chat.Text{"This is over: ", "Это закончилось: "}
)

var textManyNewcomers = chat.Text{
	"Many people are asking for access right now. Please write again in an hour.",
	"Сейчас доступ просит очень много людей. Пожалуйста, напишите ещё раз через час.",
}
