package bot

import (
	"context"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/store/account"
)

// help returns the commands that people start with.
func (b *Bot) help() chat.Part {
	return chat.Part{Buttons: []chat.Button{
		{Prefix: "ln", Command: "language", Run: b.chooseLanguage}, // ln:<language>
	}, Commands: []chat.Command{
		{Name: "start", About: words.Text{"start", "начать"}, Open: true, Run: b.start},
		{Name: "web", About: words.Text{"open the pages in a browser", "открыть в браузере"}, Run: b.signIn},
		{Name: "confirm", About: words.Text{"confirm in the browser that it is you: /confirm 123456", "подтвердить в браузере, что это вы: /confirm 123456"}, Run: b.confirm},
		{Name: "language", About: words.Text{"English or Russian", "русский или английский"}, Open: true, Run: b.askLanguage},
		{Name: "help", About: words.Text{"what I can do", "что я умею"}, Open: true, Run: b.showHelp},
	}}
}

// start greets people, and explains to newcomers what happens next.
func (b *Bot) start(ctx context.Context, r *chat.Request, _ chat.Args) error {
	if r.User.Status != account.UserActive {
		b.Post(ctx, r.Chat, chat.View{Text: r.Say(textWelcomePending)})
		return nil
	}
	b.Show(ctx, r, welcome(r.User.Language, textWelcome))
	return nil
}

// showHelp lists the commands that the person may use.
func (b *Bot) showHelp(ctx context.Context, r *chat.Request, _ chat.Args) error {
	lines := []string{r.Say(textHelp)}
	for _, c := range b.commands {
		if _, refused := refusalOf(r.User, c); !refused {
			lines = append(lines, "/"+c.Name+" — "+r.Say(c.About))
		}
	}
	b.Post(ctx, r.Chat, chat.View{Text: strings.Join(lines, "\n")})
	return nil
}

// askLanguage is /language: it offers both languages.
func (b *Bot) askLanguage(ctx context.Context, r *chat.Request, _ chat.Args) error {
	b.Show(ctx, r, chat.View{Text: r.Say(textLanguage), Rows: chat.Rows(
		append(chat.Press("English", "ln", words.English), chat.Press("Русский", "ln", words.Russian)...),
	)})
	return nil
}

// chooseLanguage is a button of askLanguage. The choice takes precedence over the person's Telegram language.
func (b *Bot) chooseLanguage(ctx context.Context, r *chat.Request, args chat.Args) (err error) {
	if len(args) != 1 || args[0] != words.English && args[0] != words.Russian {
		return chat.Hint{Text: chat.TextStaleButton}
	}
	if r.User, err = b.store.Accounts.ChangeUser(ctx, r.User.ID, account.UserChange{Language: args[0]}); err != nil {
		return err
	}
	b.Show(ctx, r, chat.View{Text: r.Say(textLanguageChosen)})
	return nil
}

// publishCommands fills the command menu that Telegram shows beside the input field.
func (b *Bot) publishCommands(ctx context.Context) {
	for _, language := range []string{words.English, words.Russian} {
		params := &telego.SetMyCommandsParams{}
		if language != words.English { // everyone else gets English
			params.LanguageCode = language
		}

		for _, c := range b.commands {
			if !c.Admin {
				shown := telego.BotCommand{Command: c.Name, Description: c.About.In(language)}
				params.Commands = append(params.Commands, shown)
			}
		}

		limited, cancel := context.WithTimeout(ctx, chat.RequestTime)
		err := b.Telegram.SetMyCommands(limited, params)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.Log.Warn("bot: command menu not set", "language", language, "error", err)
		}
	}
}
