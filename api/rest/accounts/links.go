package accounts

import (
	"context"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

// createLink creates a link that signs the caller in on the pages.
func (h *handlers) createLink(ctx context.Context, _ *struct{}) (none shape.SignInLink, err error) {
	who, link := server.PrincipalOf(ctx), account.NewSecret()
	if err := h.Store.Accounts.NewLink(ctx, who.User.ID, link, who.Token.Grants(who.User.Role), who.Maker()); err != nil {
		return none, err
	}
	return shape.SignInLink{URL: h.PublicURL + "/sign-in/" + link, ExpiresAt: time.Now().Add(account.LinkLife).UTC()}, nil
}
