package stack

import "stagecoach/dev/sim/oidcsim"

// StartOIDC starts the simulated OpenID Connect provider.
func (g *Ground) StartOIDC(o oidcsim.Options) (err error) {
	if g.StandIns.OIDC, err = g.startStandIn(kindOIDC, o); err != nil {
		return err
	}
	g.configure(map[string]string{
		"STAGECOACH_OIDC_ISSUER":        g.StandIns.OIDC,
		"STAGECOACH_OIDC_CLIENT_ID":     o.ClientID,
		"STAGECOACH_OIDC_CLIENT_SECRET": o.ClientSecret,
		"STAGECOACH_OIDC_NAME":          "a simulator",
		"STAGECOACH_OIDC_ADMIN_GROUP":   "admins",
	})
	return nil
}
