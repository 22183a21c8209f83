package run

import (
	"context"
	"time"

	"stagecoach/api/web/site"
	"stagecoach/internal/store/account"
)

// announceTime is how long administrators are told of a newcomer.
const announceTime = time.Minute

// provider is who signs people in besides the service; nil: nobody.
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
			go func() { // Telegram may take its time
				ctx, cancel := context.WithTimeout(context.Background(), announceTime)
				defer cancel()
				announcer.Announce(ctx, user)
			}()
		},
	}
}
