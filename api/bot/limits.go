package bot

import (
	"context"
	"fmt"

	"stagecoach/api/bot/chat"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// How much attention those get who may not use the service, and those who ask too often: each answer is one of the few
// messages a second that Telegram takes from the bot, each audit entry is a row that is kept.
var (
	strangersAnswers = store.Rate{PerSecond: 1. / 60, Burst: 30}  // to each stranger
	strangersAudit   = store.Rate{PerSecond: 1. / 3600, Burst: 1} // entries about each stranger and command
	turnedAway       = store.Rate{PerSecond: 1, Burst: 10}        // answers to newcomers whom there is no room for
	slowDown         = store.Rate{PerSecond: 0.1, Burst: 1}       // answers to each user that this is too often
)

// may says whether the rate of a key lets one more through.
func (b *Bot) may(ctx context.Context, key string, rate store.Rate) (bool, error) {
	_, err := b.store.Reserve(ctx, key, rate, 1, 0)
	if fault.CodeOf(err) == fault.RateLimited {
		return false, nil
	}
	return err == nil, err
}

// mayAnswer says whether a stranger gets one more answer.
func (b *Bot) mayAnswer(ctx context.Context, stranger store.User) (bool, error) {
	return b.may(ctx, fmt.Sprintf("strangers/answers/%d", stranger.ID), strangersAnswers)
}

// admitNewcomer refuses, with RATE_LIMITED, a Telegram account that is new when there have been too many of late: each
// becomes a user, whom administrators are told of.
func (b *Bot) admitNewcomer(ctx context.Context) error {
	if b.o.Strangers == 0 {
		return nil
	}

	_, err := b.store.Reserve(
		ctx, "newcomers", store.Rate{PerSecond: float64(b.o.Strangers) / 3600, Burst: b.o.Strangers}, 1, 0,
	)
	if refusal := fault.As(err); refusal != nil && refusal.Code == fault.RateLimited {
		err = refusal.With("limit", allowance.LimitNewcomers)
	}

	b.countRefused(err)
	return err
}

// countRefused counts an error that says that a limit is reached.
func (b *Bot) countRefused(err error) {
	if limit := allowance.LimitOf(err); limit != "" && b.o.OnRefused != nil {
		b.o.OnRefused(limit)
	}
}

// refuseNewcomer answers a newcomer whom there is no room for, if there is time for that. Nothing is remembered of them.
func (b *Bot) refuseNewcomer(ctx context.Context, r *chat.Request) error {
	r.User, r.Forget = store.User{Language: languageOf(r.From)}, true
	answered, err := b.may(ctx, "newcomers/answers", turnedAway)
	if answered {
		b.Tell(ctx, r, r.Say(textManyNewcomers))
	}
	return err
}

// refuse tells a person that they may not use a command, and the audit log. Of what a stranger writes both are a
// sample.
func (b *Bot) refuse(ctx context.Context, r *chat.Request, asked chat.Command, why chat.Text) error {
	audited, answered := true, true
	if r.User.Status != store.UserActive {
		var err error
		if audited, err = b.may(ctx, fmt.Sprintf("strangers/audit/%d/%s", r.User.ID, asked.Name), strangersAudit); err != nil {
			return err
		}
		if answered, err = b.mayAnswer(ctx, r.User); err != nil {
			return err
		}
	}

	if audited {
		if err := b.audit(ctx, r, asked, store.OutcomeRefused); err != nil {
			return err
		}
	}

	if answered {
		b.Tell(ctx, r, r.Say(why))
	}
	return nil
}

// takeRequest uses one request of a person's allowance, and says whether there was one. Who asks too often is told so
// now and then, a stranger is not.
func (b *Bot) takeRequest(ctx context.Context, r *chat.Request) (bool, error) {
	if r.User.Status != store.UserActive {
		return b.mayAnswer(ctx, r.User)
	}

	err := b.o.Requests.Take(ctx, r.User)
	b.countRefused(err)
	if fault.CodeOf(err) != fault.RateLimited {
		return err == nil, err
	}

	answered, err := b.may(ctx, fmt.Sprintf("requests/answers/%d", r.User.ID), slowDown)
	if answered {
		b.Tell(ctx, r, r.Say(chat.FaultText(fault.RateLimited)))
	}
	return false, err
}

// quotaText says which limit a person has reached.
func quotaText(problem *fault.Error) (chat.Text, bool) {
	name, _ := problem.Details["limit"].(string)
	t, ok := quotaTexts[name]
	return t, ok
}
