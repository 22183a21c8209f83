package bot

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

// What the commands about tasks are for, and how they are used.
var (
	aboutTask  = text{"a task: /task 12; a new one: /task new title; without a number: yours", "задача: /task 12; новая: /task new название; без номера — ваши"}
	aboutReady = text{"tasks that can be claimed now", "задачи, которые можно взять сейчас"}
	aboutClaim = text{"take a task: /claim 12 I will do it", "взять задачу: /claim 12 сделаю я"}

	textTaskUsage  = text{"Name the task by number, like this: /task 12. To make one: /task new Title", "Укажите номер задачи, например: /task 12. Новая задача: /task new Название"}
	textClaimUsage = text{"Name the task by number and say a word, like this: /claim 12 I will do it", "Укажите номер задачи и напишите пару слов, например: /claim 12 сделаю я"}
	textTitleSize  = text{"A title has %d to %d characters.", "В названии от %d до %d символов."}
)

// Labels of buttons.
var (
	labelComment  = text{"💬 Comment", "💬 Комментарий"}
	labelRefresh  = text{"🔄 Refresh", "🔄 Обновить"}
	labelOpenTask = text{"📌 Open #%d", "📌 Открыть №%d"}
	labelClaimIt  = text{"✋ Claim #%d", "✋ Взять №%d"}
	labelReady    = text{"🟢 Ready to claim", "🟢 Можно взять"}
	labelAgree    = text{"🤝 I agree: %s", "🤝 Согласие: %s"}
)

// taskSteps name what can be done with a task: actions, and the statuses that it can be given.
var taskSteps = map[string]text{
	string(lifecycle.TaskActionClaim):    {"✋ Claim", "✋ Взять"},
	string(lifecycle.TaskActionEscalate): {"🚨 Escalate", "🚨 Эскалировать"},
	string(lifecycle.TaskActionTakeover): {"🛟 Take over", "🛟 Перехватить"},
	string(lifecycle.TaskInProgress):     {"▶️ Work on it", "▶️ В работу"},
	string(lifecycle.TaskDone):           {"✅ Done", "✅ Сделано"},
	string(lifecycle.TaskBlocked):        {"⛔ Blocked", "⛔ Заблокирована"},
	string(lifecycle.TaskNew):            {"↩️ Give back", "↩️ Вернуть"},
	string(lifecycle.TaskCancelled):      {"🗑 Cancel it", "🗑 Отменить"},
	stepComment:                          labelComment,
}

// taskStatuses name a task's status.
var taskStatuses = map[lifecycle.TaskState]text{
	lifecycle.TaskNew:        {"🆕 new", "🆕 новая"},
	lifecycle.TaskInProgress: {"▶️ in progress", "▶️ в работе"},
	lifecycle.TaskBlocked:    {"⛔ blocked", "⛔ заблокирована"},
	lifecycle.TaskStuck:      {"⏰ stuck", "⏰ застряла"},
	lifecycle.TaskDone:       {"✅ done", "✅ сделана"},
	lifecycle.TaskCancelled:  {"🗑 cancelled", "🗑 отменена"},
}

// taskPriorities name a task's priority; the usual one goes without saying.
var taskPriorities = map[string]text{
	store.PriorityLow:      {"low priority", "низкий приоритет"},
	store.PriorityNormal:   {"normal priority", "обычный приоритет"},
	store.PriorityHigh:     {"❗ high priority", "❗ высокий приоритет"},
	store.PriorityCritical: {"🔥 critical", "🔥 критично"},
}

