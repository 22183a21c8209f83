package e2e

import (
	"net/http"
	"strings"
)

// leadsToProvider checks that the pages redirect a browser to the simulated provider, at the address for browsers, and
// name the callback.
func (d *containers) leadsToProvider() {
	d.Helper()
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	pages := d.here("api").Replace("http://127.0.0.1:8080")
	answer, err := client.Get(pages + "/oidc")
	must(d, err)
	answer.Body.Close()
	at, err := answer.Location()
	must(d, err)

	want := d.here("standin-oidc").Replace("http://127.0.0.1:8086/authorize")
	if !strings.HasPrefix(at.String(), want+"?") || at.Query().Get("redirect_uri") != pages+"/oidc/callback" {
		d.Errorf("the pages lead to %s, want %s", at, want)
	}
	shown, err := client.Get(at.String())
	must(d, err)
	shown.Body.Close()
	if shown.StatusCode != http.StatusOK {
		d.Errorf("the provider answers %s", shown.Status)
	}
}
