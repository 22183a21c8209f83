package bot

import (
	"stagecoach/api/words"
)

// Labels of buttons.
var (
	labelApprove = words.Text{"✅ Approve %d", "✅ Впустить %d"}
	labelBlock   = words.Text{"⛔ Block %d", "⛔ Закрыть %d"}
)

// Access.
var (
	textWelcome        = words.Text{"Hello! Choose a file, and I will send it to this chat. What else I can do: /help", "Здравствуйте! Выберите файл, и я пришлю его в этот чат. Что ещё я умею: /help"}
	textWelcomePending = words.Text{"Hello! An administrator will review your request. I will write to you when you have access.", "Здравствуйте! Администратор рассмотрит вашу заявку. Я напишу, когда доступ откроют."}
	textApproved       = words.Text{"You have been approved: choose a file, and I will send it to this chat.", "Доступ открыт: выберите файл, и я пришлю его в этот чат."}
	textPending        = words.Text{"An administrator has not approved you yet. I will write to you when that happens.", "Администратор ещё не открыл вам доступ. Я напишу, когда это случится."}
	textPrivateOnly    = words.Text{"I work in private chats only: write to me there.", "Я работаю только в личных чатах: напишите мне туда."}
	textNewcomer       = words.Text{"👤 <b>%s</b> asks for access. User %d.", "👤 <b>%s</b> просит доступ. Пользователь %d."}
	textPendingUsers   = words.Text{"<b>Waiting for approval</b>", "<b>Ждут доступа</b>"}
	textPendingUser    = words.Text{"%d: %s", "%d: %s"}
	textNobodyWaits    = words.Text{"Nobody is waiting for approval.", "Никто не ждёт доступа."}
	textUserActive     = words.Text{"✅ User %d, <b>%s</b>, has access.", "✅ Пользователь %d, <b>%s</b>: доступ открыт."}
	textUserBlocked    = words.Text{"⛔ User %d, <b>%s</b>, has no access.", "⛔ Пользователь %d, <b>%s</b>: доступ закрыт."}
	textUserUsage      = words.Text{"Give the user's number, for example: /approve 7 or /block 7", "Укажите номер пользователя, например: /approve 7 или /block 7"}
)

// The language.
var (
	textLanguage       = words.Text{"Which language do you prefer?", "На каком языке вам удобнее?"}
	textLanguageChosen = words.Text{"✅ From now on I write to you in English. To change it: /language", "✅ Теперь пишу вам по-русски. Сменить язык: /language"}
)

// Help, and answers to unknown input.
var (
	textHelp           = words.Text{"I send files from the shared folder to this chat. Write a part of a name to search for it. I also show the tasks that you share with others, download books into the library (send me a link), and explain how to buy Telegram Stars for GRAM (ex TON).\n", "Я присылаю файлы из общей папки в этот чат. Напишите часть названия, чтобы найти файл. Ещё я показываю задачи, которые у вас общие с другими, скачиваю книги в библиотеку (пришлите ссылку) и объясняю, как купить звёзды Telegram за GRAM (бывший TON).\n"}
	textUnknownCommand = words.Text{"I do not know this command. /help lists what I can do.", "Я не знаю такой команды. Что я умею: /help"}
)

// The pages.
var (
	textSignIn       = words.Text{"This link signs you in once, within five minutes:\n%s", "Одноразовая ссылка для входа, действует пять минут:\n%s"}
	textConfirmed    = words.Text{"✅ Confirmed. Continue in the browser.", "✅ Подтверждено. Продолжайте в браузере."}
	textConfirmAlone = words.Text{"Send this command with the code that a page in your browser shows, for example: /confirm 123456", "Отправьте эту команду с кодом, который показывает страница в браузере, например: /confirm 123456"}
	textConfirmUsage = words.Text{"No page waits for this code, or it is older than five minutes. Open the page again.", "Этого кода никто не ждёт, или ему больше пяти минут. Откройте страницу ещё раз."}
)

// Status.
var (
	textStatus          = words.Text{"<b>Status</b>", "<b>Состояние</b>"}
	textQueueDepth      = words.Text{"Queue: %d", "Очередь: %d"}
	textHeartbeat       = words.Text{"Last heartbeat of a worker: %s", "Последний сигнал обработчика: %s"}
	textToken           = words.Text{"Storage token expires in: %s", "Токен хранилища истекает через: %s"}
	textTemporalAway    = words.Text{"⚠️ the workflow service does not answer", "⚠️ служба процессов не отвечает"}
	textQueueLine       = words.Text{"Queue %s (%s): %d, oldest %s", "Очередь %s (%s): %d, старейшая %s"}
	textWorkers         = words.Text{"Workers: %d", "Обработчиков: %d"}
	textFails           = words.Text{"⚠️ %s: <code>%s</code> for %s", "⚠️ %s: <code>%s</code> уже %s"}
	textAlertOpen       = words.Text{"🚨 <code>%s</code> for %s", "🚨 <code>%s</code> уже %s"}
	textReviews         = words.Text{"⚠️ transactions that need review: %d", "⚠️ транзакций, требующих разбора: %d"}
	textPaymentsStopped = words.Text{"⏸ payments are stopped: %s", "⏸ платежи остановлены: %s"}
	textFindings        = words.Text{"⚠️ findings of the reconciler: %d in 10 minutes, %d open", "⚠️ находки сверки: %d за 10 минут, открытых: %d"}
	textTopErrors       = words.Text{"<b>Errors in 24 hours</b>", "<b>Ошибки за 24 часа</b>"}
	textStuck           = words.Text{"⚠️ stuck: %d (%s)", "⚠️ зависли: %d (%s)"}
)

// Used for an incident without its own text; its kind follows.
var (
	textAlert     = words.Text{"Something needs attention: ", "Что-то требует внимания: "}
	textAlertOver = words.Text{"This is over: ", "Это закончилось: "}
)

var textManyNewcomers = words.Text{
	"Many people are asking for access right now. Please write again in an hour.",
	"Сейчас доступ просит очень много людей. Пожалуйста, напишите ещё раз через час.",
}
