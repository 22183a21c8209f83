package words

import (
	"regexp"
	"strings"
)

// fieldNames name the fields of forms, by their names in the API.
var fieldNames = map[string]Text{
	"address":             {"Address", "Адрес"},
	"amount_nano":         {"Amount", "Сумма"},
	"assignee_id":         {"Assignee", "Исполнитель"},
	"author":              {"Author", "Автор"},
	"blocked_by":          {"Waits for", "Ждёт задач"},
	"comment":             {"Comment", "Комментарий"},
	"cursor":              {"Place in the list", "Место в списке"},
	"description":         {"Description", "Описание"},
	"error":               {"Error", "Ошибка"},
	"expires_at":          {"Ends", "Действует до"},
	"hash":                {"Hash", "Хеш"},
	"labels":              {"Labels", "Метки"},
	"language":            {"Language", "Язык"},
	"name":                {"Name", "Имя"},
	"outcome":             {"Outcome", "Итог"},
	"payment":             {"Payment", "Платёж"},
	"priority":            {"Priority", "Приоритет"},
	"q":                   {"Words", "Слова"},
	"reason":              {"Reason", "Причина"},
	"result":              {"Result", "Результат"},
	"role":                {"Role", "Роль"},
	"scopes":              {"Scopes", "Права"},
	"source_url":          {"Link", "Ссылка"},
	"stars":               {"Stars", "Звёзды"},
	"status":              {"Status", "Статус"},
	"status_deadlines":    {"Deadlines", "Сроки"},
	"stuck_release_after": {"Minutes until release", "Минут до освобождения"},
	"tasks":               {"Tasks", "Задачи"},
	"telegram_id":         {"Telegram id", "Номер в Telegram"},
	"title":               {"Title", "Название"},
	"token":               {"Token", "Токен"},
	"user":                {"Person", "Участник"},
	"user_id":             {"Person", "Участник"},
	"username":            {"Username", "Имя пользователя"},
	"visibility":          {"Visibility", "Видимость"},
	"workspace_id":        {"Workspace", "Рабочее пространство"},
}

