package yandexsim

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"sync"
	"time"

	"stagecoach/dev/sim"
)

// tokens are the currently valid OAuth tokens.
type tokens struct {
	file string
	ttl  time.Duration

	mu    sync.Mutex
	state tokenState
}

// tokenState is what survives a restart.
type tokenState struct {
	Seed    string               `json:"seed"`    // the refresh token that the simulator was set up with
	Refresh string               `json:"refresh"` // the valid one; empty after a revocation
	Access  map[string]time.Time `json:"access"`  // access token → when it expires
}

// openTokens restores the saved tokens, unless the simulator is set up with another initial refresh token: then it
// starts over with that one.
func openTokens(o Options) (*tokens, error) {
	t := &tokens{file: o.StateFile, ttl: o.TokenTTL}
	data, err := os.ReadFile(o.StateFile)
	if o.StateFile != "" && err == nil {
		if err := json.Unmarshal(data, &t.state); err != nil {
			return nil, err
		}
		if t.state.Seed == o.RefreshToken {
			return t, nil
		}
	} else if o.StateFile != "" && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}

	t.state = tokenState{Seed: o.RefreshToken, Refresh: o.RefreshToken, Access: map[string]time.Time{}}
	if o.AccessToken != "" {
		t.state.Access[o.AccessToken] = time.Now().Add(o.TokenTTL)
	}
	return t, t.save()
}

// save writes the state atomically; t.mu must be held unless t is not shared yet.
func (t *tokens) save() error {
	if t.file == "" {
		return nil
	}

	data, err := json.MarshalIndent(t.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(t.file+".new", data, 0o600); err != nil {
		return err
	}

	return os.Rename(t.file+".new", t.file)
}

// valid reports whether an access token may be used now.
func (t *tokens) valid(access string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Now().Before(t.state.Access[access])
}

// rotate exchanges a refresh token for new tokens. It returns false for a token that is not the valid one.
func (t *tokens) rotate(refresh string) (newAccess, newRefresh string, ok bool, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if refresh == "" || refresh != t.state.Refresh {
		return "", "", false, nil
	}
	newAccess, newRefresh = "y0_sim_"+rand.Text(), "1:sim:"+rand.Text()
	maps.DeleteFunc(t.state.Access, func(_ string, until time.Time) bool { return time.Now().After(until) })
	t.state.Refresh = newRefresh
	t.state.Access[newAccess] = time.Now().Add(t.ttl)
	return newAccess, newRefresh, true, t.save()
}

func (t *tokens) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	clear(t.state.Access)
	_ = t.save() // the next refresh reports a failed save
}

func (t *tokens) revoke() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Refresh = ""
	_ = t.save() // the next refresh reports a failed save
}

// postToken is the OAuth server: it exchanges the refresh token for new ones, and the old one becomes invalid.
func (y *Server) postToken(w http.ResponseWriter, r *http.Request) {
	refuse := func(name string) { failYandex(w, r, sim.Problem{Status: http.StatusBadRequest, Text: name}) }
	r.Body = http.MaxBytesReader(w, r.Body, 1<<20)
	if err := r.ParseForm(); err != nil {
		refuse("invalid_request")
		return
	}

	id, secret, ok := r.BasicAuth()
	if !ok {
		id, secret = r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	}

	if id != y.options.ClientID || secret != y.options.ClientSecret {
		refuse("invalid_client")
		return
	}
	if r.PostForm.Get("grant_type") != "refresh_token" {
		refuse("unsupported_grant_type")
		return
	}

	access, refresh, ok, err := y.tokens.rotate(r.PostForm.Get("refresh_token"))
	switch {
	case err != nil:
		failYandex(w, r, sim.Problem{Status: http.StatusInternalServerError})
	case !ok:
		refuse("invalid_grant")
	default:
		sim.WriteJSON(w, http.StatusOK, map[string]any{
			"access_token": access, "refresh_token": refresh, "token_type": "bearer",
			"expires_in": int(y.options.TokenTTL.Seconds()),
		})
	}
}
