// Package tasks is the bot's part for tasks: people list, claim, create and work on them, and are notified of changes
// to theirs.
package tasks

import (
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/task"
)

// Store reads tasks, workspaces and the names of their members.
type Store interface {
	NameIn(ctx context.Context, viewer account.User, workspace, user int64) (name, owner string, err error)
	Invitations(ctx context.Context, user, before int64, limit int) ([]task.Invitation, error)
	SetMuted(ctx context.Context, user, task int64, muted bool) error
	Workspaces(ctx context.Context, member, after int64, limit int) ([]task.Workspace, error)
}

// Accounts keeps whether a person is notified of what agents do.
type Accounts interface {
	SetAgentsMuted(ctx context.Context, user int64, muted bool) error
}

// Comments reads the comments on tasks.
type Comments interface {
	LastWords(ctx context.Context, task int64, limit int) ([]core.StreamedEvent, error)
}

type handlers struct {
	*chat.Sender
	tasks    *tasks.Service
	store    Store
	accounts Accounts
	comments Comments
}

// New returns the commands, buttons and notifications of tasks. Plain words are the comment that the menu asked for.
func New(sender *chat.Sender, tasks *tasks.Service, record Store, accounts Accounts, comments Comments) chat.Part {
	h := &handlers{sender, tasks, record, accounts, comments}

	return chat.Part{
		Commands: []chat.Command{
			{Name: "task", About: words.Text{"a task: /task 12; a new one: /task new title; without a number: yours", "задача: /task 12; новая: /task new название; без номера — ваши"}, Run: h.task},
			{Name: "ready", About: words.Text{"tasks that can be claimed now", "задачи, которые можно взять сейчас"}, Run: h.showReady},
			{Name: "claim", About: words.Text{"claim a task: /claim 12 I will do it", "взять задачу: /claim 12 сделаю я"}, Run: h.claim},
			{Name: "mute", About: words.Text{"no messages about a task: /mute 12; about what agents do: /mute agents", "не сообщать о задаче: /mute 12; о шагах агентов: /mute agents"}, Run: h.mute},
			{Name: "unmute", About: words.Text{"messages again: /unmute 12; /unmute agents", "снова сообщать: /unmute 12; /unmute agents"}, Run: h.unmute},
		},
		Buttons: []chat.Button{
			{Prefix: "t", Command: "task", Run: h.openTask},     // t:<task>
			{Prefix: "tn", Command: "task", Run: h.openNotice},  // tn:<task>
			{Prefix: "tm", Command: "task", Run: h.showMine},    // tm:<ids below this one; 0: newest>
			{Prefix: "tr", Command: "ready", Run: h.showReady},  // tr:<ids below this one; 0: newest>
			{Prefix: "ta", Command: "task", Run: h.askComment},  // ta:<task>:<step>
			{Prefix: "tp", Command: "task", Run: h.propose},     // tp:<task>:<step>:<nonce>
			{Prefix: "tq", Command: "mute", Run: h.muteTask},    // tq:<task>
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