// fieldRefusals map the API's messages about a field to what a person reads instead. The groups of a pattern are the
// values of its texts.
var fieldRefusals = []struct {
	said *regexp.Regexp
	text Text
}{
	{refusal(`is required|expected length >= 1`), Text{"Fill in this field.", "Заполните это поле."}},
	{refusal(`expected length >= (\d+)`), Text{"Enter at least %s characters.", "Минимальное число знаков: %s."}},
	{refusal(`expected length <= (\d+)`), Text{"Enter at most %s characters.", "Максимальное число знаков: %s."}},
	{refusal(`expected array length >= (\d+)`), Text{"Choose at least %s.", "Выберите не меньше %s."}},
	{refusal(`expected array length <= (\d+)`), Text{"Choose at most %s.", "Выберите не больше %s."}},
	{refusal(`expected number >=? (\S+)`), Text{"Enter a number of at least %s.", "Введите число не меньше %s."}},
	{refusal(`expected number <=? (\S+)`), Text{"Enter a number of at most %s.", "Введите число не больше %s."}},
	{refusal(`(?:expected|invalid) (?:integer|number|float)`), Text{"Write a number in digits.", "Напишите число цифрами."}},
	{refusal(`(?:expected value to be|(?:the )?\w+ is) (?:one of .*|public or private|low, normal, high or critical)`), Text{"Choose one of the offered values.", "Выберите одно из предложенных значений."}},
	{refusal(`expected string to (?:match pattern|be) .*`), Text{"This is not in the right format.", "Неверный формат."}},
	{refusal(`this is (?:not an id|not the (?:id|position) of .*|not a cursor of this list)`), Text{"Nothing has this number.", "Под таким номером ничего нет."}},
	{refusal(`a username has 4 to 32 letters.*`), Text{"A username has 4 to 32 Latin letters, digits and underscores, and begins with a letter.", "В имени пользователя от 4 до 32 латинских букв, цифр и знаков подчёркивания, первой стоит буква."}},
	{refusal(`at least (\d+) Stars and at most (\d+) are sold at a time`), Text{"At least %s and at most %s Stars are sold at a time.", "За один раз продаётся от %s до %s звёзд."}},
	{refusal(`must have at most (\d+) bytes`), Text{"The address is too long: at most %s bytes.", "Адрес слишком длинный: в нём может быть до %s байт."}},
	{refusal(`must be an https address`), Text{"The address must begin with https://", "Адрес должен начинаться с https://"}},
	{refusal(`must have no user and no password.*`), Text{"The address must have no user and no password.", "В адресе не должно быть имени и пароля."}},
	{refusal(`must have no part after #`), Text{"The address must have no part after #.", "В адресе не должно быть части после #."}},
	{refusal(`must be on the Internet`), Text{"The address must be on the Internet.", "Адрес должен быть в интернете."}},
	{refusal(`an? (?:title|name|author's name|description) has (?:at most|1 to) (\d+) characters`), Text{"Enter 1 to %s characters.", "Здесь может быть до %s знаков."}},
	{refusal(`a title has (\d+) to (\d+) characters`), Text{"A title has %s to %s characters.", "В названии от %s до %s знаков."}},
	{refusal(`.*(?:one line).*`), Text{"Write one line of text.", "Напишите одну строку текста."}},
	{refusal(`a search has (?:at most|1 to) (\d+) characters`), Text{"Search by 1 to %s characters.", "Ищите по словам длиной до %s знаков."}},
	{refusal(`a batch has 1 to (\d+) tasks`), Text{"At most %s tasks can be created at once.", "За один раз создаётся до %s задач."}},
	{refusal(`a task has at most (\d+) blockers`), Text{"A task can wait for at most %s others.", "Задача может ждать не больше %s других."}},
	{refusal(`the assignee is not a member of the workspace`), Text{"This person is not a member of the workspace.", "Этого человека нет в рабочем пространстве."}},
	{refusal(`the owner of a workspace cannot leave it`), Text{"The owner cannot leave the workspace.", "Владелец не может выйти из рабочего пространства."}},
	{refusal(`a result has at most (\d+) .*`), Text{"The result is too large: the limit is %s.", "Результат слишком велик: предел — %s."}},
	{refusal(`this is not (?:JSON in UTF-8|the JSON that was expected)|the body cannot be read`), Text{"This JSON cannot be read.", "Не удаётся прочитать этот JSON."}},
	{refusal(`two tasks have the ref "(.*)"`), Text{"Two tasks have the ref “%s”.", "У двух задач один и тот же ref: «%s»."}},
	{refusal(`give at least one .*`), Text{"Change something first.", "Сначала измените что-нибудь."}},
	{refusal(`an agent cannot be an administrator`), Text{"An agent cannot be an administrator.", "Агент не может быть администратором."}},
	{refusal(`the role \S+ does not allow the scope \S+`), Text{"The role does not allow these scopes.", "Роль не даёт этих прав."}},
	{refusal(`a token cannot outlive .*`), Text{"It would last longer than your own token.", "Он действовал бы дольше вашего собственного токена."}},
	{refusal(`the scope \S+ is listed twice`), Text{"Give each scope only once.", "Укажите каждое право только один раз."}},
	{refusal(`\S+ has no deadline: only .*`), Text{"This status has no deadline.", "У этого статуса нет срока."}},
	{refusal(`a medium can be marked as .*`), Text{"Mark it as deleted or as missing.", "Отметьте как удалённое или пропавшее."}},
	{refusal(`this time has passed`), Text{"This time has passed.", "Это время уже прошло."}},
	{refusal(`there is no library folder to send from`), Text{"There is no library to send from.", "Библиотеки, из которой можно прислать, нет."}},
	{refusal(`a magnet link or the address.*|the link .*|the address names no host|give a magnet link.*|.*magnet link.*`), Text{"This is not a link that can be used: give a magnet link, or the address of a .torrent file.", "Такая ссылка не подходит: нужна magnet-ссылка или адрес торрент-файла."}},
}

func refusal(pattern string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + pattern + `)$`) }

// FieldRefusal translates the API's English message about a field.
func FieldRefusal(language, said string) string {
	for _, known := range fieldRefusals {
		if found := known.said.FindStringSubmatch(said); found != nil {
			var args []any
			for _, value := range found[1:] {
				args = append(args, value)
			}
			return known.text.In(language, args...)
		}
	}

	if language == Russian {
		return "Недопустимое значение."
	}
	return said
}

// FieldName names a field of a form, also one in a list, such as tasks[0].title; empty: it has no name for people.
// Names that a page has already replaced stay.
func FieldName(language, field string) string {
	if strings.Contains(field, " ") {
		return field
	}
	last := field[strings.LastIndex(field, ".")+1:]
	last, _, _ = strings.Cut(last, "[")
	return fieldNames[last].In(language)
}
