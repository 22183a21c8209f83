package bot

import (
	"context"
	"strings"

	"github.com/mymmrac/telego"
)

func (b *Bot) helpCommands() []command {
	return []command{
		{name: "start", about: aboutStart, open: true, run: b.start},
		{name: "help", about: aboutHelp, open: true, run: b.help},
	}
}

// help lists what the person can do.
func (b *Bot) help(ctx context.Context, r *request) error {
	lines := []string{r.say(textHelp)}
	for _, c := range b.commands {
		if _, refused := refusalOf(r.user, c); !refused {
			lines = append(lines, "/"+c.name+" — "+r.say(c.about))
		}
	}
	b.post(ctx, r.chat, view{text: strings.Join(lines, "\n")})
	return nil
}

// publishCommands fills the menu that Telegram shows beside the input field.
func (b *Bot) publishCommands(ctx context.Context) {
	for _, language := range []string{english, russian} {
		params := &telego.SetMyCommandsParams{}
		if language != english { // English is for everybody who speaks neither
			params.LanguageCode = language
		}

		for _, c := range b.commands {
			if !c.admin {
				params.Commands = append(params.Commands, telego.BotCommand{Command: c.name, Description: c.about.in(language)})
			}
		}

		patience, cancel := context.WithTimeout(ctx, requestTime)
		err := b.telegram.SetMyCommands(patience, params)
		cancel()
		if err != nil && ctx.Err() == nil {
			b.log.Warn("bot: the menu of commands is not set", "language", language, "error", err)
		}
	}
}
