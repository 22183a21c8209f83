package chat

import "stagecoach/internal/fault"

// What several faults mean to a person.
var (
	textTrouble         = Text{"Internal error. Try again later.", "Внутренняя ошибка. Попробуйте позже."}
	textNotUnderstood   = Text{"I did not understand that. /help lists what I can do.", "Не удалось понять запрос. Что я умею: /help"}
	textStorageAway     = Text{"The file storage is unavailable. Try again later.", "Хранилище файлов недоступно. Попробуйте позже."}
	textTelegramAway    = Text{"Telegram did not accept the file. Try again later.", "Telegram не принял файл. Попробуйте позже."}
	textTelegramRefused = Text{"Telegram refused the file.", "Telegram отказался принять файл."}
	textServiceAway     = Text{"The service is unavailable. Try again in a minute.", "Сервис временно недоступен. Попробуйте через минуту."}
	textChainAway       = Text{"The TON network is unavailable.", "Сеть TON недоступна."}
	textStarsAway       = Text{"Stars cannot be bought now.", "Сейчас звёзды купить нельзя."}
	textNoFile          = Text{"This file or folder no longer exists.", "Этого файла или папки больше нет."}
)

// faultTexts says every fault in plain words, free of HTML. The names of the systems behind the service stay inside.
var faultTexts = map[fault.Code]Text{
	fault.Validation:         textNotUnderstood,
	fault.Unauthenticated:    TextBlocked,
	fault.InsufficientAccess: TextAdminsOnly,
	fault.InsufficientScope:  TextAdminsOnly,
	fault.TokenNotFound:      {"No such token.", "Такого токена нет."},
	fault.MetricsMoved:       textNotUnderstood,
	fault.NotFound:           {"Not found.", "Не найдено."},
	fault.DeliveryNotFound:   {"No such delivery. /jobs lists yours.", "Такой доставки нет. Ваши доставки: /jobs"},
	fault.UserNotFound:       {"No such user.", "Такого пользователя нет."},
	fault.UserExists:         {"This user already exists.", "Этот пользователь уже есть."},
	fault.WorkspaceNotFound:  {"No such workspace.", "Такого рабочего пространства нет."},
	fault.InvalidTransition:  {"It has already ended, so there is nothing to cancel.", "Уже завершено, отменять нечего."},
	fault.UserNotActive:      {"You have no access now.", "Сейчас у вас нет доступа."},
	fault.NoTelegramChat:     {"There is no chat to send the file to.", "Нет чата, куда отправить файл."},
	fault.RateLimited:        {"Too many requests. Wait a few seconds.", "Слишком много запросов. Подождите несколько секунд."},
	fault.StreamsFull:        textServiceAway,
	fault.CursorGone:         textNotUnderstood,
	fault.QuotaExceeded:      {"You have reached the limit for one person.", "Вы достигли предела для одного человека."},
	fault.OwnAccess:          {"You cannot change your own access.", "Свой доступ изменить нельзя."},
	fault.LastAdmin:          {"This is the last administrator. Appoint another one first.", "Это последний администратор. Сначала назначьте другого."},
	fault.IdempotencyKey:     textNotUnderstood,
	fault.BodyTooLarge:       textNotUnderstood,
	fault.MediaType:          textNotUnderstood,
	fault.MethodNotAllowed:   textNotUnderstood,
	fault.RequestTimeout:     textNotUnderstood,

	fault.TaskNotFound:       {"No such task, or you may not see it.", "Такой задачи нет, или вам нельзя её видеть."},
	fault.TaskAlreadyClaimed: {"Somebody else has already claimed this task.", "Эту задачу уже взял кто-то другой."},
	fault.CommentRequired:    {"A comment is required. Say why in a few words.", "Нужен комментарий. Напишите в двух словах почему."},
	fault.UnresolvedBlockers: {"The tasks that this one waits for are not done yet.", "Задачи, которых ждёт эта, ещё не сделаны."},
	fault.CyclicDependency:   {"These tasks would wait for each other forever.", "Эти задачи ждали бы друг друга вечно."},
	fault.UnknownBlocker:     {"It would wait for a task that does not exist.", "Она ждала бы задачу, которой нет."},
	fault.CannotEscalateOwn:  {"You cannot escalate your own task. Set it to blocked instead.", "Свою задачу нельзя эскалировать. Отметьте, что она заблокирована."},
	fault.CannotTakeover:     {"The task is already yours. Set it to in progress instead.", "Задача уже ваша. Верните её в работу."},

	fault.TransactionNotFound: {"No such transaction.", "Такой транзакции нет."},
	fault.WalletNotFound:      {"This wallet is not watched yet.", "За этим кошельком ещё не следят."},
	fault.PaymentNotFound:     {"No such payment.", "Такого платежа нет."},
	fault.PaymentNotAllowed:   {"The payment would go to an address that is not allowed.", "Платёж ушёл бы на неразрешённый адрес."},
	fault.NotConfigured:       {"Stars are not sold here.", "Звёзды здесь не продаются."},
	fault.PaymentUndecided:    {"Its payment is on its way or has arrived. Wait for the result on the chain.", "Её платёж в пути или уже дошёл. Дождитесь результата в блокчейне."},
	fault.PaymentDecided:      {"The outcome of this payment is already known.", "Исход этого платежа уже известен."},
	fault.NoTurn:              {"Another payment comes first.", "Сначала идёт другой платёж."},
	fault.PaymentsPaused:      {"Payments are paused by an administrator.", "Платежи приостановлены администратором."},
	fault.PaymentsHeld:        {"Purchases are stopped for now and continue automatically.", "Покупки пока остановлены и продолжатся автоматически."},
	fault.PaymentLimit:        {"This purchase is above the limit for one purchase.", "Эта покупка больше предела для одной покупки."},
	fault.RefundLimit:         {"This refund is above the limit for one refund. An administrator has to allow it.", "Этот возврат больше предела для одного возврата. Его должен разрешить администратор."},
	fault.DailyLimit:          {"The daily limit is reached.", "Дневной лимит исчерпан."},
	fault.InsufficientFunds:   {"There is not enough GRAM in the wallet.", "В кошельке недостаточно GRAM."},
	fault.ChainGap:            {"The wallet's history has a gap and is being read again.", "В истории кошелька есть пропуск, она читается заново."},
	fault.BookNotFound:        {"No such book.", "Такой книги нет."},
	fault.DownloadNotFound:    {"No such download. /downloads lists yours.", "Такой загрузки нет. Ваши загрузки: /downloads"},
	fault.NoFreeSpace:         {"There is too little free disk space. The download waits until there is more.", "Мало свободного места на диске. Загрузка ждёт, пока его станет больше."},
	fault.MediaNotReady:       textTrouble,

	fault.SourceUnavailable: {"The site of the torrent file does not answer now.", "Сайт с торрент-файлом сейчас не отвечает."},
	fault.SourceRefused:     {"The site refuses to send this torrent file. Check the link.", "Сайт не отдаёт этот торрент-файл. Проверьте ссылку."},
	fault.SourceForbidden:   {"This link leads to an address that is not on the Internet.", "Ссылка ведёт на адрес не из интернета."},
	fault.SourceTooBig:      {"The file behind the link is too big for a torrent file.", "Файл по ссылке слишком большой для торрент-файла."},
	fault.SourceNotTorrent:  {"The file behind the link is not a torrent file.", "Файл по ссылке — не торрент-файл."},

	fault.FileNotFound: textNoFile,
	fault.FileTooBig:   {"The file is too big: Telegram accepts up to about 2 GB.", "Файл слишком большой: Telegram принимает примерно до 2 ГБ."},
	fault.FileEmpty:    {"The file is empty: Telegram does not accept empty files.", "Файл пустой: Telegram не принимает пустые файлы."},
	fault.FileIsFolder: {"This is a folder: choose a file in it.", "Это папка: выберите файл в ней."},
	fault.FileChanged:  {"The file changed while it was being sent. Try again.", "Файл изменился во время отправки. Попробуйте ещё раз."},

	fault.YandexUnauthorized: textStorageAway,
	fault.YandexRateLimited:  textStorageAway,
	fault.YandexLocked:       {"The file is locked now. Try again later.", "Файл сейчас заблокирован. Попробуйте позже."},
	fault.YandexUnavailable:  textStorageAway,
	fault.YandexTimeout:      textStorageAway,
	fault.YandexUnreachable:  textStorageAway,
	fault.YandexProtocol:     textStorageAway,

	fault.TelegramUnauthorized: textTelegramAway,
	fault.TelegramForbidden:    {"Telegram does not let me write to this chat.", "Telegram не разрешает мне писать в этот чат."},
	fault.TelegramRejected:     textTelegramRefused,
	fault.TelegramRateLimited:  textTelegramAway,
	fault.TelegramUnavailable:  textTelegramAway,
	fault.TelegramTimeout:      textTelegramAway,
	fault.TelegramUnreachable:  textTelegramAway,
	fault.TelegramFileID:       textTelegramRefused,

	fault.ChainUnauthorized: textChainAway,
	fault.ChainRateLimited:  textChainAway,
	fault.ChainUnavailable:  textChainAway,
	fault.ChainTimeout:      textChainAway,
	fault.ChainUnreachable:  textChainAway,
	fault.ChainProtocol:     textChainAway,
	fault.ChainClock:        textChainAway,

	fault.FragmentNoUser:       {"Nobody on Telegram has this username.", "В Telegram нет пользователя с таким именем."},
	fault.FragmentNotAUser:     {"This username belongs to a channel or a bot, which cannot get Stars.", "Это имя канала или бота: им нельзя подарить звёзды."},
	fault.FragmentNoGift:       {"This account cannot get Stars at the moment.", "Этому аккаунту сейчас нельзя подарить звёзды."},
	fault.FragmentUnauthorized: textStarsAway,
	fault.FragmentVerify:       textStarsAway,
	fault.FragmentRefused:      textStarsAway,
	fault.FragmentUnavailable:  textStarsAway,
	fault.FragmentTimeout:      textStarsAway,
	fault.FragmentUnreachable:  textStarsAway,
	fault.FragmentProtocol:     textStarsAway,
	fault.ProviderUnavailable:  {"The download program is unavailable. The service keeps trying.", "Программа загрузки недоступна. Попытки продолжаются."},
	fault.ProviderUnauthorized: {"The download program refuses the service's login.", "Программа загрузки не принимает вход сервиса."},
	fault.ProviderRejected:     {"The download program refused it.", "Программа загрузки отказалась это принять."},

	fault.MissingExternalJob: {"The download program no longer has it.", "Её больше нет в программе загрузки."},
	fault.ProviderError:      {"The download program reported an error.", "Программа загрузки сообщила об ошибке."},
	fault.EnqueueFailed:      {"It could not be started.", "Её не удалось начать."},
	fault.EnqueueUnavailable: {"The download program was unavailable for too long. Try again later.", "Программа загрузки слишком долго была недоступна. Попробуйте позже."},
	fault.BookGone:           {"The book has been removed.", "Книгу удалили."},
	fault.Stalled:            {"There has been no progress for a long time. Perhaps nobody shares it any more.", "Уже долго ничего не загружается. Возможно, раздающих больше нет."},

	fault.OutcomeUnknown: {
		"The outcome is unknown: the file may or may not have arrived. Look in this chat before you ask for it again.",
		"Исход неизвестен: файл мог дойти, а мог и не дойти. Посмотрите в этом чате, прежде чем запрашивать его снова.",
	},
	fault.JobTimeout:           {"It took too long and was stopped. Try again later.", "Это длилось слишком долго и было остановлено. Попробуйте позже."},
	fault.TooManyAttempts:      {"All attempts failed. Try again later.", "Все попытки не удались. Попробуйте позже."},
	fault.WorkerLost:           textTrouble,
	fault.TerminatedByOperator: {"An operator stopped it.", "Остановлено оператором."},
	fault.PausedByOperator:     {"An operator paused it.", "Приостановлено оператором."},
	fault.ResetByOperator:      {"An operator restarted it.", "Перезапущено оператором."},
	fault.WorkflowLost:         textTrouble,
	fault.CancelledByUser:      {"It was cancelled.", "Отменено."},
	fault.NotClaimedInTime:     {"It waited in the queue for too long. Try again later.", "Слишком долгое ожидание в очереди. Попробуйте позже."},
	fault.SpoolFull:            textServiceAway,
	fault.Internal:             textTrouble,
	fault.StoreUnavailable:     textServiceAway,
	fault.TemporalUnavailable:  textServiceAway,
}

// FaultText gives the plain words for a fault.
func FaultText(code fault.Code) Text {
	if known, ok := faultTexts[code]; ok {
		return known
	}
	return textTrouble
}
