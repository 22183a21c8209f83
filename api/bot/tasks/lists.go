package tasks

import (
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

const tasksPerPage = 8

// task is /task <id> and /task new <title>; without arguments it lists the person's work.
func (h *handlers) task(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.Args == "" {
		return h.showMine(ctx, r, nil)
	}

	first, rest := chat.FirstWord(r.Args)
	if strings.EqualFold(first, "new") && rest != "" {
		return h.newTask(ctx, r, rest)
	}

	id, ok := chat.ReadNumber(first)
	if !ok {
		return chat.Hint{Text: textTaskUsage}
	}
	return h.showTask(ctx, r, id, "")
}

func (h *handlers) openTask(ctx context.Context, r *chat.Request, args chat.Args) error {
	return h.showTask(ctx, r, args.Number(0), "")
}

// openNotice opens the task of a notification. The notification stays as it is; the card is a new message below it.
func (h *handlers) openNotice(ctx context.Context, r *chat.Request, args chat.Args) error {
	if !r.OnMenu() {
		r.Message = 0
	}
	return h.openTask(ctx, r, args)
}

// showTask shows the card of a task, with a note on top.
func (h *handlers) showTask(ctx context.Context, r *chat.Request, id int64, note string) error {
	found, err := h.tasks.Find(ctx, r.User, id)
	if err != nil {
		return err
	}

	card, err := h.card(ctx, r.User, found)
	if err != nil {
		return err
	}

	h.Show(ctx, r, card.Noted(note))
	return nil
}

// showReady is /ready, and the buttons of its pages: the tasks that can be claimed now.
func (h *handlers) showReady(ctx context.Context, r *chat.Request, args chat.Args) error {
	ready := chat.List[task.Task]{Prefix: "tr", Title: textReadyTasks, None: textNoReady}
	ready.Draw = func(t task.Task) ([]string, chat.Row) {
		claim := chat.Press(r.Say(labelClaimIt, t.ID), "ta", t.ID, lifecycle.TaskActionClaim)
		return taskLine(r, t, words.TaskPriorities[t.Priority]), append(claim, openButton(r, t)...)
	}
	return h.showTasks(ctx, r, ready, task.Filter{Ready: true, Before: args.Offset(0)})
}

// showMine lists the person's work.
func (h *handlers) showMine(ctx context.Context, r *chat.Request, args chat.Args) error {
	mine := chat.List[task.Task]{Prefix: "tm", Title: textMyTasks, None: textNoTasks}
	mine.Draw = func(t task.Task) ([]string, chat.Row) {
		return taskLine(r, t, words.TaskStates[t.State]), openButton(r, t)
	}
	return h.showTasks(ctx, r, mine, task.Filter{AssigneeID: r.User.ID, Live: true, Before: args.Offset(0)})
}

func taskLine(r *chat.Request, t task.Task, about words.Text) []string {
	return []string{r.Say(textTaskLine, t.ID, chat.HTML(chat.Label(t.Title)), r.Say(about))}
}

func openButton(r *chat.Request, t task.Task) chat.Row {
	return chat.Press(r.Say(labelOpenTask, t.ID), "t", t.ID)
}

func (h *handlers) showTasks(ctx context.Context, r *chat.Request, list chat.List[task.Task], f task.Filter) error {
	f.Limit = tasksPerPage + 1
	tasks, err := h.tasks.List(ctx, r.User, f)
	if err != nil {
		return err
	}

	list.Size, list.ID = tasksPerPage, func(t task.Task) int64 { return t.ID }
	drawn := list.View(r.User.Language, f.Before, tasks)
	if f.Before == 0 {
		if drawn, err = h.addInvitations(ctx, r.User, drawn); err != nil {
			return err
		}
	}

	h.Show(ctx, r, drawn)
	return nil
}

// mute is /mute <task> and /mute agents.
func (h *handlers) mute(ctx context.Context, r *chat.Request, _ chat.Args) error {
	return h.setMuted(ctx, r, true, textTaskMuted, textAgentsMuted)
}

// unmute is /unmute <task> and /unmute agents.
func (h *handlers) unmute(ctx context.Context, r *chat.Request, _ chat.Args) error {
	return h.setMuted(ctx, r, false, textTaskHeard, textAgentsHeard)
}

func (h *handlers) setMuted(ctx context.Context, r *chat.Request, muted bool, ofTask, ofAgents words.Text) error {
	if strings.EqualFold(r.Args, "agents") {
		if err := h.accounts.SetAgentsMuted(ctx, r.User.ID, muted); err != nil {
			return err
		}
		h.Post(ctx, r.Chat, chat.View{Text: r.Say(ofAgents)})
		return nil
	}

	id, ok := chat.ReadNumber(r.Args)
	if !ok {
		return chat.Hint{Text: textMuteUsage}
	}

	found, err := h.tasks.Find(ctx, r.User, id)
	if err != nil {
		return err
	}
	if err := h.store.SetMuted(ctx, r.User.ID, found.ID, muted); err != nil {
		return err
	}
	h.Tell(ctx, r, r.Say(ofTask, found.ID))
	return nil
}

// muteTask is the button below a notification, which stays as it is. Idempotent.
func (h *handlers) muteTask(ctx context.Context, r *chat.Request, args chat.Args) error {
	found, err := h.tasks.Find(ctx, r.User, args.Number(0))
	if err != nil {
		return err
	}
	if err := h.store.SetMuted(ctx, r.User.ID, found.ID, true); err != nil {
		return err
	}

	h.Tell(ctx, r, r.Say(textTaskMuted, found.ID))
	return nil
}