// The card of a task, and lists.
var (
	textTaskTitle   = text{"📌 #%d <b>%s</b>", "📌 №%d <b>%s</b>"}
	textAssignee    = text{"Assignee: %s", "Исполнитель: %s"}
	textCreator     = text{"Creator: %s", "Автор: %s"}
	textDeadline    = text{"Deadline: %s", "Срок: %s"}
	textReleaseAt   = text{"Free again: %s", "Снова свободна: %s"}
	textBlockers    = text{"Comes after: %s", "Идёт после: %s"}
	textTaskNumber  = text{"#%d", "№%d"}
	textBlocker     = text{"#%d (%s)", "№%d (%s)"}
	textLabels      = text{"Labels: %s", "Метки: %s"}
	textPrivateTask = text{"🔒 private", "🔒 личная"}
	textLastWords   = text{"<b>Last words</b>", "<b>Последнее</b>"}
	textNobody      = text{"nobody", "никто"}
	textYou         = text{"you", "вы"}
	textSystem      = text{"the service", "сервис"}
	textReadyTasks  = text{"<b>Ready to claim</b>", "<b>Можно взять</b>"}
	textNoReady     = text{"Nothing can be claimed now.", "Сейчас взять нечего."}
	textMyTasks     = text{"<b>Your tasks</b>", "<b>Ваши задачи</b>"}
	textNoTasks     = text{"No task is yours: /ready", "У вас нет задач: /ready"}
	textTaskLine    = text{"#%d %s — %s", "№%d %s — %s"}
)

// Being let into a workspace.
var (
	textAskAgree = text{
		"You were let into “%s”. You may act in it, but others there see a number instead of your name, and you are told of no changes, until you agree.",
		"Вас добавили в «%s». Работать там можно сразу, но пока вы не дали согласия, другие видят номер вместо вашего имени, а о переменах вам не сообщается.",
	}
	textAgreed = text{"You have agreed: %s", "Согласие дано: %s"}
)

// Acting on a task.
var (
	textAskComment   = text{"%s: write a comment, in a few words.", "%s: напишите комментарий, хотя бы пару слов."}
	textStepDone     = text{"✅ So it is.", "✅ Готово."}
	textCommented    = text{"✅ Your comment is there.", "✅ Комментарий добавлен."}
	textTaskMade     = text{"✅ The task is made.", "✅ Задача создана."}
	textStaleTask    = text{"This button is out of date. Open the task again: /task", "Эта кнопка устарела. Откройте задачу ещё раз: /task"}
	textNotNow       = text{"This is not possible any more: the task has changed.", "Это уже невозможно: задача изменилась."}
	textChooseSpace  = text{"In which workspace is “%s” to be?", "В каком рабочем пространстве создать «%s»?"}
	textNoSpace      = text{"You are in no workspace yet. Its owner lets you in by your number: %d", "Вы пока не состоите ни в одном рабочем пространстве. Его владелец добавит вас по номеру: %d"}
	textHeldBy       = text{"It is taken already: %s.", "Её уже взял(а) %s."}
	textYoursAlready = text{"It is yours already.", "Она уже ваша."}
	textStillBlocked = text{"Not yet, these are not done: %s.", "Ещё рано, не сделаны: %s."}
)

// taskFaults are faults that mean something else to a person when they are about a task.
var taskFaults = map[fault.Code]text{
	fault.InvalidTransition:  textNotNow,
	fault.InsufficientAccess: {"You may not do this with the task.", "Вам нельзя делать это с задачей."},
	fault.Validation:         {"The comment is too long.", "Слишком длинный комментарий."},
}

// What people are told of a task's changes.
var (
	textNewsGiven     = text{"🎁 %s gave you this task.", "🎁 %s поручает вам эту задачу."}
	textNewsClaimed   = text{"✋ %s took it.", "✋ %s берёт задачу."}
	textNewsEscalated = text{"🚨 %s escalated it: blocked.", "🚨 %s эскалирует: заблокирована."}
	textNewsTaken     = text{"🛟 %s took it over.", "🛟 %s перехватывает задачу."}
	textNewsExpired   = text{"⏰ Its deadline has passed. It was %s and is stuck now.", "⏰ Срок вышел. Была: %s, теперь застряла."}
	textNewsStatus    = text{"%s: %s → %s", "%s: %s → %s"}
	textNewsComment   = text{"💬 %s wrote:", "💬 %s пишет:"}
	textNewsReady     = text{"🟢 All that it waited for is done: you can begin.", "🟢 Всё, чего она ждала, сделано: можно начинать."}
	textNewsReleased  = text{"↩️ It was stuck for long and is free for others now.", "↩️ Долго была застрявшей и теперь свободна для других."}
	textNewsMore      = text{"… and %d more before that", "… и ещё раньше: %d"}
)
