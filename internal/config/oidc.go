package config

import (
	"cmp"
	"errors"
	"net/url"
)

// OIDC configures an OpenID Connect provider for signing in on the pages, besides the service itself.
type OIDC struct {
	Issuer                 string // empty: none
	ClientID, ClientSecret string
	Name                   string // on the button; empty: the issuer's host
	AdminGroup             string // whose members are administrators; empty: the provider appoints none
}

// ShownName is the provider's name on the button.
func (o OIDC) ShownName() string {
	issuer, _ := url.Parse(o.Issuer) // already checked
	return cmp.Or(o.Name, issuer.Host)
}

// oidcSettings are those of signing in with a provider.
func (c *Config) oidcSettings() []Setting {
	o := &c.API.OIDC
	return []Setting{
		only(toPeople, guarded(issuer(&o.Issuer, "STAGECOACH_OIDC_ISSUER", "the issuer of an OpenID Connect provider with which people sign in on the pages, exactly as its discovery document has it, such as https://oauth.telegram.org; its redirect URI is /oidc/callback below STAGECOACH_PUBLIC_URL; empty: none"), &o.Issuer)),
		only(toPeople, text(&o.ClientID, "STAGECOACH_OIDC_CLIENT_ID", "", "the client id of this service at the provider")),
		only(toPeople, secret(&o.ClientSecret, "STAGECOACH_OIDC_CLIENT_SECRET", "its client secret; empty: the provider knows it as a public client")),
		only(toPeople, text(&o.Name, "STAGECOACH_OIDC_NAME", "", "the name of the provider on the button, such as Telegram; empty: the issuer's host")),
		only(toPeople, text(&o.AdminGroup, "STAGECOACH_OIDC_ADMIN_GROUP", "", "the group, of the claim groups, whose members are administrators, checked at each sign-in; empty: the provider appoints no administrators")),
	}
}

// issuer reads an issuer's address. It is kept as written, because it is compared.
func issuer(into *string, name, doc string) Setting {
	s := optionalAddress(into, name, doc)
	check := s.set
	s.set = func(v string) error {
		if err := check(v); err != nil {
			return err
		}
		*into = v
		return nil
	}
	return s
}

// check requires the provider's settings to be complete.
func (o OIDC) check() error {
	if o.Issuer != "" && o.ClientID == "" {
		return errors.New("STAGECOACH_OIDC_CLIENT_ID: must be set with STAGECOACH_OIDC_ISSUER")
	}
	return nil
}
