package bot

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// person returns the user of a Telegram account, and updates its name and language. A new account is added, and the
// administrators are asked to approve it. The error is RATE_LIMITED when there are too many newcomers.
func (b *Bot) person(ctx context.Context, from telego.User) (account.User, error) {
	user, err := b.store.Accounts.UserByTelegram(ctx, from.ID)
	if fault.CodeOf(err) == fault.UserNotFound {
		user, err = b.addPerson(ctx, from)
	}
	if err != nil {
		return user, err
	}

	// Recipients of Stars are matched by username.
	if username := strings.ToLower(from.Username); username != user.Username {
		if err := b.store.Accounts.SaveUsername(ctx, user.ID, username); err != nil {
			return user, err
		}
		user.Username = username
	}

	var change account.UserChange
	if language := languageOf(from); language != "" && language != user.Language && !user.LanguageChosen {
		change.Language, change.Telegram = language, true
	}
	if b.isNamedAdmin(from) && user.Status != account.UserBlocked && !user.IsAdmin() {
		change.Role, change.Status = account.RoleAdmin, account.UserActive
	}
	if change == (account.UserChange{}) {
		return user, nil
	}
	return b.store.Accounts.ChangeUser(ctx, user.ID, change)
}

// isNamedAdmin reports whether the settings make the account an administrator.
func (b *Bot) isNamedAdmin(from telego.User) bool { return slices.Contains(b.o.AdminIDs, from.ID) }

// addPerson adds a new Telegram account as a user.
func (b *Bot) addPerson(ctx context.Context, from telego.User) (account.User, error) {
	newcomer := account.User{
		TelegramID: &from.ID, Name: nameOf(from), Language: languageOf(from),
		Role: account.RoleUser, Status: account.UserPending,
	}
	if b.o.ActivateAtOnce {
		newcomer.Status = account.UserActive
	}
	if b.isNamedAdmin(from) {
		newcomer.Role, newcomer.Status = account.RoleAdmin, account.UserActive
	}

	// Administrators count towards the newcomer rate too, but are never refused.
	if err := b.admitNewcomer(); err != nil && !b.isNamedAdmin(from) {
		return account.User{}, err
	}

	user, created, err := b.store.Accounts.EnsureTelegramUser(ctx, newcomer)
	if created && user.Status == account.UserPending {
		chat.PlaceOf(ctx).Elsewhere(func(ctx context.Context) { b.Announce(ctx, user) })
	}
	return user, err
}

// refusalOf returns why a person may not use a command.
func refusalOf(user account.User, c chat.Command) (why words.Text, refused bool) {
	switch {
	case user.Status == account.UserBlocked:
		return words.TextBlocked, true
	case c.Open:
		return words.Text{}, false
	case user.Status != account.UserActive:
		return textPending, true
	case c.Admin && !user.IsAdmin():
		return words.TextAdminsOnly, true
	default:
		return words.Text{}, false
	}
}

// welcome is a greeting with a button that opens the files.
func welcome(language string, greeting words.Text) chat.View {
	files := chat.Press(chat.LabelFiles.In(language), "f", 0, 0)
	return chat.View{Text: greeting.In(language), Rows: chat.Rows(files)}
}

// leaveGroup answers a command or a button press in a group, and leaves the group. A group that adds the bot again
// within an hour gets no second answer. Other group messages are not meant for the bot.
func (b *Bot) leaveGroup(ctx context.Context, in chat.Incoming) {
	if in.Click == "" && !strings.HasPrefix(in.Words, "/") {
		return
	}

	r := &chat.Request{Incoming: in, User: account.User{Language: languageOf(in.From)}}
	if b.groupAnswers.take(in.Chat) {
		b.Tell(ctx, r, r.Say(textPrivateOnly))
	}
	b.AnswerClick(ctx, r)

	if in.Chat != b.o.CacheChat && b.groupLeaves.take(in.Chat) {
		b.Leave(ctx, in.Chat)
	}
}

// languageOf returns the language for a person; "" when Telegram does not report one.
func languageOf(from telego.User) string {
	switch {
	case from.LanguageCode == "":
		return ""
	case strings.HasPrefix(from.LanguageCode, "ru"):
		return words.Russian
	default:
		return words.English
	}
}

// nameOf returns the name that administrators see for a person.
func nameOf(from telego.User) string {
	name := strings.TrimSpace(from.FirstName + " " + from.LastName)
	if from.Username != "" {
		name += " (@" + from.Username + ")"
	}
	return words.Shorten(words.Clean(name), 100)
}

// subjectOf names a user in the audit log.
func subjectOf(userID int64) string { return "user/" + strconv.FormatInt(userID, 10) }
