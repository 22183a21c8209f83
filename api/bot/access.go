package bot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"slices"
	"strconv"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// person finds the user behind a Telegram account. Who comes for the first time is added, and the administrators are
// told when they have something to decide. RATE_LIMITED: there are too many newcomers.
func (b *Bot) person(ctx context.Context, from telego.User) (store.User, error) {
	named := slices.Contains(b.adminIDs, from.ID)
	newcomer := store.User{
		TelegramID: &from.ID, Name: nameOf(from), Language: languageOf(from), Role: store.RoleUser, Status: store.UserPending,
	}

	if b.activateAtOnce {
		newcomer.Status = store.UserActive
	}

	if named {
		newcomer.Role, newcomer.Status = store.RoleAdmin, store.UserActive
	}

	user, err := b.store.UserByTelegram(ctx, from.ID)
	created := false
	if fault.CodeOf(err) == fault.UserNotFound {
		if err = b.admitNewcomer(ctx); err == nil || named {
			user, created, err = b.store.EnsureTelegramUser(ctx, newcomer)
		}
	}

	if err != nil {
		return user, err
	}

	if created && user.Status == store.UserPending {
		b.announce(ctx, user)
	}

	if username := strings.ToLower(from.Username); username != user.Username { // who pays for Stars is known by it
		if err := b.store.SaveUsername(ctx, user.ID, username); err != nil {
			return user, err
		}
		user.Username = username
	}

	var change store.UserChange
	if language := languageOf(from); language != "" && language != user.Language {
		change.Language = language
	}

	if named && user.Status != store.UserBlocked && !user.IsAdmin() {
		change.Role, change.Status = store.RoleAdmin, store.UserActive
	}

	if change == (store.UserChange{}) {
		return user, nil
	}
	return b.store.ChangeUser(ctx, user.ID, change)
}

// announce asks the administrators to decide about a newcomer.
func (b *Bot) announce(ctx context.Context, user store.User) {
	b.tellAdmins(ctx, func(admin store.User) view {
		return view{
			text: textNewcomer.in(admin.Language, html.EscapeString(user.Name), user.ID),
			rows: rows(decisionButtons(admin.Language, user)),
		}
	})
}

// refusalOf says why a person may not use a command.
func refusalOf(user store.User, c command) (why text, refused bool) {
	switch {
	case user.Status == store.UserBlocked:
		return textBlocked, true
	case c.open:
		return text{}, false
	case user.Status != store.UserActive:
		return textPending, true
	case c.admin && !user.IsAdmin():
		return textAdminsOnly, true
	default:
		return text{}, false
	}
}

// start greets, and tells newcomers what happens next.
func (b *Bot) start(ctx context.Context, r *request) error {
	if r.user.Status != store.UserActive {
		b.post(ctx, r.chat, view{text: r.say(textWelcomePending)})
		return nil
	}
	b.show(ctx, r, welcome(r.user.Language, textWelcome))
	return nil
}

// welcome is a greeting with the way to the files.
func welcome(language string, greeting text) view {
	return view{
		text: greeting.in(language),
		rows: rows(press(labelFiles.in(language), "f", 0, 0)),
	}
}

// turnDown answers in groups, to commands only: the rest of the talk there is not for the bot.
func (b *Bot) turnDown(ctx context.Context, in incoming) {
	r := &request{incoming: in, user: store.User{Language: languageOf(in.from)}}
	if in.click != "" || strings.HasPrefix(in.words, "/") {
		b.tell(ctx, r, r.say(textPrivateOnly))
	}
	b.answerClick(ctx, r)
}

// languageOf gives the language to speak; "" when Telegram does not say which one the person uses.
func languageOf(from telego.User) string {
	switch {
	case from.LanguageCode == "":
		return ""
	case strings.HasPrefix(from.LanguageCode, "ru"):
		return russian
	default:
		return english
	}
}

// nameOf gives the name by which administrators may know a person.
func nameOf(from telego.User) string {
	name := strings.TrimSpace(from.FirstName + " " + from.LastName)
	if from.Username != "" {
		name += " (@" + from.Username + ")"
	}
	return shorten(clean(name), 100)
}

// who names a person in the log without naming them.
func who(telegramID int64) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "telegram/%d", telegramID))
	return hex.EncodeToString(sum[:4])
}

// subjectOf names a user in the audit log.
func subjectOf(userID int64) string { return "user/" + strconv.FormatInt(userID, 10) }
