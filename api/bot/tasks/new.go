package tasks

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/service/tasks"
	"stagecoach/internal/store/task"
)

// spacesShown is how many workspaces a person can choose from.
const spacesShown = 20

// askedSpace prefixes the conversation's entry while the menu asks for a workspace: "space:<nonce>:<title>".
const askedSpace = "space"

// newTask creates a task in the person's workspace. If there are several, it asks which one.
func (h *handlers) newTask(ctx context.Context, r *chat.Request, title string) error {
	title = chat.OneLine(title)
	if size := utf8.RuneCountInString(title); size < tasks.MinTitle || size > tasks.MaxTitle {
		return chat.Hint{Text: textTitleSize, Args: []any{tasks.MinTitle, tasks.MaxTitle}}
	}

	spaces, err := h.store.Workspaces(ctx, r.User.ID, 0, spacesShown)
	if err != nil {
		return err
	}

	switch len(spaces) {
	case 0:
		return chat.Hint{Text: textNoSpace, Args: []any{r.User.ID}}
	case 1:
		return h.makeTask(ctx, r, spaces[0].ID, title, r.Key())
	}

	nonce := chat.Nonce()
	var choices []chat.Row
	for _, space := range spaces {
		choices = append(choices, chat.Press(chat.Label(space.Name), "tw", space.ID, nonce))
	}

	h.Show(ctx, r, chat.View{
		Text: r.Say(textChooseSpace, chat.HTML(title)), Rows: choices,
		Ask: fmt.Sprintf("%s:%s:%s", askedSpace, nonce, title),
	})
	return nil
}

// chooseSpace is the button of a workspace. The question's nonce is the idempotency key.
func (h *handlers) chooseSpace(ctx context.Context, r *chat.Request, args chat.Args) error {
	asked := strings.SplitN(r.Conv.Ask, ":", 3)
	if len(args) < 2 || len(asked) < 3 || asked[0] != askedSpace || asked[1] != args[1] {
		return chat.Hint{Text: textStaleTask}
	}
	return h.makeTask(ctx, r, args.Number(0), asked[2], "bot/"+asked[1])
}

func (h *handlers) makeTask(ctx context.Context, r *chat.Request, workspace int64, title, key string) error {
	made, err := h.tasks.Create(ctx, r.User, workspace, task.NewTask{Title: title}, key)
	if err != nil {
		return err
	}
	return h.showTask(ctx, r, made.ID, r.Say(textTaskMade))
}
