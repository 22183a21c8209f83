package tasks

import (
	"context"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/task"
)

const tasksPerPage = 8

// task is /task <id>, /task new <title>, and without anything what the person has to do.
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

// openNotice opens the task of a notice. The notice stays as it is; the card is a new message below it.
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
	ready := taskList{prefix: "tr", title: textReadyTasks, none: textNoReady, claim: true}
	return h.showTasks(ctx, r, ready, task.Filter{Ready: true, Before: args.Offset(0)})
}

// showMine lists what the person has to do.
func (h *handlers) showMine(ctx context.Context, r *chat.Request, args chat.Args) error {
	mine := taskList{prefix: "tm", title: textMyTasks, none: textNoTasks}
	return h.showTasks(ctx, r, mine, task.Filter{AssigneeID: r.User.ID, Live: true, Before: args.Offset(0)})
}

// taskList is a kind of list of tasks.
type taskList struct {
	prefix      string // of the buttons that turn its pages
	title, none chat.Text
	claim       bool // with Claim buttons
}

func (h *handlers) showTasks(ctx context.Context, r *chat.Request, kind taskList, f task.Filter) error {
	f.Limit = tasksPerPage + 1
	tasks, err := h.tasks.List(ctx, r.User, f)
	if err != nil {
		return err
	}

	tasks, next := chat.Page(tasks, tasksPerPage, func(t task.Task) int64 { return t.ID })
	drawn := kind.view(r.User.Language, tasks, f.Before, next)

	if f.Before == 0 {
		if drawn, err = h.askToAgree(ctx, r.User, drawn); err != nil {
			return err
		}
	}
	h.Show(ctx, r, drawn)
	return nil
}

func (k taskList) view(language string, tasks []task.Task, before, next int64) chat.View {
	lines := []string{k.title.In(language)}
	var rows []chat.Row
	for _, t := range tasks {
		about, row := taskStates[t.State], chat.Press(labelOpenTask.In(language, t.ID), "t", t.ID)
		if k.claim {
			about = taskPriorities[t.Priority]
			row = append(chat.Press(labelClaimIt.In(language, t.ID), "ta", t.ID, lifecycle.TaskActionClaim), row...)
		}
		lines = append(lines, textTaskLine.In(language, t.ID, chat.HTML(chat.Label(t.Title)), about.In(language)))
		rows = append(rows, row)
	}
	if len(tasks) == 0 {
		lines = append(lines, k.none.In(language))
	}

	rows = append(rows, chat.Turn(language, k.prefix, before, next))
	return chat.View{Text: strings.Join(lines, "\n"), Rows: chat.Rows(rows...)}
}
