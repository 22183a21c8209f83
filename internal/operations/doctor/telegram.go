package doctor

import (
	"context"
	"fmt"
	"net/url"

	"github.com/mymmrac/telego"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/operations"
	"stagecoach/internal/telegram"
)

// Bot is what the bot's check needs of Telegram.
type Bot interface {
	GetMe(ctx context.Context) (*telego.User, error)
	GetWebhookInfo(ctx context.Context) (*telego.WebhookInfo, error)
}

// publicServer is Telegram's own Bot API server.
const publicServer = "api.telegram.org"

// OfTelegram checks the bot's token at a Bot API server. listens means that this process receives the bot's updates.
func OfTelegram(bot Bot, apiURL string, listens bool) Check {
	server, about := "a Bot API server of its own: files up to 2000 MB", AboutBotServer
	if u, err := url.Parse(apiURL); err == nil && u.Hostname() == publicServer {
		server, about = publicServer+": files up to 50 MB", AboutBot
	}

	return Check{operations.Telegram, func(ctx context.Context) Result {
		me, err := bot.GetMe(ctx)
		if err != nil {
			return failedBot(telegram.Classify(err), about)
		}

		who := fmt.Sprintf("@%s (%d)", me.Username, me.ID)
		found := Result{State: StateWorks, Account: who, Detail: server}
		if !listens {
			return found
		}

		hook, err := bot.GetWebhookInfo(ctx)
		switch {
		case err != nil:
			return failedBot(telegram.Classify(err), about)
		case hook.URL != "":
			found.State, found.Detail = StateRefused, "a webhook takes the bot's updates"
			found.Next = "call the bot's method deleteWebhook: " + AboutBot
		}

		return found
	}}
}

func failedBot(err *fault.Error, about string) Result {
	if err.Code == fault.TelegramUnauthorized {
		return failed(err, "give the token that @BotFather shows as STAGECOACH_TELEGRAM_TOKEN, and restart", AboutBot)
	}
	return failed(err, "see whether the bot has logged out of this server", about)
}
