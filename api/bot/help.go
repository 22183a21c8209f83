package bot

import (
	"context"
	"strings"

	"github.com/mymmrac/telego"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/store/account"
)

// help returns the commands that people begin with.
func (b *Bot) help() chat.Part {
	return chat.Part{Commands: []chat.Command{
		{Name: "start", About: words.Text{"start", "начать"}, Open: true, Run: b.start},
		{Name: "web", About: words.Text{"open the pages in a browser", "открыть в браузере"}, Run: b.signIn},
		{Name: "confirm", About: words.Text{"confirm in the browser that it is you: /confirm 123456", "подтвердить в браузере, что это вы: /confirm 123456"}, Run: b.confirm},
		{Name: "help", About: words.Text{"what I can do", "что я умею"}, Open: true, Run: b.showHelp},
	}}
}

// start greets, and says to newcomers what happens next.
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

// publishCommands fills the menu that Telegram shows beside the input field.
func (b *Bot) publishCommands(ctx context.Context) {
	for _, language := range []string{words.English, words.Russian} {
		params := &telego.SetMyCommandsParams{}
		if language != words.English { // English is for everyone who speaks neither
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
			b.Log.Warn("bot: the menu of commands is not set", "language", language, "error", err)
		}
	}
}
