package words

import "stagecoach/internal/fault"

// Faults explain faults in plain words, without HTML. They do not name the systems behind the service.
type Faults map[fault.Code]Text

// With adds codes that mean the same to a person.
func (f Faults) With(same Text, codes ...fault.Code) Faults {
	for _, code := range codes {
		f[code] = same
	}
	return f
}

// Text returns the text for a fault: from f, or else a common one.
func (f Faults) Text(code fault.Code) Text {
	for _, words := range []Faults{f, CommonFaults} {
		if known, ok := words[code]; ok {
			return known
		}
	}
	return textTrouble
}

// Texts shared by several common faults.
var (
	TextBlocked    = Text{"You have no access.", "У вас нет доступа."}
	TextAdminsOnly = Text{"Only administrators may do this.", "Это могут только администраторы."}

	textTrouble       = Text{"Internal error. Try again later.", "Внутренняя ошибка. Попробуйте позже."}
	textNotUnderstood = Text{"I did not understand that. /help lists what I can do.", "Не удалось понять запрос. Что я умею: /help"}
	textServiceAway   = Text{"The service is unavailable. Try again in a minute.", "Сервис временно недоступен. Попробуйте через минуту."}
)

// CommonFaults explain faults that any workload can have.
var CommonFaults = Faults{
	fault.Unauthenticated:      {"You are not signed in: the token is not valid, or your session has expired.", "Вход не выполнен: токен недействителен или срок входа истёк."},
	fault.InsufficientAccess:   TextAdminsOnly,
	fault.InsufficientScope:    TextAdminsOnly,
	fault.ConfirmationRequired: {"Confirm that it is you: with a code that you send to the bot, or with a token that is older than this session.", "Подтвердите ещё раз, что это вы: кодом, который вы отправите боту, или токеном, который старше этого входа."},
	fault.LinkSpent:            {"This link has already been used or has expired. Send /web to the bot for a new one.", "Эта ссылка уже использована или устарела. Отправьте боту /web, чтобы получить новую."},
	fault.SignInExpired:        {"Signing in took too long, or was started in another browser. Start again.", "Вход занял слишком много времени или был начат в другом браузере. Начните заново."},
	fault.SignInNotVerified:    {"The provider did not confirm who you are. Try again. If it happens again, tell an administrator.", "Провайдер не подтвердил, кто вы. Попробуйте ещё раз. Если это повторится, сообщите администратору."},
	fault.SignInProviderAway:   {"The provider does not answer. Try again in a minute, or sign in another way.", "Провайдер не отвечает. Попробуйте через минуту или войдите другим способом."},
	fault.TokenNotFound:        {"No such token.", "Такого токена нет."},
	fault.NotFound:             {"Not found.", "Не найдено."},
	fault.UserNotFound:         {"No such user.", "Такого пользователя нет."},
	fault.UserExists:           {"This user already exists.", "Этот пользователь уже есть."},
	fault.InvalidTransition:    {"It has already ended or changed, so this is not possible any more.", "Это уже невозможно: за это время всё завершилось или изменилось."},
	fault.UserNotActive:        {"You have no access now.", "Сейчас у вас нет доступа."},
	fault.RateLimited:          {"Too many requests. Wait a few seconds.", "Слишком много запросов. Подождите несколько секунд."},
	fault.QuotaExceeded:        {"You have reached the limit for one person.", "Вы достигли предела для одного человека."},
	fault.OwnAccess:            {"You cannot change your own access.", "Свой доступ изменить нельзя."},
	fault.LastAdmin:            {"This is the last administrator. Appoint another one first.", "Это последний администратор. Сначала назначьте другого."},
	fault.JobTimeout:           {"It took too long and was stopped. Try again later.", "Это длилось слишком долго и было остановлено. Попробуйте позже."},
	fault.TooManyAttempts:      {"All attempts failed. Try again later.", "Все попытки не удались. Попробуйте позже."},
	fault.TerminatedByOperator: {"An operator stopped it.", "Остановлено оператором."},
	fault.PausedByOperator:     {"An operator paused it.", "Приостановлено оператором."},
	fault.WorkflowPaused:       {"An operator paused it. Try again later.", "Приостановлено оператором. Попробуйте позже."},
	fault.ResetByOperator:      {"An operator restarted it.", "Перезапущено оператором."},
	fault.CancelledByUser:      {"It was cancelled.", "Отменено."},
	fault.NotClaimedInTime:     {"It waited in the queue for too long. Try again later.", "Слишком долгое ожидание в очереди. Попробуйте позже."},
}.With(
	textNotUnderstood,
	fault.Validation, fault.CursorGone, fault.BodyTooLarge,
	fault.MediaType, fault.MethodNotAllowed, fault.RequestTimeout,
).With(
	textServiceAway,
	fault.StreamsFull, fault.SpoolFull, fault.StoreUnavailable, fault.TemporalUnavailable,
).With(
	textTrouble,
	fault.WorkerLost, fault.WorkflowLost, fault.Internal,
)
