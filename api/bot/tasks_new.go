package bot

import (
	"context"
	"fmt"
	"html"
	"strings"
	"unicode/utf8"

	"github.com/mymmrac/telego"

	"stagecoach/internal/service"
	"stagecoach/internal/store"
)

// spacesShown is how many workspaces a person can choose among.
const spacesShown = 20

// askedSpace begins what the conversation remembers while the menu asks for a workspace: "space:<nonce>:<title>".
const askedSpace = "space"

// newTask makes a task in the workspace that the person is a member of. When there are several it asks which.
func (b *Bot) newTask(ctx context.Context, r *request, title string) error {
	title = strings.Join(strings.Fields(title), " ") // one line
	if size := utf8.RuneCountInString(title); size < service.MinTaskTitle || size > service.MaxTaskTitle {
		return hint{text: textTitleSize, args: []any{service.MinTaskTitle, service.MaxTaskTitle}}
	}

	spaces, err := b.store.Workspaces(ctx, r.user.ID, 0, spacesShown)
	if err != nil {
		return err
	}

	switch len(spaces) {
	case 0:
		return hint{text: textNoSpace, args: []any{r.user.ID}}
	case 1:
		return b.makeTask(ctx, r, spaces[0].ID, title, r.key())
	}

	nonce := newNonce()
	var choices [][]telego.InlineKeyboardButton
	for _, space := range spaces {
		choices = append(choices, press(label(space.Name), "tw", space.ID, nonce))
	}

	b.show(ctx, r, view{
		text: r.say(textChooseSpace, html.EscapeString(clean(title))), rows: choices,
		ask: fmt.Sprintf("%s:%s:%s", askedSpace, nonce, title),
	})
	return nil
}

// chooseSpace is the button of a workspace. The question's nonce is the request's key.
func (b *Bot) chooseSpace(ctx context.Context, r *request, args []string) error {
	asked := strings.SplitN(r.conv.Ask, ":", 3)
	if len(args) < 2 || len(asked) < 3 || asked[0] != askedSpace || asked[1] != args[1] {
		return hint{text: textStaleTask}
	}
	return b.makeTask(ctx, r, number(args, 0), asked[2], "bot/"+asked[1])
}

func (b *Bot) makeTask(ctx context.Context, r *request, workspace int64, title, key string) error {
	made, err := b.tasks.Create(ctx, r.user, workspace, store.NewTask{Title: title}, key)
	if err != nil {
		return err
	}
	return b.showTask(ctx, r, made.ID, r.say(textTaskMade))
}
