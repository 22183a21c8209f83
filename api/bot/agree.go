package bot

import (
	"context"
	"html"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// agreementsAsked is how many workspaces a list asks about at once.
const agreementsAsked = 3

// askToAgree adds to a list of tasks the workspaces that the person was let into by others and has not agreed to. No
// message of its own asks: who has not agreed is sent none.
func (b *Bot) askToAgree(ctx context.Context, user store.User, list view) (view, error) {
	asking, err := b.store.Unagreed(ctx, user.ID, agreementsAsked)
	for _, space := range asking {
		list.text += "\n\n" + textAskAgree.in(user.Language, html.EscapeString(clean(space.Name)))
		list.rows = append(list.rows, press(labelAgree.in(user.Language, label(space.Name)), "tg", space.ID))
	}
	return list, err
}

// agree is the button by which a person agrees to be named in a workspace and to hear of its tasks. Twice is as good as
// once.
func (b *Bot) agree(ctx context.Context, r *request, args []string) error {
	space, err := b.tasks.Agree(ctx, r.user, number(args, 0))
	if fault.CodeOf(err) == fault.WorkspaceNotFound {
		return hint{text: textStaleTask}
	}
	if err != nil {
		return err
	}
	r.note = r.say(textAgreed, label(space.Name))
	return b.showMine(ctx, r, 0)
}
