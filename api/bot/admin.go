package bot

import (
	"context"
	"html"
	"strings"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
	"stagecoach/internal/store/notice"
)

// pendingShown is how many pending users /approve lists at a time.
const pendingShown = 10

// administration returns the administrators' commands, and the texts that belong to no workload.
func (b *Bot) administration() chat.Part {
	return chat.Part{
		Commands: []chat.Command{
			{Name: "status", About: words.Text{"the state of the service", "состояние сервиса"}, Admin: true, Run: b.showStatus},
			{Name: "approve", About: words.Text{"approve a user: /approve 7; without a number: list those who wait", "открыть доступ: /approve 7; без номера — список ожидающих"}, Admin: true, Run: b.approve},
			{Name: "block", About: words.Text{"block a user: /block 7", "закрыть доступ: /block 7"}, Admin: true, Run: b.block},
		},
		Buttons: []chat.Button{
			{Prefix: "ap", Command: "approve", Run: b.approve}, // ap:<user>
			{Prefix: "bl", Command: "block", Run: b.block},     // bl:<user>
		},
		Notices: map[string]chat.FindNotice{account.NoticesOfAccess: findAccess},
		Texts:   words.Common,
	}
}

// findAccess greets a person who has been approved, through whichever interface.
func findAccess(_ context.Context, viewer account.User, _ notice.Notice) (chat.DrawNotice, error) {
	return func(context.Context, notice.Notice, []core.StreamedEvent) chat.View {
		return welcome(viewer.Language, textApproved)
	}, nil
}

// approve is /approve <user>, and its button. Without a user it lists the pending ones.
func (b *Bot) approve(ctx context.Context, r *chat.Request, args chat.Args) error {
	if r.Args == "" && len(args) == 0 {
		return b.listPending(ctx, r)
	}
	return b.decide(ctx, r, args, account.UserActive)
}

// block is /block <user>, and its button.
func (b *Bot) block(ctx context.Context, r *chat.Request, args chat.Args) error {
	return b.decide(ctx, r, args, account.UserBlocked)
}

// decide approves or blocks a user.
func (b *Bot) decide(ctx context.Context, r *chat.Request, args chat.Args, status string) error {
	id := args.Number(0)
	if len(args) == 0 {
		var ok bool
		if id, ok = chat.ReadNumber(r.Args); !ok {
			return chat.Hint{Text: textUserUsage}
		}
	}
	if id == r.User.ID {
		return fault.New(fault.OwnAccess, "administrators cannot change their own access")
	}

	user, err := b.setStatus(ctx, id, status)
	if err != nil {
		return err
	}

	r.Subject = subjectOf(id)

	said := textUserActive
	if status == account.UserBlocked {
		said = textUserBlocked
	}
	b.Reply(ctx, r, chat.View{
		Text: r.Say(said, user.ID, html.EscapeString(user.Name)),
		Rows: chat.Rows(decisionButtons(r.User.Language, user)),
	})
	return nil
}

func (b *Bot) setStatus(ctx context.Context, id int64, status string) (user account.User, err error) {
	user, err = b.store.Accounts.UserByID(ctx, id)
	if err != nil || user.Status == status {
		return user, err
	}
	user, err = b.store.Accounts.ChangeUser(ctx, id, account.UserChange{Status: status})
	if err == nil && status == account.UserBlocked && b.o.OnBlocked != nil {
		b.o.OnBlocked(ctx, id)
	}
	return user, err
}

func (b *Bot) listPending(ctx context.Context, r *chat.Request) error {
	users, err := b.store.Accounts.Users(ctx, account.UserPending, 0, pendingShown)
	if err != nil {
		return err
	}

	lines := []string{r.Say(textPendingUsers)}
	var buttons []chat.Row
	for _, user := range users {
		lines = append(lines, r.Say(textPendingUser, user.ID, html.EscapeString(user.Name)))
		buttons = append(buttons, decisionButtons(r.User.Language, user))
	}
	if len(users) == 0 {
		lines = []string{r.Say(textNobodyWaits)}
	}

	b.Post(ctx, r.Chat, chat.View{Text: strings.Join(lines, "\n"), Rows: buttons})
	return nil
}

// decisionButtons offers the possible decisions about a user.
func decisionButtons(language string, user account.User) chat.Row {
	var row chat.Row
	if user.Status != account.UserActive {
		row = append(row, chat.Press(labelApprove.In(language, user.ID), "ap", user.ID)...)
	}
	if user.Status != account.UserBlocked {
		row = append(row, chat.Press(labelBlock.In(language, user.ID), "bl", user.ID)...)
	}
	return row
}
