package config

import (
	"strings"
	"testing"
)

// TestAProviderOfOpenIDConnect keeps it as written, requires a client id, and is read only by the API.
func TestAProviderOfOpenIDConnect(t *testing.T) {
	t.Parallel()
	env := good()
	env["STAGECOACH_OIDC_ISSUER"] = "https://a.example/realm/"
	if _, err := load(env); err == nil || !strings.Contains(err.Error(), "STAGECOACH_OIDC_CLIENT_ID: must be set") {
		t.Errorf("without a client id: %v", err)
	}

	env["STAGECOACH_OIDC_CLIENT_ID"], env["STAGECOACH_OIDC_CLIENT_SECRET"] = "pages", "planted"
	c, err := load(env)
	if got := c.API.OIDC; err != nil || got.Issuer != "https://a.example/realm/" || got.ShownName() != "a.example" || got.ClientSecret != "planted" {
		t.Errorf("%+v, %v", got, err)
	}

	lookup := func(name string) (string, bool) { value, ok := env[name]; return value, ok }
	if c, err := LoadFor(ForWorker, lookup); err != nil || c.API.OIDC != (OIDC{}) {
		t.Errorf("a worker reads %+v, %v", c.API.OIDC, err)
	}

	env["STAGECOACH_OIDC_ISSUER"] = "a.example"
	if _, err := load(env); err == nil || !strings.Contains(err.Error(), "STAGECOACH_OIDC_ISSUER") || strings.Contains(err.Error(), "planted") {
		t.Errorf("an issuer without https: %v", err)
	}
}
