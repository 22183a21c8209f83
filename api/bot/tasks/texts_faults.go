package tasks

import (
	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
)

// faults say in plain words what a task can meet.
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

// quotas say which limit is reached; each takes the limit.
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
