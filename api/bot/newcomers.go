package bot

import (
	"context"
	"html"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/store/account"
)

// Announce asks the administrators to decide about somebody who signed up on the pages. The bot need not be running for
// that.
func (b *Bot) Announce(ctx context.Context, user account.User) {
	b.notifyAdmins(ctx, func(admin account.User) chat.View {
		return chat.View{
			Text: textNewcomer.In(admin.Language, html.EscapeString(user.Name), user.ID),
			Rows: chat.Rows(decisionButtons(admin.Language, user)),
		}
	})
}
