package tasks

import (
	"cmp"
	"context"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
	"stagecoach/internal/store/task"
)

const (
	// invitationsShown is how many invitations are listed below the tasks.
	invitationsShown = 3
	// nameLength is how many runes an invitation shows of each name: strangers write them.
	nameLength = 60
)

// findInvitation finds the newest invitation that a person is to be notified of.
func (h *handlers) findInvitation(
	ctx context.Context, viewer account.User, _ notice.Notice,
) (chat.DrawNotice, error) {
	asked, err := h.store.Invitations(ctx, viewer.ID, 0, 2)
	if err == nil && len(asked) == 0 {
		err = fault.New(fault.WorkspaceNotFound, "the invitation is no longer open")
	}
	return func(context.Context, notice.Notice, []core.StreamedEvent) chat.View {
		view := invitation(viewer.Language, asked[0])
		if len(asked) > 1 {
			view.Text += "\n\n" + textMoreInvitations.In(viewer.Language)
		}
		return view
	}, err
}

// invitation shows who invites a person to which workspace. Names are formatted as code, because Telegram creates no
// links in code.
func invitation(language string, i task.Invitation) chat.View {
	by := cmp.Or(i.InvitedByName, words.Person.In(language, i.InvitedBy))
	return chat.View{
		Text: textInvitation.In(language, chat.ShortHTML(by, nameLength), chat.ShortHTML(i.WorkspaceName, nameLength)),
		Rows: chat.Rows(
			chat.Press(labelAgree.In(language, chat.Label(i.WorkspaceName)), "tg", i.WorkspaceID),
			chat.Press(labelRefuse.In(language, chat.Label(i.WorkspaceName)), "tf", i.WorkspaceID),
		),
	}
}

// addInvitations adds the person's newest invitations to a list of tasks.
func (h *handlers) addInvitations(ctx context.Context, user account.User, list chat.View) (chat.View, error) {
	asked, err := h.store.Invitations(ctx, user.ID, 0, invitationsShown)
	for _, one := range asked {
		drawn := invitation(user.Language, one)
		list.Text += "\n\n" + drawn.Text
		list.Rows = append(list.Rows, drawn.Rows...)
	}
	return list, err
}

// agree is the button that accepts an invitation.
func (h *handlers) agree(ctx context.Context, r *chat.Request, args chat.Args) error {
	space, err := h.tasks.Agree(ctx, r.User, args.Number(0))
	if err != nil {
		return staleInvitation(err)
	}

	r.Note = r.Say(textAgreed, chat.Label(space.Name))
	return h.showAnswered(ctx, r)
}

// refuse is the button that declines an invitation for good.
func (h *handlers) refuse(ctx context.Context, r *chat.Request, args chat.Args) error {
	if err := h.tasks.Refuse(ctx, r.User, args.Number(0)); err != nil {
		return staleInvitation(err)
	}

	r.Note = r.Say(textRefused)
	return h.showAnswered(ctx, r)
}

// staleInvitation is the error of a late answer: the invitation may have been withdrawn or answered before.
func staleInvitation(err error) error {
	if fault.CodeOf(err) == fault.WorkspaceNotFound {
		return chat.Hint{Text: textStaleTask}
	}
	return err
}

// showAnswered shows the person's tasks after an answer. A notification stays as it is; the list is a new message below
// it.
func (h *handlers) showAnswered(ctx context.Context, r *chat.Request) error {
	if !r.OnMenu() {
		r.Message = 0
	}
	return h.showMine(ctx, r, nil)
}
