package bot

import (
	"context"
	"html"
	"strconv"
	"strings"
	"unicode"

	"github.com/mymmrac/telego"

	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

const tasksPerPage = 8

func (b *Bot) taskCommands() []command {
	return []command{
		{name: "task", about: aboutTask, run: b.task},
		{name: "ready", about: aboutReady, run: b.ready},
		{name: "claim", about: aboutClaim, run: b.claim},
	}
}

func (b *Bot) taskButtons() []button {
	return []button{
		{prefix: "t", command: "task", run: b.openTask},     // t:<task>
		{prefix: "tn", command: "task", run: b.openNews},    // tn:<task>
		{prefix: "tm", command: "task", run: b.openMine},    // tm:<ids below this one; 0: the newest>
		{prefix: "tr", command: "ready", run: b.openReady},  // tr:<ids below this one; 0: the newest>
		{prefix: "ta", command: "task", run: b.askComment},  // ta:<task>:<step>
		{prefix: "tg", command: "task", run: b.agree},       // tg:<workspace>
		{prefix: "tw", command: "task", run: b.chooseSpace}, // tw:<workspace>:<nonce>
	}
}

// task is /task <id>, /task new <title>, and without anything what the person has to do.
func (b *Bot) task(ctx context.Context, r *request) error {
	if r.args == "" {
		return b.showMine(ctx, r, 0)
	}

	first, rest := firstWord(r.args)
	if strings.EqualFold(first, "new") && rest != "" {
		return b.newTask(ctx, r, rest)
	}

	id, ok := readNumber(first)
	if !ok {
		return hint{text: textTaskUsage}
	}
	return b.showTask(ctx, r, id, "")
}

// firstWord cuts the first word off what stands behind a command.
func firstWord(args string) (word, rest string) {
	if end := strings.IndexFunc(args, unicode.IsSpace); end >= 0 {
		return args[:end], strings.TrimSpace(args[end:])
	}
	return args, ""
}

// readNumber reads the number of something as people write it.
func readNumber(word string) (int64, bool) {
	id, err := strconv.ParseInt(strings.TrimLeft(word, "#№"), 10, 64)
	return id, err == nil
}

func (b *Bot) openTask(ctx context.Context, r *request, args []string) error {
	return b.showTask(ctx, r, number(args, 0), "")
}

// openNews opens the task of a notice. The notice stays as it is: the card comes to where the person looks.
func (b *Bot) openNews(ctx context.Context, r *request, args []string) error {
	if r.message != r.conv.MessageID {
		r.message = 0
	}
	return b.openTask(ctx, r, args)
}

// showTask shows the card of a task, with a note on top.
func (b *Bot) showTask(ctx context.Context, r *request, id int64, note string) error {
	task, err := b.tasks.Find(ctx, r.user, id)
	if err != nil {
		return err
	}

	card, err := b.card(ctx, r.user, task)
	if err != nil {
		return err
	}

	if note != "" {
		card.text = note + "\n\n" + card.text
	}

	b.show(ctx, r, card)
	return nil
}

func (b *Bot) ready(ctx context.Context, r *request) error { return b.showReady(ctx, r, 0) }

func (b *Bot) openReady(ctx context.Context, r *request, args []string) error {
	return b.showReady(ctx, r, max(number(args, 0), 0))
}

func (b *Bot) openMine(ctx context.Context, r *request, args []string) error {
	return b.showMine(ctx, r, max(number(args, 0), 0))
}

func (b *Bot) showReady(ctx context.Context, r *request, before int64) error {
	return b.showTasks(ctx, r, taskList{prefix: "tr", title: textReadyTasks, none: textNoReady, claim: true},
		store.TaskFilter{Ready: true, Before: before})
}

func (b *Bot) showMine(ctx context.Context, r *request, before int64) error {
	return b.showTasks(ctx, r, taskList{prefix: "tm", title: textMyTasks, none: textNoTasks},
		store.TaskFilter{AssigneeID: r.user.ID, Live: true, Before: before})
}

// taskList is a kind of list of tasks.
type taskList struct {
	prefix      string // of the buttons that turn its pages
	title, none text
	claim       bool // with Claim buttons
}

func (b *Bot) showTasks(ctx context.Context, r *request, kind taskList, f store.TaskFilter) error {
	f.Limit = tasksPerPage + 1 // one more than is shown tells whether there is another page
	tasks, err := b.tasks.List(ctx, r.user, f)
	if err != nil {
		return err
	}

	more := len(tasks) > tasksPerPage
	drawn := kind.view(r.user.Language, tasks[:min(tasksPerPage, len(tasks))], f.Before, more)

	if f.Before == 0 {
		if drawn, err = b.askToAgree(ctx, r.user, drawn); err != nil {
			return err
		}
	}

	b.show(ctx, r, drawn)
	return nil
}

func (k taskList) view(language string, tasks []store.Task, before int64, more bool) view {
	lines := []string{k.title.in(language)}
	var drawn [][]telego.InlineKeyboardButton
	for _, task := range tasks {
		about := taskStatuses[task.State]
		if k.claim {
			about = taskPriorities[task.Priority]
		}
		lines = append(lines, textTaskLine.in(language, task.ID, html.EscapeString(label(task.Title)), about.in(language)))
		row := press(labelOpenTask.in(language, task.ID), "t", task.ID)
		if k.claim {
			row = append(press(labelClaimIt.in(language, task.ID), "ta", task.ID, lifecycle.TaskActionClaim), row...)
		}
		drawn = append(drawn, row)
	}

	if len(tasks) == 0 {
		lines = append(lines, k.none.in(language))
	}

	var turn []telego.InlineKeyboardButton
	if before != 0 {
		turn = append(turn, press(labelNewest.in(language), k.prefix, 0)...)
	}

	if more {
		turn = append(turn, press(labelOlder.in(language), k.prefix, tasks[len(tasks)-1].ID)...)
	}
	return view{text: strings.Join(lines, "\n"), rows: rows(append(drawn, turn)...)}
}
