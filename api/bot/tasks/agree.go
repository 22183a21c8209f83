package tasks

import (
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// agreementsAsked is how many workspaces a list asks about at once.
const agreementsAsked = 3

// askToAgree adds to a list of tasks the workspaces that the person was added to by others and has not agreed to. There
// is no notice that asks, because people who have not agreed get no notices.
func (h *handlers) askToAgree(ctx context.Context, user account.User, list chat.View) (chat.View, error) {
	asking, err := h.store.Unagreed(ctx, user.ID, agreementsAsked)
	for _, space := range asking {
		list.Text += "\n\n" + textAskAgree.In(user.Language, chat.HTML(space.Name))
		list.Rows = append(list.Rows, chat.Press(labelAgree.In(user.Language, chat.Label(space.Name)), "tg", space.ID))
	}
	return list, err
}

// agree is the button by which a person agrees to be named in a workspace and to be notified of its tasks.
func (h *handlers) agree(ctx context.Context, r *chat.Request, args chat.Args) error {
	space, err := h.tasks.Agree(ctx, r.User, args.Number(0))
	if fault.CodeOf(err) == fault.WorkspaceNotFound {
		return chat.Hint{Text: textStaleTask}
	}
	if err != nil {
		return err
	}

	r.Note = r.Say(textAgreed, chat.Label(space.Name))
	return h.showMine(ctx, r, nil)
}
