package bot

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"stagecoach/api/bot/chat"
	"stagecoach/api/words"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// Rates of answers to people who are not approved, or who ask too often. Telegram accepts few messages a second from a
// bot, and every audit entry is a row that is kept.
var (
	strangersAnswers = allowance.Rate{PerSecond: 1. / 60, Burst: 30}  // to each person who is not approved
	strangersAudit   = allowance.Rate{PerSecond: 1. / 3600, Burst: 1} // entries per unapproved person and command
	newcomersAnswers = allowance.Rate{PerSecond: 1, Burst: 10}        // to newcomers beyond the limit
	slowDownAnswers  = allowance.Rate{PerSecond: 0.1, Burst: 1}       // to each user who asks too often
)

// Pauses between two answers to one chat where no user is known.
const (
	slowDownPause = 10 * time.Second // "too many messages"
	groupPause    = time.Hour        // "private chats only"
	leavePause    = time.Minute      // between two attempts to leave a group
)

// slowDown notifies a person that messages were dropped because too many came at once.
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

// may reports whether a key's rate allows one more.
func (b *Bot) may(key string, rate allowance.Rate) bool {
	return b.rates.Take(sha256.Sum256([]byte(key)), rate) == 0
}

// mayAnswer reports whether an unapproved person gets one more answer.
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
	wait := b.newcomers.Take(0, rate)
	if wait == 0 {
		return nil
	}

	err := fault.New(fault.RateLimited, "too many newcomers").With("limit", allowance.LimitNewcomers).After(wait)
	b.countRefused(err)
	return err
}

// countRefused counts errors that mean that a limit is reached.
func (b *Bot) countRefused(err error) {
	if limit := allowance.LimitOf(err); limit != "" && b.o.OnRefused != nil {
		b.o.OnRefused(limit)
	}
}

// refuseNewcomer answers a newcomer beyond the limit, unless there were too many such answers as well. It saves
// nothing.
func (b *Bot) refuseNewcomer(ctx context.Context, r *chat.Request) {
	r.User, r.Forget = account.User{Language: languageOf(r.From)}, true
	if b.may("newcomers/answers", newcomersAnswers) {
		b.Tell(ctx, r, r.Say(textManyNewcomers))
	}
}

// refuse answers that a person may not use a command, and audits the request. For unapproved people, only a sample is
// audited and answered.
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

// takeRequest uses one request of a person's allowance, and reports whether there was one. A user beyond the allowance
// gets an answer to some requests only.
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
