package bot

import (
	"context"
	"html"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// signIn is /web: it answers with a one-time link that signs the person in on the pages.
func (b *Bot) signIn(ctx context.Context, r *chat.Request, _ chat.Args) error {
	link := account.NewSecret()
	if err := b.store.Accounts.NewLink(ctx, r.User.ID, link, account.ScopesOf(r.User.Role), account.Maker{}); err != nil {
		return err
	}
	b.Post(ctx, r.Chat, chat.View{Text: r.Say(textSignIn, html.EscapeString(b.o.PublicURL+"/sign-in/"+link))})
	return nil
}

// confirm is /confirm <code>: it proves to a browser that the person is the one who is signed in there.
func (b *Bot) confirm(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.Args == "" {
		return chat.Hint{Text: textConfirmAlone}
	}
	err := b.store.Accounts.Confirm(ctx, r.User.ID, r.Args)
	if fault.CodeOf(err) == fault.Unauthenticated {
		return chat.Hint{Text: textConfirmUsage}
	}
	if err != nil {
		return err
	}
	b.Post(ctx, r.Chat, chat.View{Text: r.Say(textConfirmed)})
	return nil
}
