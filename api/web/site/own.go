package site

import (
	"slices"
	"strings"

	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// own are the pages that belong to no workload: home, the account, and confirming one's identity.
func (s *Site) own() Part {
	return Part{
		Sections: []Section{{Path: "/", Title: "home"}}, Templates: shared, Texts: texts,
		Commands: map[string]string{"help": "/"},
		Pages: []Page{
			{Route: "/{$}", Name: "home", Title: "home", Live: EveryWorkload(), Show: s.showHome},
			{Route: "/account", Name: "account", Title: "account", Show: s.showAccount},
			{Route: "/confirm", Name: "confirm", Title: "confirm", Show: s.showConfirm},
		},
		Actions: []Action{{Route: "/confirm", Page: "confirm", Do: s.confirm}},
	}
}

// EveryWorkload names all workloads, for a page that any of them changes.
func EveryWorkload() string {
	names := make([]string, len(lifecycle.Workloads))
	for i, workload := range lifecycle.Workloads {
		names[i] = workload.Name
	}
	return strings.Join(names, " ")
}

// showAccount shows the user's sessions.
func (s *Site) showAccount(r *Request) (View, error) {
	sessions, err := s.Store.Sessions(r.Context(), r.Who.User.ID)
	if here := slices.IndexFunc(sessions, func(one account.Session) bool { return one.ID == r.Session.ID }); here > 0 {
		sessions = slices.Concat(sessions[here:here+1], sessions[:here], sessions[here+1:]) // this browser's first
	}
	return View{Data: map[string]any{
		"User": r.Who.User, "Scopes": r.Who.Token.Grants(r.Who.User.Role), "Sessions": sessions,
	}}, err
}

// showConfirm shows the code that the person sends to the bot, or the field for their token.
func (s *Site) showConfirm(r *Request) (View, error) {
	data := map[string]any{
		"Next": local(r.FormValue("next")), "Confirmed": r.Who.Confirmed(), "Provider": s.providerName(),
	}
	if r.Who.User.TelegramID != nil && r.Problem == nil {
		code, err := s.Store.AskConfirmation(r.Context(), r.Who.User.ID, r.Session.ID)
		if err != nil {
			return View{}, err
		}
		data["Code"] = code
	}
	return View{Data: data}, nil
}

// confirm proves the person's identity with a token.
func (s *Site) confirm(r *Request) (next string, err error) {
	who, err := s.API.Authenticate(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		return "", err
	}
	if who.User.ID != r.Who.User.ID {
		return "", fault.New(fault.Unauthenticated, "this token belongs to another user")
	}
	if err := who.Require(r.Who.Token.Grants(r.Who.User.Role)...); err != nil { // a weaker token proves less
		return "", err
	}
	if !who.Token.SecretAt.Before(r.Session.StartedAt) { // the session may have created it, or given it this secret
		return "", fault.New(fault.ConfirmationRequired, "this token is newer than the session").WithField("token")
	}
	return local(r.PostFormValue("next")), s.Store.ConfirmSession(r.Context(), r.Who.User.ID, r.Session.ID)
}

// Texts of these pages, and those that all pages use.
var texts = words.Catalog{
	"home":          {"Home", "Главная"},
	"account":       {"Your account", "Ваш доступ"},
	"sign-in":       {"Sign in", "Вход"},
	"sign-in-how":   {"Send /web to the bot: it replies with a link that signs you in.", "Отправьте боту /web: он пришлёт ссылку для входа."},
	"sign-in-token": {"Or sign in with a token of the HTTP API.", "Или войдите с токеном HTTP API."},
	"token":         {"Token", "Токен"},
	"link-question": {"Sign in to Stagecoach in this browser?", "Войти в Stagecoach в этом браузере?"},
	"link-once":     {"The link works once, within five minutes.", "Ссылка действует один раз, в течение пяти минут."},
	"sign-out":      {"Sign out", "Выйти"},
	"sign-out-all":  {"Sign out everywhere", "Выйти везде"},
	"sessions":      {"Where you are signed in", "Где выполнен вход"},
	"this-browser":  {"this browser", "этот браузер"},
	"agents-how":    {"Your programs with their own tokens.", "Ваши программы со своими токенами."},
	"webhooks":      {"Webhooks", "Вебхуки"},
	"webhooks-how":  {"Events that are sent to your addresses.", "События, которые отправляются на ваши адреса."},
	"comment":       {"Comment", "Комментарий"},
	"address":       {"Address", "Адрес"},
	"outcome":       {"Outcome", "Итог"},
	"title":         {"Title", "Название"},
	"save":          {"Save", "Сохранить"},
	"add":           {"Add", "Добавить"},
	"tokens":        {"Tokens", "Токены"},
	"never":         {"never", "никогда"},
	"last-used":     {"Last used", "Использован"},
	"revoke":        {"Revoke", "Отозвать"},
	"the-service":   words.TheService,
	"none-yet":      {"none yet", "пока нет"},
	"agents":        {"Your agents", "Ваши агенты"},
	"since":         {"since", "с"},
	"until":         {"until", "до"},
	"signed-in":     {"Signed in", "Вход"},
	"may":           {"You may", "Вам доступно"},
	"name":          {"Name", "Имя"},
	"number":        {"Number", "Номер"},
	"role":          {"Role", "Роль"},

	"role-USER":        {"user", "пользователь"},
	"role-ADMIN":       {"administrator", "администратор"},
	"scope-read":       {"see what you can see", "смотреть доступное вам"},
	"scope-library":    {"read the books of the library", "читать книги библиотеки"},
	"scope-files":      {"browse the shared folder", "просматривать общую папку"},
	"scope-deliveries": {"send files to the chat", "присылать файлы в чат"},
	"scope-tasks":      {"create and change tasks", "создавать и менять задачи"},
	"scope-downloads":  {"add and download books", "добавлять и скачивать книги"},
	"scope-webhooks":   {"manage webhooks", "управлять вебхуками"},
	"scope-tokens":     {"manage tokens and agents", "управлять токенами и агентами"},
	"scope-money":      {"decide about transactions", "принимать решения по транзакциям"},
	"scope-operate":    {"watch the service", "следить за сервисом"},
	"scope-users":      {"manage users", "управлять пользователями"},

	"confirm":       {"Confirm that it is you", "Подтвердите, что это вы"},
	"confirm-why":   {"The next step moves money or gives access, so please confirm that it is you. The confirmation is valid for five minutes.", "Дальше речь о деньгах или о доступе, поэтому подтвердите ещё раз, что это вы. Подтверждение действует пять минут."},
	"confirm-code":  {"Send this to the bot, and the page continues automatically:", "Отправьте это боту, и страница продолжит сама:"},
	"confirm-it":    {"Confirm", "Подтвердить"},
	"confirm-sent":  {"I have sent the code: continue", "Код отправлен, продолжить"},
	"confirm-token": {"Or enter one of your tokens.", "Или введите свой токен."},
	"confirmed":     {"Thank you. You can continue for the next few minutes.", "Спасибо. В ближайшие минуты можно продолжать."},
	"go-on":         {"Continue", "Продолжить"},
	"problem":       {"This did not work", "Не получилось"},
	"problem-home":  {"Back to the start", "На главную"},
	"no-page":       {"There is no such page.", "Такой страницы нет."},
	"no-form":       {"This address cannot be opened directly. Send the form on its page.", "Этот адрес нельзя открыть напрямую. Отправьте форму на её странице."},
	"invalid":       {"Something in the form is wrong:", "В форме что-то не так:"},
	"details":       {"Details", "Подробности"},
	"next-page":     {"Older", "Раньше"},
	"first-page":    {"Newest", "Последние"},
	"all":           {"all", "все"},
	"cancel":        {"Cancel", "Отменить"},
	"copy":          {"Copy", "Копировать"},
	"copied":        {"Copied", "Скопировано"},
	"search":        {"Search", "Найти"},
	"menu":          {"Menu", "Меню"},
	"skip":          {"Skip to the content", "К содержанию"},
	"live":          {"live", "обновляется"},
	"offline":       {"not connected", "нет связи"},
	"workflow":      {"Open its workflow", "Открыть процесс"},
	"api":           {"API", "API"},
	"when":          {"When", "Когда"},
	"what":          {"What happened", "Что произошло"},
	"history":       {"History", "История"},
	"state":         {"State", "Состояние"},
	"reason":        {"Reason", "Причина"},
	"asked-at":      {"Requested", "Заказано"},
	"cancelling":    {"being cancelled", "отменяется"},
	"under-way":     {"In progress", "В работе"},
	"under-way-no":  {"Nothing is in progress.", "Сейчас ничего не выполняется."},
	"needs-you":     {"Waits for you", "Ждёт вас"},
	"needs-nothing": {"Nothing waits for you.", "Вашего участия ничего не требует."},
	"chart-highest": {"up to %s", "до %s"},
	"chart-numbers": {"Numbers", "Числа"},
	"chart-empty":   {"There is nothing to show yet.", "Пока нечего показать."},
}
