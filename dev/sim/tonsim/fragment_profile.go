package tonsim

import (
	"fmt"
	"net/http"

	"stagecoach/dev/sim"
)

// getProfile is the page of the logged-in account. Without a session it redirects to the front page.
func (f *Fragment) getProfile(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	known, connected := f.session(r), f.state.settings.Wallet
	f.mu.Unlock()
	if !known {
		http.Redirect(w, r, "/", http.StatusFound)
		return
	}

	if connected == "" {
		var chain struct {
			Wallet string `json:"wallet"`
		}
		if err := f.ask(r.Context(), "/_/chain", nil, &chain); err != nil {
			failFragment(w, r, sim.Problem{Status: http.StatusServiceUnavailable})
			return
		}
		connected = chain.Wallet
	}

	half := len(connected) / 2
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, `<!DOCTYPE html>
<html><head><title>Profile</title></head><body>
<div class="tm-menu-account-header">
  <div class="tm-menu-account-address">
    <span class="tm-wallet"><span class="head">%s</span><span class="middle"></span><span class="tail">%s</span></span>
  </div>
  <div class="tm-menu-account-desc">Connected TON wallet</div>
</div>
</body></html>
`, connected[:half], connected[half:])
}
