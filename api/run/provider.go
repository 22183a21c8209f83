package run

import (
	"context"
	"time"

	"stagecoach/api/web/site"
	"stagecoach/internal/store/account"
)

// announceTime is the timeout for notifying administrators of a newcomer.
const announceTime = time.Minute

// provider is the configured sign-in provider; nil: none.
func (p process) provider() *site.Provider {
	c := p.Config.API
	if c.OIDC.Issuer == "" {
		return nil
	}

	announcer := p.bot()
	return &site.Provider{
		Client: p.Provider(),
		Name:   c.OIDC.ShownName(), ActivateAtOnce: c.ActivateAtOnce, Newcomers: strangersPerHour,
		OnNewcomer: func(user account.User) {
			go func() { // Telegram may be slow
				ctx, cancel := context.WithTimeout(context.Background(), announceTime)
				defer cancel()
				announcer.Announce(ctx, user)
			}()
		},
	}
}
