package bot

import (
	"context"
	"html"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// pendingShown is how many people who wait /approve lists at a time.
const pendingShown = 10

func (b *Bot) adminCommands() []command {
	return []command{
		{name: "status", about: aboutStatus, admin: true, run: b.showStatus},
		{name: "approve", about: aboutApprove, admin: true, run: b.approve},
		{name: "block", about: aboutBlock, admin: true, run: b.block},
	}
}

func (b *Bot) adminButtons() []button {
	return []button{
		{prefix: "ap", command: "approve", run: b.decision(store.UserActive)}, // ap:<user>
		{prefix: "bl", command: "block", run: b.decision(store.UserBlocked)},  // bl:<user>
	}
}

// approve is /approve <user>; without one it lists who waits.
func (b *Bot) approve(ctx context.Context, r *request) error {
	if r.args == "" {
		return b.listPending(ctx, r)
	}
	return b.decideNamed(ctx, r, store.UserActive)
}

func (b *Bot) block(ctx context.Context, r *request) error {
	return b.decideNamed(ctx, r, store.UserBlocked)
}

func (b *Bot) decideNamed(ctx context.Context, r *request, status string) error {
	id, err := strconv.ParseInt(strings.TrimPrefix(r.args, "#"), 10, 64)
	if err != nil {
		return hint{text: textUserUsage}
	}
	return b.decide(ctx, r, id, status)
}

func (b *Bot) decision(status string) func(context.Context, *request, []string) error {
	return func(ctx context.Context, r *request, args []string) error {
		return b.decide(ctx, r, number(args, 0), status)
	}
}

func (b *Bot) listPending(ctx context.Context, r *request) error {
	users, err := b.store.Users(ctx, store.UserPending, 0, pendingShown)
	if err != nil {
		return err
	}

	lines := []string{r.say(textPendingUsers)}
	var buttons [][]telego.InlineKeyboardButton
	for _, user := range users {
		lines = append(lines, r.say(textPendingUser, user.ID, html.EscapeString(user.Name)))
		buttons = append(buttons, decisionButtons(r.user.Language, user))
	}

	if len(users) == 0 {
		lines = []string{r.say(textNobodyWaits)}
	}

	b.post(ctx, r.chat, view{text: strings.Join(lines, "\n"), rows: buttons})
	return nil
}

// decisionButtons offers what can be decided about a user.
func decisionButtons(language string, user store.User) []telego.InlineKeyboardButton {
	var row []telego.InlineKeyboardButton
	if user.Status != store.UserActive {
		row = append(row, press(labelApprove.in(language, user.ID), "ap", user.ID)...)
	}
	if user.Status != store.UserBlocked {
		row = append(row, press(labelBlock.in(language, user.ID), "bl", user.ID)...)
	}
	return row
}

// decide lets a user in or keeps them out. An approved one is told, once; a blocked one finds out.
func (b *Bot) decide(ctx context.Context, r *request, id int64, status string) error {
	if id == r.user.ID {
		return fault.New(fault.OwnAccess, "administrators do not decide about themselves")
	}

	user, err := b.store.UserByID(ctx, id)
	if err != nil {
		return err
	}

	changed := user.Status != status
	if changed {
		if user, err = b.store.ChangeUser(ctx, id, store.UserChange{Status: status}); err != nil {
			return err
		}
	}

	r.subject = subjectOf(id)
	if changed && status == store.UserActive && user.TelegramID != nil {
		b.post(ctx, *user.TelegramID, welcome(user.Language, textApproved))
	}

	said := textUserActive
	if status == store.UserBlocked {
		said = textUserBlocked
	}

	v := view{
		text: r.say(said, user.ID, html.EscapeString(user.Name)),
		rows: rows(decisionButtons(r.user.Language, user)),
	}

	if r.click == "" {
		b.post(ctx, r.chat, v)
		return nil
	}

	if outcome, err := b.answer(ctx, true, func() error { return b.edit(ctx, r.chat, r.message, v) }); outcome != done {
		b.log.Info("bot: the question is not redrawn", "user", who(r.chat), "error", err)
	}
	return nil
}
