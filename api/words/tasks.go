package words

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

// Tasks are the texts about tasks.
var Tasks = Texts{Faults: taskFaults, Quotas: taskQuotas}

// StepComment is the step that only adds a comment. Other steps are the name of an action, or the status to set.
const StepComment = "comment"

// TaskSteps name the steps of a task: actions, and statuses that a person can set.
var TaskSteps = map[string]Text{
	string(lifecycle.TaskActionClaim):    {"✋ Claim", "✋ Взять"},
	string(lifecycle.TaskActionEscalate): {"🚨 Escalate", "🚨 Эскалировать"},
	string(lifecycle.TaskActionTakeover): {"🛟 Take over", "🛟 Перехватить"},
	string(lifecycle.TaskInProgress):     {"▶️ Work on it", "▶️ В работу"},
	string(lifecycle.TaskDone):           {"✅ Done", "✅ Сделано"},
	string(lifecycle.TaskBlocked):        {"⛔ Blocked", "⛔ Заблокирована"},
	string(lifecycle.TaskNew):            {"↩️ Give back", "↩️ Вернуть"},
	string(lifecycle.TaskCancelled):      {"🗑 Cancel it", "🗑 Отменить"},
	string(lifecycle.TaskActionSubmit):   {"📦 Submit", "📦 Сдать"},
	string(lifecycle.TaskActionApprove):  {"👍 Approve", "👍 Одобрить"},
	string(lifecycle.TaskActionReject):   {"👎 Reject", "👎 Отклонить"},
	string(lifecycle.TaskActionEdit):     {"✏️ Edit", "✏️ Изменить"},
	StepComment:                          {"💬 Comment", "💬 Комментарий"},
}

// TaskStates name the states of a task.
var TaskStates = map[lifecycle.TaskState]Text{
	lifecycle.TaskNew:        {"🆕 new", "🆕 новая"},
	lifecycle.TaskInProgress: {"▶️ in progress", "▶️ в работе"},
	lifecycle.TaskBlocked:    {"⛔ blocked", "⛔ заблокирована"},
	lifecycle.TaskStuck:      {"⏰ stuck", "⏰ застряла"},
	lifecycle.TaskDone:       {"✅ done", "✅ сделана"},
	lifecycle.TaskCancelled:  {"🗑 cancelled", "🗑 отменена"},
}

// TaskPriorities name a task's priority; the default is not shown.
var TaskPriorities = map[string]Text{
	task.PriorityLow:      {"low priority", "низкий приоритет"},
	task.PriorityNormal:   {"normal priority", "обычный приоритет"},
	task.PriorityHigh:     {"❗ high priority", "❗ высокий приоритет"},
	task.PriorityCritical: {"🔥 critical", "🔥 критично"},
}

// About one task.
var (
	TaskNumber       = Text{"#%d", "№%d"}
	TaskPrivate      = Text{"🔒 private", "🔒 личная"}
	TaskHeldBy       = Text{"It is already claimed by %s.", "Её уже взял(а) %s."}
	TaskYours        = Text{"It is already yours.", "Она уже ваша."}
	TaskStillBlocked = Text{"It waits for tasks that are not done: %s.", "Она ждёт задач, которые не сделаны: %s."}
	TaskNeverStarts  = Text{"It waits for a cancelled task and can never start: %s.", "Она ждёт отменённую задачу, и начать её нельзя: %s."}
)

// TaskDoneComment is the comment proposed for completing a task.
var TaskDoneComment = Text{"Done, nothing to add.", "Сделано, добавить нечего."}

var textNotNow = Text{"This is not possible any more: the task has changed.", "Это уже невозможно: задача изменилась."}

// AboutTask are faults that mean something else to a person when they concern a task.
var AboutTask = map[fault.Code]Text{
	fault.InvalidTransition:  textNotNow,
	fault.InsufficientAccess: {"You are not allowed to do this with the task.", "Это действие с задачей вам недоступно."},
	fault.Validation:         {"The comment is too long.", "Слишком длинный комментарий."},
}

// taskFaults explain the faults of tasks in plain words.
var taskFaults = Faults{
	fault.TaskNotFound:       {"No such task, or you may not see it.", "Такой задачи нет, или вам нельзя её видеть."},
	fault.WorkspaceNotFound:  {"No such workspace.", "Такого рабочего пространства нет."},
	fault.TaskAlreadyClaimed: {"Somebody else has already claimed this task.", "Эту задачу уже взял кто-то другой."},
	fault.CommentRequired:    {"A comment is required. Say why in a few words.", "Нужен комментарий. Напишите в двух словах почему."},
	fault.UnresolvedBlockers: {"The tasks that this one waits for are not done yet.", "Задачи, которых ждёт эта, ещё не сделаны."},
	fault.CyclicDependency:   {"These tasks would wait for each other forever.", "Эти задачи ждали бы друг друга вечно."},
	fault.UnknownBlocker:     {"It would wait for a task that does not exist.", "Она ждала бы задачу, которой нет."},
	fault.CannotEscalateOwn:  {"You cannot escalate your own task. Set it to blocked instead.", "Свою задачу нельзя эскалировать. Отметьте, что она заблокирована."},
	fault.NoLease:            {"You hold this task without a lease: there is nothing to renew.", "Эта задача за вами без срока: продлевать нечего."},
	fault.LeaseLost:          {"You no longer hold this task: its lease has expired, or somebody else took it.", "Эта задача уже не за вами: время вышло или её взял кто-то другой."},
	fault.CannotTakeover:     {"The task is already yours. Set it to in progress instead.", "Задача уже ваша. Верните её в работу."},

	fault.ReviewRequired:       {"Somebody else must approve the result first: submit it.", "Сначала результат должен одобрить кто-то другой: сдайте его."},
	fault.SubmissionNotCurrent: {"There is no such result to review, or a newer one has replaced it.", "Такого результата нет, или его сменил более новый."},
}

// taskQuotas name the limit that is reached; each takes the number.
var taskQuotas = map[string]Text{
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

// People and roles.
var (
	Nobody     = Text{"nobody", "никто"}
	You        = Text{"you", "вы"}
	TheService = Text{"the service", "сервис"}
)
