package site

import (
	"slices"
	"strings"

	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

// own are the pages that belong to no workload: home, the account, and proving again who one is.
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

// EveryWorkload names all workloads, as a page that any of them changes does.
func EveryWorkload() string {
	names := make([]string, len(lifecycle.Workloads))
	for i, workload := range lifecycle.Workloads {
		names[i] = workload.Name
	}
	return strings.Join(names, " ")
}

// showAccount shows the sessions of the user.
func (s *Site) showAccount(r *Request) (View, error) {
	sessions, err := s.Store.Sessions(r.Context(), r.Who.User.ID)
	if here := slices.IndexFunc(sessions, func(one account.Session) bool { return one.ID == r.Session.ID }); here > 0 {
		sessions = slices.Concat(sessions[here:here+1], sessions[:here], sessions[here+1:]) // this browser's first
	}
	return View{Data: map[string]any{
		"User": r.Who.User, "Scopes": r.Who.Token.Grants(r.Who.User.Role), "Sessions": sessions,
	}}, err
}

// showConfirm shows the code that the person sends to the bot, or where they enter their token.
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

// confirm proves by a token who the person is.
func (s *Site) confirm(r *Request) (next string, err error) {
	who, err := s.API.Authenticate(r.Context(), strings.TrimSpace(r.PostFormValue("token")))
	if err != nil {
		return "", err
	}
	if who.User.ID != r.Who.User.ID {
		return "", fault.New(fault.Unauthenticated, "this is the token of somebody else")
	}
	if err := who.Require(r.Who.Token.Grants(r.Who.User.Role)...); err != nil { // a weaker token proves less
		return "", err
	}
	if !who.Token.SecretAt.Before(r.Session.StartedAt) { // the session may have made it, or given it this secret
		return "", fault.New(fault.ConfirmationRequired, "this token is younger than the session").WithField("token")
	}
	return local(r.PostFormValue("next")), s.Store.ConfirmSession(r.Context(), r.Who.User.ID, r.Session.ID)
}

// texts of these pages, and those that all pages use.
var texts = words.Catalog{
	"home":          {"Home", "Главная"},
	"account":       {"Your account", "Ваш доступ"},
	"sign-in":       {"Sign in", "Вход"},
	"sign-in-how":   {"Send /web to the bot: it answers with a link that signs you in.", "Отправьте боту /web: он пришлёт ссылку для входа."},
	"sign-in-token": {"Or sign in with a token of the HTTP API.", "Или войдите с токеном HTTP API."},
	"token":         {"Token", "Токен"},
	"link-question": {"Sign in to Stagecoach in this browser?", "Войти в Stagecoach в этом браузере?"},
	"link-once":     {"The link works once, within five minutes.", "Ссылка действует один раз, в течение пяти минут."},
	"sign-out":      {"Sign out", "Выйти"},
	"sign-out-all":  {"Sign out everywhere", "Выйти везде"},
	"sessions":      {"Where you are signed in", "Где выполнен вход"},
	"this-browser":  {"this browser", "этот браузер"},
	"agents-how":    {"Programs of yours with tokens of their own.", "Ваши программы со своими токенами."},
	"webhooks":      {"Webhooks", "Вебхуки"},
	"webhooks-how":  {"Events that are sent to addresses of yours.", "События, которые отправляются на ваши адреса."},
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
	"may":           {"You may", "Вам доступно"},
	"name":          {"Name", "Имя"},
	"number":        {"Number", "Номер"},
	"role":          {"Role", "Роль"},
	"confirm":       {"Is it you?", "Это вы?"},
	"confirm-why":   {"What follows moves money or gives access, so please prove once more who you are. It then stays open for five minutes.", "Дальше речь о деньгах или о доступе, поэтому подтвердите ещё раз, что это вы. Подтверждение действует пять минут."},
	"confirm-code":  {"Send this to the bot:", "Отправьте боту:"},
	"confirm-sent":  {"I have sent it", "Отправлено"},
	"confirm-token": {"Or enter a token of yours.", "Или введите свой токен."},
	"confirmed":     {"Thank you. You can go on for the next minutes.", "Спасибо. В ближайшие минуты можно продолжать."},
	"go-on":         {"Go on", "Продолжить"},
	"problem":       {"This did not work", "Не получилось"},
	"problem-home":  {"Back to the start", "На главную"},
	"no-page":       {"There is no such page.", "Такой страницы нет."},
	"no-form":       {"This address cannot be opened by itself. Send the form on its page.", "Этот адрес сам по себе не открывается. Отправьте форму на её странице."},
	"invalid":       {"Something in the form is not right:", "В форме что-то не так:"},
	"next-page":     {"Older", "Раньше"},
	"first-page":    {"Newest", "Последние"},
	"all":           {"all", "все"},
	"cancel":        {"Cancel", "Отменить"},
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
	"asked-at":      {"Asked for", "Заказано"},
	"cancelling":    {"being cancelled", "отменяется"},
	"under-way":     {"Under way", "В работе"},
	"under-way-no":  {"Nothing is under way.", "Сейчас ничего не выполняется."},
	"needs-you":     {"Waits for you", "Ждёт вас"},
	"needs-nothing": {"Nothing waits for you.", "Вашего участия ничего не требует."},
	"chart-highest": {"up to %s", "до %s"},
	"chart-numbers": {"Numbers", "Числа"},
	"chart-empty":   {"There is nothing to show yet.", "Пока нечего показать."},
}
