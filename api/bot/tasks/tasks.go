// Package tasks is the bot's part for tasks: people list, claim and work on them, make new ones, and are notified of
// changes of theirs.
package tasks

import (
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Store reads tasks, workspaces and the names of their members.
type Store interface {
	NameIn(ctx context.Context, viewer account.User, workspace, user int64) (name, owner string, err error)
	Invitations(ctx context.Context, user, before int64, limit int) ([]task.Invitation, error)
	Workspaces(ctx context.Context, member, after int64, limit int) ([]task.Workspace, error)
}

// Comments reads what people have said about tasks.
type Comments interface {
	LastWords(ctx context.Context, task int64, limit int) ([]core.StreamedEvent, error)
}

type handlers struct {
	*chat.Sender
	tasks    *service.Tasks
	store    Store
	comments Comments
}

// New returns the commands, buttons and notices of tasks. Plain words are the comment that the menu asks for.
func New(sender *chat.Sender, tasks *service.Tasks, record Store, comments Comments) chat.Part {
	h := &handlers{sender, tasks, record, comments}

	return chat.Part{
		Commands: []chat.Command{
			{Name: "task", About: words.Text{"a task: /task 12; a new one: /task new title; without a number: yours", "задача: /task 12; новая: /task new название; без номера — ваши"}, Run: h.task},
			{Name: "ready", About: words.Text{"tasks that can be claimed now", "задачи, которые можно взять сейчас"}, Run: h.showReady},
			{Name: "claim", About: words.Text{"claim a task: /claim 12 I will do it", "взять задачу: /claim 12 сделаю я"}, Run: h.claim},
		},
		Buttons: []chat.Button{
			{Prefix: "t", Command: "task", Run: h.openTask},     // t:<task>
			{Prefix: "tn", Command: "task", Run: h.openNotice},  // tn:<task>
			{Prefix: "tm", Command: "task", Run: h.showMine},    // tm:<ids below this one; 0: the newest>
			{Prefix: "tr", Command: "ready", Run: h.showReady},  // tr:<ids below this one; 0: the newest>
			{Prefix: "ta", Command: "task", Run: h.askComment},  // ta:<task>:<step>
			{Prefix: "tg", Command: "task", Run: h.agree},       // tg:<workspace>
			{Prefix: "tf", Command: "task", Run: h.refuse},      // tf:<workspace>
			{Prefix: "tw", Command: "task", Run: h.chooseSpace}, // tw:<workspace>:<nonce>
		},
		Words: []chat.Words{{Command: "task", Match: asksForComment, Run: h.takeComment}},
		Notices: map[string]chat.FindNotice{
			lifecycle.WorkloadTask: h.findNotice, task.NoticesOfInvitations: h.findInvitation,
		},
		Status: map[string]chat.Status{lifecycle.WorkloadTask: {Heading: textTasks}},
		Texts:  words.Tasks,
	}
}
