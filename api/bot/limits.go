package bot

import (
	"context"
	"fmt"

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
	if b.strangers == 0 {
		return nil
	}

	_, err := b.store.Reserve(
		ctx, "newcomers", store.Rate{PerSecond: float64(b.strangers) / 3600, Burst: b.strangers}, 1, 0,
	)
	if refusal := fault.As(err); refusal != nil && refusal.Code == fault.RateLimited {
		err = refusal.With("limit", allowance.LimitNewcomers)
	}

	b.countRefused(err)
	return err
}

// countRefused counts an error that says that a limit is reached.
func (b *Bot) countRefused(err error) {
	if limit := allowance.LimitOf(err); limit != "" && b.onRefused != nil {
		b.onRefused(limit)
	}
}

// turnAway answers a newcomer whom there is no room for, if there is time for that. Nothing is remembered of them.
func (b *Bot) turnAway(ctx context.Context, r *request) error {
	r.user, r.forget = store.User{Language: languageOf(r.from)}, true
	answered, err := b.may(ctx, "newcomers/answers", turnedAway)
	if answered {
		b.tell(ctx, r, r.say(textManyNewcomers))
	}
	return err
}

// refuse tells a person that they may not use a command, and the audit log. Of what a stranger writes both are a
// sample.
func (b *Bot) refuse(ctx context.Context, r *request, asked command, why text) error {
	audited, answered := true, true
	if r.user.Status != store.UserActive {
		var err error
		if audited, err = b.may(ctx, fmt.Sprintf("strangers/audit/%d/%s", r.user.ID, asked.name), strangersAudit); err != nil {
			return err
		}
		if answered, err = b.mayAnswer(ctx, r.user); err != nil {
			return err
		}
	}

	if audited {
		if err := b.audit(ctx, r, asked, store.OutcomeRefused); err != nil {
			return err
		}
	}

	if answered {
		b.tell(ctx, r, r.say(why))
	}
	return nil
}

// takeRequest uses one request of a person's allowance, and says whether there was one. Who asks too often is told so
// now and then, a stranger is not.
func (b *Bot) takeRequest(ctx context.Context, r *request) (bool, error) {
	if r.user.Status != store.UserActive {
		return b.mayAnswer(ctx, r.user)
	}

	err := b.requests.Take(ctx, r.user)
	b.countRefused(err)
	if fault.CodeOf(err) != fault.RateLimited {
		return err == nil, err
	}

	answered, err := b.may(ctx, fmt.Sprintf("requests/answers/%d", r.user.ID), slowDown)
	if answered {
		b.tell(ctx, r, r.say(faultText(fault.RateLimited)))
	}
	return false, err
}

// quotaText says which limit a person has reached.
func quotaText(problem *fault.Error) (text, bool) {
	name, _ := problem.Details["limit"].(string)
	t, ok := quotaTexts[name]
	return t, ok
}
