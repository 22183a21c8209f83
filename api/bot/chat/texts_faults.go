package chat

import "stagecoach/internal/fault"

// What several faults mean to a person.
var (
	textTrouble         = Text{"Something went wrong on our side. Try again later.", "Что-то пошло не так с нашей стороны. Попробуйте позже."}
	textNotUnderstood   = Text{"I did not understand that. /help lists what I can do.", "Не получилось понять. Что я умею: /help"}
	textStorageAway     = Text{"The files cannot be reached now. Try again later.", "Сейчас до файлов не добраться. Попробуйте позже."}
	textTelegramAway    = Text{"Telegram did not take the file. Try again later.", "Telegram не принял файл. Попробуйте позже."}
	textTelegramRefused = Text{"Telegram refused the file.", "Telegram отказался принять файл."}
	textServiceAway     = Text{"The service is busy with itself. Press again in a minute.", "Сервис временно недоступен. Нажмите ещё раз через минуту."}
	textChainAway       = Text{"The TON network cannot be reached now.", "Сеть TON сейчас недоступна."}
	textStarsAway       = Text{"Stars cannot be bought now.", "Сейчас звёзды купить нельзя."}
	textNoFile          = Text{"This file or folder is not there any more.", "Этого файла или папки больше нет."}
)

// faultTexts says every fault in plain words, free of HTML. The names of the systems behind the service stay inside.
var faultTexts = map[fault.Code]Text{
	fault.Validation:         textNotUnderstood,
	fault.Unauthenticated:    TextBlocked,
	fault.InsufficientAccess: TextAdminsOnly,
	fault.InsufficientScope:  TextAdminsOnly,
	fault.TokenNotFound:      {"There is no such token.", "Такого токена нет."},
	fault.MetricsMoved:       textNotUnderstood,
	fault.NotFound:           {"There is no such thing.", "Такого нет."},
	fault.DeliveryNotFound:   {"There is no such delivery. /jobs lists yours.", "Такой доставки нет. Ваши доставки: /jobs"},
	fault.UserNotFound:       {"There is no such user.", "Такого пользователя нет."},
	fault.UserExists:         {"There is such a user already.", "Такой пользователь уже есть."},
	fault.WorkspaceNotFound:  {"There is no such workspace.", "Такого рабочего пространства нет."},
	fault.InvalidTransition:  {"It has ended already: nothing to stop.", "Уже завершено: останавливать нечего."},
	fault.UserNotActive:      {"You have no access now.", "Сейчас у вас нет доступа."},
	fault.NoTelegramChat:     {"There is no chat to send it to.", "Нет чата, куда отправить."},
	fault.RateLimited:        {"That is too much at once: wait a few seconds.", "Слишком часто: подождите несколько секунд."},
	fault.StreamsFull:        textServiceAway,
	fault.CursorGone:         textNotUnderstood,
	fault.QuotaExceeded:      {"You have as many of these as one person may have.", "У вас их уже столько, сколько может быть у одного человека."},
	fault.OwnAccess:          {"You cannot decide about yourself.", "Решать о себе самом нельзя."},
	fault.LastAdmin:          {"This is the last administrator: make another one first.", "Это последний администратор: сначала назначьте другого."},
	fault.IdempotencyKey:     textNotUnderstood,
	fault.BodyTooLarge:       textNotUnderstood,
	fault.MediaType:          textNotUnderstood,
	fault.MethodNotAllowed:   textNotUnderstood,
	fault.RequestTimeout:     textNotUnderstood,

	fault.TaskNotFound:       {"There is no such task, or it is not for you to see.", "Такой задачи нет, или она вам не видна."},
	fault.TaskAlreadyClaimed: {"Somebody else has taken this task already.", "Эту задачу уже взял кто-то другой."},
	fault.CommentRequired:    {"Say in a few words why: this needs a comment.", "Напишите в двух словах почему: здесь нужен комментарий."},
	fault.UnresolvedBlockers: {"The tasks that this one waits for are not done yet.", "Задачи, которых ждёт эта, ещё не сделаны."},
	fault.CyclicDependency:   {"These tasks would wait for each other for ever.", "Эти задачи ждали бы друг друга вечно."},
	fault.UnknownBlocker:     {"It would wait for a task that is not there.", "Она ждала бы задачу, которой нет."},
	fault.CannotEscalateOwn:  {"You cannot escalate your own task: set it to blocked instead.", "Свою задачу нельзя эскалировать: отметьте, что она заблокирована."},
	fault.CannotTakeover:     {"It is yours already: set it to in progress instead.", "Она и так ваша: верните её в работу."},

	fault.TransactionNotFound: {"There is no such transaction.", "Такой транзакции нет."},
	fault.WalletNotFound:      {"This wallet is not watched yet.", "За этим кошельком ещё не следят."},
	fault.PaymentNotFound:     {"There is no such payment.", "Такого платежа нет."},
	fault.PaymentNotAllowed:   {"The payment would go to an address that is not allowed.", "Платёж ушёл бы на неразрешённый адрес."},
	fault.NotConfigured:       {"Stars are not sold here.", "Звёзды здесь не продаются."},
	fault.PaymentUndecided:    {"A payment of it is on its way or has arrived: wait for what the chain says.", "Её платёж в пути или уже дошёл: дождитесь, что покажет блокчейн."},
	fault.PaymentDecided:      {"What became of this payment is known already.", "Что стало с этим платежом, уже известно."},
	fault.NoTurn:              {"Another payment comes first.", "Сначала идёт другой платёж."},
	fault.PaymentsPaused:      {"Payments are paused by an administrator.", "Платежи приостановлены администратором."},
	fault.PaymentsHeld:        {"Purchases are stopped for now and go on by themselves.", "Покупки пока остановлены и продолжатся сами."},
	fault.PaymentLimit:        {"This purchase is above the limit for one.", "Эта покупка больше допустимой."},
	fault.RefundLimit:         {"This refund is above the limit for one: an administrator has to allow it.", "Этот возврат больше допустимого: его должен разрешить администратор."},
	fault.DailyLimit:          {"The limit for one day is reached.", "Дневной лимит исчерпан."},
	fault.InsufficientFunds:   {"The wallet does not hold enough for it.", "В кошельке на это не хватает."},
	fault.ChainGap:            {"The wallet's history has a gap; it is read again.", "В истории кошелька пропуск; она читается заново."},
	fault.BookNotFound:        {"There is no such book.", "Такой книги нет."},
	fault.DownloadNotFound:    {"There is no such download. /downloads lists yours.", "Такой загрузки нет. Ваши загрузки: /downloads"},
	fault.NoFreeSpace:         {"There is little room left: the download waits until there is more.", "Мало свободного места: загрузка ждёт, пока оно появится."},
	fault.MediaNotReady:       textTrouble,

	fault.SourceUnavailable: {"The site of the torrent file does not answer now.", "Сайт с торрент-файлом сейчас не отвечает."},
	fault.SourceRefused:     {"The site does not give out this torrent file. Check the link.", "Сайт не отдаёт этот торрент-файл. Проверьте ссылку."},
	fault.SourceForbidden:   {"This link leads to an address that is not on the Internet.", "Ссылка ведёт на адрес не из интернета."},
	fault.SourceTooBig:      {"What the link leads to is too big for a torrent file.", "По ссылке что-то слишком большое для торрент-файла."},
	fault.SourceNotTorrent:  {"What the link leads to is not a torrent file.", "По ссылке не торрент-файл."},

	fault.FileNotFound: textNoFile,
	fault.FileTooBig:   {"The file is too big: Telegram takes about 2 GB.", "Файл слишком большой: Telegram принимает примерно до 2 ГБ."},
	fault.FileEmpty:    {"The file is empty: Telegram does not take empty files.", "Файл пустой: Telegram не принимает пустые файлы."},
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
	fault.ProviderUnavailable:  {"The download program cannot be reached now. It will be tried again.", "Программа загрузки сейчас недоступна. Попытки продолжаются."},
	fault.ProviderUnauthorized: {"The download program does not let the service in now.", "Программа загрузки сейчас не пускает сервис."},
	fault.ProviderRejected:     {"The download program refused it.", "Программа загрузки отказалась это принять."},

	fault.MissingExternalJob: {"It disappeared from the download program.", "Она исчезла из программы загрузки."},
	fault.ProviderError:      {"The download program could not go on: an error on its side.", "Программа загрузки не смогла продолжить: ошибка на её стороне."},
	fault.EnqueueFailed:      {"It could not be begun.", "Её не удалось начать."},
	fault.EnqueueUnavailable: {"The download program could not be reached for long. Try again later.", "Программа загрузки долго была недоступна. Попробуйте позже."},
	fault.BookGone:           {"The book was removed meanwhile.", "Книгу тем временем удалили."},
	fault.Stalled:            {"There has been no progress for long: perhaps nobody shares it any more.", "Уже долго ничего не загружается: возможно, раздающих больше нет."},

	fault.OutcomeUnknown: {
		"It is not known whether the file arrived. Please look in this chat before you press again.",
		"Неизвестно, дошёл ли файл. Пожалуйста, посмотрите в этом чате, прежде чем нажать ещё раз.",
	},
	fault.JobTimeout:           {"It took too long and was stopped. Try again later.", "Это длилось слишком долго и было остановлено. Попробуйте позже."},
	fault.TooManyAttempts:      {"Several tries did not work. Try again later.", "Несколько попыток не удались. Попробуйте позже."},
	fault.WorkerLost:           textTrouble,
	fault.TerminatedByOperator: {"An operator stopped it.", "Остановлено оператором."},
	fault.PausedByOperator:     {"An operator has paused it.", "Приостановлено оператором."},
	fault.ResetByOperator:      {"An operator begins it anew.", "Оператор начинает заново."},
	fault.WorkflowLost:         textTrouble,
	fault.CancelledByUser:      {"It was cancelled.", "Отменено."},
	fault.NotClaimedInTime:     {"It waited too long in line. Try again later.", "Слишком долгое ожидание в очереди. Попробуйте позже."},
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
