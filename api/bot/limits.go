package bot

import (
	"context"
	"fmt"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// Rates of answers for people who are not approved, or who ask too often. Telegram accepts few messages a second from
// the bot, and each audit entry is a row that is kept.
var (
	strangersAnswers = allowance.Rate{PerSecond: 1. / 60, Burst: 30}  // to each person who is not approved
	strangersAudit   = allowance.Rate{PerSecond: 1. / 3600, Burst: 1} // entries about each of them and each command
	newcomersAnswers = allowance.Rate{PerSecond: 1, Burst: 10}        // to newcomers beyond the limit
	slowDownAnswers  = allowance.Rate{PerSecond: 0.1, Burst: 1}       // to each user who asks too often
)

// Pauses between two answers to one chat, for what needs no user.
const (
	slowDownPause = 10 * time.Second // that there are too many messages
	groupPause    = time.Hour        // that the bot works in private chats only
	leavePause    = time.Minute      // between two attempts to leave a group
)

// slowDown tells a person that messages were not read, because too many came at once.
func (b *Bot) slowDown(ctx context.Context, in chat.Incoming) {
	if in.Private && b.slowDowns.take(in.Chat) {
		b.Post(ctx, in.Chat, chat.View{Text: b.texts.Faults.Text(fault.RateLimited).In(languageOf(in.From))})
	}
}

// countFullLine counts an update that did not fit into the line of its chat.
func (b *Bot) countFullLine() {
	if b.o.OnRefused != nil {
		b.o.OnRefused(allowance.LimitChatLine)
	}
}

// may says whether the rate of a key lets one more through.
func (b *Bot) may(key string, rate allowance.Rate) bool { return b.rates.Take(key, rate) == 0 }

// mayAnswer says whether a person who is not approved gets one more answer.
func (b *Bot) mayAnswer(stranger account.User) bool {
	return b.may(fmt.Sprintf("strangers/answers/%d", stranger.ID), strangersAnswers)
}

// admitNewcomer returns RATE_LIMITED when there are too many new Telegram accounts: each becomes a user whom
// administrators have to approve.
func (b *Bot) admitNewcomer() error {
	if b.o.Strangers == 0 {
		return nil
	}

	rate := allowance.Rate{PerSecond: float64(b.o.Strangers) / 3600, Burst: b.o.Strangers}
	wait := b.rates.Take("newcomers", rate)
	if wait == 0 {
		return nil
	}

	err := fault.New(fault.RateLimited, "too many newcomers").With("limit", allowance.LimitNewcomers).After(wait)
	b.countRefused(err)
	return err
}

// countRefused counts an error that means that a limit is reached.
func (b *Bot) countRefused(err error) {
	if limit := allowance.LimitOf(err); limit != "" && b.o.OnRefused != nil {
		b.o.OnRefused(limit)
	}
}

// refuseNewcomer answers a newcomer beyond the limit, unless there were too many answers too. It saves nothing.
func (b *Bot) refuseNewcomer(ctx context.Context, r *chat.Request) {
	r.User, r.Forget = account.User{Language: languageOf(r.From)}, true
	if b.may("newcomers/answers", newcomersAnswers) {
		b.Tell(ctx, r, r.Say(textManyNewcomers))
	}
}

// refuse answers that a person may not use a command, and audits the request. For people who are not approved, only
// some requests are audited and answered.
func (b *Bot) refuse(ctx context.Context, r *chat.Request, asked chat.Command, why words.Text) (err error) {
	audited, answered := true, true
	if r.User.Status != account.UserActive {
		audited = b.may(fmt.Sprintf("strangers/audit/%d/%s", r.User.ID, asked.Name), strangersAudit)
		answered = b.mayAnswer(r.User)
	}

	if audited {
		err = b.audit(ctx, r, asked, account.OutcomeRefused)
	}

	if err == nil && answered {
		b.Tell(ctx, r, r.Say(why))
	}
	return err
}

// takeRequest uses one request of a person's allowance, and says whether there was one. A user who asks too often gets
// an answer only to some of the requests.
func (b *Bot) takeRequest(ctx context.Context, r *chat.Request) bool {
	if r.User.Status != account.UserActive {
		return b.mayAnswer(r.User)
	}

	err := b.o.Requests.Take(r.User)
	if err == nil {
		return true
	}

	b.countRefused(err)
	if b.may(fmt.Sprintf("requests/answers/%d", r.User.ID), slowDownAnswers) {
		b.Tell(ctx, r, r.Say(b.texts.Faults.Text(fault.RateLimited)))
	}
	return false
}
