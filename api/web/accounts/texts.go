package accounts

import "stagecoach/api/words"

var texts = words.Catalog{
	"agent-what":     {"An agent is a program that works in your name with a token of its own: it claims tasks, requests files and receives events, over HTTP or the Model Context Protocol at /mcp. Add it to a workspace by its number.", "Агент — программа, которая работает от вашего имени со своим токеном: берёт задачи, заказывает файлы и узнаёт о событиях по HTTP или Model Context Protocol на /mcp. В рабочее пространство его добавляют по номеру."},
	"agent-none":     {"You have no agents yet.", "Агентов пока нет."},
	"agent-add":      {"Add an agent", "Добавить агента"},
	"agent-made-at":  {"Created", "Создан"},
	"agent-may":      {"It may", "Ему доступно"},
	"agent-ACTIVE":   {"active", "работает"},
	"agent-BLOCKED":  {"ended", "завершён"},
	"agent-made":     {"Its token. Copy it now: it is not shown again.", "Его токен. Скопируйте сейчас: больше его никто не увидит."},
	"agent-token":    {"Another token", "Ещё один токен"},
	"agent-no-token": {"It has no token.", "Токенов нет."},
	"agent-did":      {"What it has done", "Что он сделал"},
	"agent-idle":     {"It has done nothing yet.", "Он ещё ничего не сделал."},
	"agent-of":       {"Of", "Объект"},
	"agent-end":      {"End this agent", "Завершить агента"},
	"agent-end-how":  {"Its tokens end at once, its tasks in progress are released, and its deliveries are cancelled. This cannot be undone.", "Его токены сразу перестанут действовать, задачи в работе освободятся, доставки отменятся. Вернуть его нельзя."},
	"agent-end-sure": {"I am sure", "Да, завершить"},
	"agent-of-book":  {"book", "книга"},
}
