package tasks

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// How commands are used.
var (
	textTaskUsage  = chat.Text{"Give the task's number, for example: /task 12. To create one: /task new Title", "Укажите номер задачи, например: /task 12. Новая задача: /task new Название"}
	textClaimUsage = chat.Text{"Give the task's number and a comment, for example: /claim 12 I will do it", "Укажите номер задачи и комментарий, например: /claim 12 сделаю я"}
	textTitleSize  = chat.Text{"A title has %d to %d characters.", "В названии от %d до %d символов."}
)

// Labels of buttons.
var (
	labelComment  = chat.Text{"💬 Comment", "💬 Комментарий"}
	labelOpenTask = chat.Text{"📌 Open #%d", "📌 Открыть №%d"}
	labelClaimIt  = chat.Text{"✋ Claim #%d", "✋ Взять №%d"}
	labelReady    = chat.Text{"🟢 Ready to claim", "🟢 Можно взять"}
	labelAgree    = chat.Text{"🤝 I agree: %s", "🤝 Согласие: %s"}
)

// taskSteps name the steps of a task: actions, and the statuses that a person can give it.
var taskSteps = map[string]chat.Text{
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

// taskStates name a task's state.
var taskStates = map[lifecycle.TaskState]chat.Text{
	lifecycle.TaskNew:        {"🆕 new", "🆕 новая"},
	lifecycle.TaskInProgress: {"▶️ in progress", "▶️ в работе"},
	lifecycle.TaskBlocked:    {"⛔ blocked", "⛔ заблокирована"},
	lifecycle.TaskStuck:      {"⏰ stuck", "⏰ застряла"},
	lifecycle.TaskDone:       {"✅ done", "✅ сделана"},
	lifecycle.TaskCancelled:  {"🗑 cancelled", "🗑 отменена"},
}

// taskPriorities name a task's priority; the usual one is not shown.
var taskPriorities = map[string]chat.Text{
	task.PriorityLow:      {"low priority", "низкий приоритет"},
	task.PriorityNormal:   {"normal priority", "обычный приоритет"},
	task.PriorityHigh:     {"❗ high priority", "❗ высокий приоритет"},
	task.PriorityCritical: {"🔥 critical", "🔥 критично"},
}

// The card of a task, and lists.
var (
	textTasks        = chat.Text{"<b>Tasks</b>", "<b>Задачи</b>"}
	textTaskTitle    = chat.Text{"📌 #%d <b>%s</b>", "📌 №%d <b>%s</b>"}
	textAssignee     = chat.Text{"Assignee: %s", "Исполнитель: %s"}
	textCreator      = chat.Text{"Creator: %s", "Автор: %s"}
	textDeadline     = chat.Text{"Deadline: %s", "Срок: %s"}
	textReleaseAt    = chat.Text{"Free again: %s", "Снова свободна: %s"}
	textBlockers     = chat.Text{"Waits for: %s", "Ждёт: %s"}
	textTaskNumber   = chat.Text{"#%d", "№%d"}
	textBlocker      = chat.Text{"#%d (%s)", "№%d (%s)"}
	textLabels       = chat.Text{"Labels: %s", "Метки: %s"}
	textPrivateTask  = chat.Text{"🔒 private", "🔒 личная"}
	textLastComments = chat.Text{"<b>Last comments</b>", "<b>Последние комментарии</b>"}
	textNobody       = chat.Text{"nobody", "никто"}
	textYou          = chat.Text{"you", "вы"}
	textSystem       = chat.Text{"the service", "сервис"}
	textReadyTasks   = chat.Text{"<b>Ready to claim</b>", "<b>Можно взять</b>"}
	textNoReady      = chat.Text{"Nothing can be claimed now.", "Сейчас взять нечего."}
	textMyTasks      = chat.Text{"<b>Your tasks</b>", "<b>Ваши задачи</b>"}
	textNoTasks      = chat.Text{"You have no tasks: /ready", "У вас нет задач: /ready"}
	textTaskLine     = chat.Text{"#%d %s — %s", "№%d %s — %s"}
)

// Being let into a workspace.
var (
	textAskAgree = chat.Text{
		"You were added to “%s” and may work in it. Until you agree, others there see a number instead of your name, and you are not notified of changes.",
		"Вас добавили в «%s», и работать там можно сразу. Пока вы не дали согласия, другие видят номер вместо вашего имени, а уведомления об изменениях вам не приходят.",
	}
	textAgreed = chat.Text{"You have agreed: %s", "Согласие дано: %s"}
)

// Acting on a task.
var (
	textAskComment   = chat.Text{"%s: write a comment, in a few words.", "%s: напишите комментарий, хотя бы пару слов."}
	textStepDone     = chat.Text{"✅ Done.", "✅ Готово."}
	textCommented    = chat.Text{"✅ Your comment is added.", "✅ Комментарий добавлен."}
	textTaskMade     = chat.Text{"✅ The task is created.", "✅ Задача создана."}
	textStaleTask    = chat.Text{"This button is out of date. Open the task again: /task", "Эта кнопка устарела. Откройте задачу ещё раз: /task"}
	textNotNow       = chat.Text{"This is not possible any more: the task has changed.", "Это уже невозможно: задача изменилась."}
	textChooseSpace  = chat.Text{"In which workspace should “%s” be created?", "В каком рабочем пространстве создать «%s»?"}
	textNoSpace      = chat.Text{"You are in no workspace yet. The owner of one can add you by your number: %d", "Вы пока не состоите ни в одном рабочем пространстве. Владелец пространства может добавить вас по номеру: %d"}
	textHeldBy       = chat.Text{"It is already claimed by %s.", "Её уже взял(а) %s."}
	textYoursAlready = chat.Text{"It is already yours.", "Она уже ваша."}
	textStillBlocked = chat.Text{"It waits for tasks that are not done: %s.", "Она ждёт задач, которые не сделаны: %s."}
)

// taskFaults are faults that have another meaning to a person when they are about a task.
var taskFaults = map[fault.Code]chat.Text{
	fault.InvalidTransition:  textNotNow,
	fault.InsufficientAccess: {"You may not do this with the task.", "Вам нельзя делать это с задачей."},
	fault.Validation:         {"The comment is too long.", "Слишком длинный комментарий."},
}

// Notices of a task's changes.
var (
	textNoticeGiven     = chat.Text{"🎁 %s assigned this task to you.", "🎁 %s поручает вам эту задачу."}
	textNoticeClaimed   = chat.Text{"✋ %s claimed it.", "✋ %s берёт задачу."}
	textNoticeEscalated = chat.Text{"🚨 %s escalated it: blocked.", "🚨 %s эскалирует: заблокирована."}
	textNoticeTaken     = chat.Text{"🛟 %s took it over.", "🛟 %s перехватывает задачу."}
	textNoticeExpired   = chat.Text{"⏰ Its deadline has passed. It was %s and is stuck now.", "⏰ Срок вышел. Была: %s, теперь застряла."}
	textNoticeStatus    = chat.Text{"%s: %s → %s", "%s: %s → %s"}
	textNoticeComment   = chat.Text{"💬 %s wrote:", "💬 %s пишет:"}
	textNoticeReady     = chat.Text{"🟢 All tasks that it waited for are done. You can start.", "🟢 Все задачи, которых она ждала, сделаны. Можно начинать."}
	textNoticeReleased  = chat.Text{"↩️ It was stuck for too long and is free for others now.", "↩️ Слишком долго была застрявшей и теперь свободна для других."}
	textNoticeMore      = chat.Text{"… and %d more before that", "… и ещё раньше: %d"}
)

// faults are the plain words for the faults of tasks.
var faults = chat.Faults{
	fault.TaskNotFound:       {"No such task, or you may not see it.", "Такой задачи нет, или вам нельзя её видеть."},
	fault.WorkspaceNotFound:  {"No such workspace.", "Такого рабочего пространства нет."},
	fault.TaskAlreadyClaimed: {"Somebody else has already claimed this task.", "Эту задачу уже взял кто-то другой."},
	fault.CommentRequired:    {"A comment is required. Say why in a few words.", "Нужен комментарий. Напишите в двух словах почему."},
	fault.UnresolvedBlockers: {"The tasks that this one waits for are not done yet.", "Задачи, которых ждёт эта, ещё не сделаны."},
	fault.CyclicDependency:   {"These tasks would wait for each other forever.", "Эти задачи ждали бы друг друга вечно."},
	fault.UnknownBlocker:     {"It would wait for a task that does not exist.", "Она ждала бы задачу, которой нет."},
	fault.CannotEscalateOwn:  {"You cannot escalate your own task. Set it to blocked instead.", "Свою задачу нельзя эскалировать. Отметьте, что она заблокирована."},
	fault.CannotTakeover:     {"The task is already yours. Set it to in progress instead.", "Задача уже ваша. Верните её в работу."},
}

// quotas name the limit that is reached; each takes the limit.
var quotas = map[string]chat.Text{
	"tasks": {
		"You have created %d tasks that are still open, which is the limit. Finish or cancel some first.",
		"Вы создали %d незавершённых задач, это предел. Сначала завершите или отмените часть из них.",
	},
	"workspaces": {
		"You have %d workspaces, which is the limit.",
		"У вас %d рабочих пространств, это предел.",
	},
	"members": {
		"This workspace has %d members, which is the limit.",
		"В этом рабочем пространстве %d участников, это предел.",
	},
}
