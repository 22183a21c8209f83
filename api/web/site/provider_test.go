package site_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/web/site"
	"stagecoach/dev/sim"
	"stagecoach/dev/sim/oidcsim"
	"stagecoach/dev/sim/simtest"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/allowance"
	"stagecoach/internal/oidc"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
)

const clientSecret = "planted-client-secret"

// providerRig has the pages with a provider.
type providerRig struct {
	*rig
	provider  *oidcsim.Server
	settings  *site.Provider
	newcomers atomic.Int64
	log       syncBuffer
}

// syncBuffer is a log that is read while the service writes.
type syncBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newProviderRig(t *testing.T) *providerRig {
	t.Helper()
	address := testdb.URL(t)
	w := &providerRig{rig: &rig{T: t, db: testdb.Connect(t, address)}}
	var err error
	w.store, err = store.Open(t.Context(), address, testdb.Key)
	w.must(err)
	t.Cleanup(w.store.Close)

	served := httptest.NewUnstartedServer(nil)
	w.url = "http://" + served.Listener.Addr().String()
	w.provider, err = oidcsim.New(oidcsim.Options{
		ClientID: "pages", ClientSecret: clientSecret, RedirectURI: w.url + "/oidc/callback",
	})
	w.must(err)
	w.settings = &site.Provider{
		Name: "Example", OnNewcomer: func(account.User) { w.newcomers.Add(1) },
		Client: oidc.New(oidc.Options{
			Issuer: simtest.Serve(t, w.provider), ClientID: "pages", ClientSecret: clientSecret,
			RedirectURL: w.url + oidc.CallbackPath, AdminGroup: "admins",
		}),
	}

	w.api = server.New(server.Config{
		Store: w.store, Guesses: allowance.NewGuesses(1), PublicURL: w.url,
		Log: slog.New(slog.NewTextHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	w.must(site.Register(site.Config{API: w.api, Store: w.store.Accounts, Provider: w.settings}))
	served.Config.Handler = w.api
	served.Start()
	t.Cleanup(served.Close)
	w.client = w.browser()
	return w
}

// begin follows the button to the provider.
func (w *providerRig) begin(next string) (atProvider string) {
	w.Helper()
	answer := w.send("GET", "/oidc?next="+url.QueryEscape(next), nil).want(http.StatusSeeOther)
	if cookie := answer.Header.Get("Set-Cookie"); len(cookie) > 4096 || !strings.Contains(cookie, "HttpOnly; SameSite=Lax") {
		w.Errorf("the cookie of %d bytes: %s", len(cookie), cookie)
	}
	return answer.Header.Get("Location")
}

// choose picks a person at the provider, and returns the callback.
func (w *providerRig) choose(atProvider, person string) (path string) {
	w.Helper()
	answer, err := w.browser().PostForm(atProvider, url.Values{"person": {person}})
	w.must(err)
	text, err := io.ReadAll(answer.Body)
	w.must(err)
	_ = answer.Body.Close()
	path, ours := strings.CutPrefix(answer.Header.Get("Location"), w.url)
	if answer.StatusCode != http.StatusSeeOther || !ours {
		w.Fatalf("%d %s %s", answer.StatusCode, answer.Header.Get("Location"), text)
	}
	return path
}

// come signs a person in with the provider, and returns the response to the callback.
func (w *providerRig) come(person, next string) reply {
	w.Helper()
	return w.send("GET", w.choose(w.begin(next), person), nil)
}

func (w *providerRig) wantSigned(signed bool) {
	w.Helper()
	if got := w.send("GET", "/account", nil).StatusCode == http.StatusOK; got != signed {
		w.Errorf("signed in: %t", got)
	}
}

// TestSigningInWithAProvider follows a new person: they wait, are approved, sign in, and are blocked.
func TestSigningInWithAProvider(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.send("GET", "/sign-in?next=/account", nil).want(http.StatusOK, "Sign in with Example", `href="/oidc?next=%2faccount"`)

	for range 2 {
		w.come("ada", "/account").want(http.StatusForbidden, "An administrator has to approve it", "Sign in with Example")
		w.wantSigned(false)
	}
	users, err := w.store.Accounts.Users(t.Context(), account.UserPending, 0, 10)
	w.must(err)
	if len(users) != 1 || users[0].Name != "Ada Lovelace" || users[0].TelegramID != nil || w.newcomers.Load() != 1 {
		t.Fatalf("%+v wait, and %d are announced", users, w.newcomers.Load())
	}

	change := func(c account.UserChange) {
		_, err := w.store.Accounts.ChangeUser(t.Context(), users[0].ID, c)
		w.must(err)
	}
	change(account.UserChange{Status: account.UserActive})
	w.come("ada", "/account?x=1").want(http.StatusSeeOther, "/account?x=1")
	w.send("GET", "/account", nil).want(http.StatusOK, "Ada Lovelace", "this browser")

	first := w.client
	w.client = w.browser()
	w.come("ada", "/").want(http.StatusSeeOther)
	w.send("POST", "/sign-out", url.Values{"all": {"yes"}}).want(http.StatusSeeOther)
	w.client = first
	w.wantSigned(false)

	w.come("ada", "/").want(http.StatusSeeOther)
	change(account.UserChange{Status: account.UserBlocked})
	w.send("GET", "/account", nil).want(http.StatusForbidden)
	w.client = w.browser()
	w.come("ada", "/").want(http.StatusForbidden, "You have no access now")
}

// TestNewPeopleOfAProvider are approved at once if the settings say so, and limited in number; those of the group are
// administrators.
func TestNewPeopleOfAProvider(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.settings.Newcomers = 2
	w.come("clara", "/").want(http.StatusSeeOther)
	if admins, err := w.store.Accounts.Admins(t.Context()); err != nil || len(admins) != 1 || admins[0].Name != "Clara Schumann" || w.newcomers.Load() != 0 {
		t.Errorf("%+v, %v", admins, err)
	}

	w.settings.ActivateAtOnce = true
	w.come("ada", "/").want(http.StatusSeeOther)
	w.come("boris", "/").want(http.StatusTooManyRequests)
	w.come("ada", "/").want(http.StatusSeeOther)
	if log, err := w.store.Accounts.AuditLog(t.Context(), 0, 10); err != nil || len(log) != 1 {
		t.Errorf("%+v, %v", log, err)
	}
}

// TestAProviderLeadsToOurPagesOnly starts with next pages on other sites.
func TestAProviderLeadsToOurPagesOnly(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.settings.ActivateAtOnce = true
	for _, next := range []string{"//evil.example", "https://evil.example/", `/\evil.example`, "evil", "", "javascript:alert(1)", "/account?x=" + strings.Repeat("x", 4000)} {
		w.come("ada", next).want(http.StatusSeeOther)
		way := w.choose(w.begin("/"), "ada")
		w.changeAttempt(func(kept map[string]any) { kept["next"] = next }) // none of our own cookies contains it
		at := w.send("GET", way, nil).want(http.StatusSeeOther).Header.Get("Location")
		if !strings.HasPrefix(at, "/") || strings.HasPrefix(at, "//") || strings.ContainsAny(at, `\`) {
			t.Errorf("%q leads to %q", next, at)
		}
	}
}

// changeAttempt changes the browser's copy of its attempt, as only somebody with the encryption key can.
func (w *providerRig) changeAttempt(change func(map[string]any)) {
	w.Helper()
	w.changeSealed(func(sealed []byte) []byte {
		text, err := w.store.Accounts.OpenAttempt(sealed)
		w.must(err)
		kept := map[string]any{}
		w.must(json.Unmarshal(text, &kept))
		change(kept)
		text, err = json.Marshal(kept)
		w.must(err)
		return w.store.Accounts.SealAttempt(text)
	})
}

// changeSealed changes the cookie of the browser's attempt.
func (w *providerRig) changeSealed(change func([]byte) []byte) {
	w.Helper()
	at, err := url.Parse(w.url)
	w.must(err)
	for _, cookie := range w.client.Jar.Cookies(at) {
		if cookie.Name != "stagecoach-oidc" {
			continue
		}
		sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
		w.must(err)
		cookie.Value, cookie.Path = base64.RawURLEncoding.EncodeToString(change(sealed)), "/"
		w.client.Jar.SetCookies(at, []*http.Cookie{cookie})
	}
}

// TestAProviderIsRefused covers each way in which signing in ends without a session. The page explains it, and neither
// the page nor the log contains a code or a secret.
func TestAProviderIsRefused(t *testing.T) {
	t.Parallel()
	const notVerified, expired, away = "SIGN_IN_NOT_VERIFIED", "SIGN_IN_EXPIRED", "SIGN_IN_PROVIDER_AWAY"
	at := func(match, kind string) func(*providerRig) {
		return func(w *providerRig) { w.provider.AddFault(sim.Fault{Match: match, Kind: kind, Times: 1}) }
	}
	changed := func(key string, value any) func(*providerRig) {
		return func(w *providerRig) { w.changeAttempt(func(kept map[string]any) { kept[key] = value }) }
	}

	for name, c := range map[string]struct {
		before func(*providerRig) // before the browser goes to the provider
		back   func(*providerRig) // before it returns
		person string
		code   string
		says   string
	}{
		"another nonce":           {back: at("/token", "wrong_nonce"), code: notVerified},
		"another audience":        {back: at("/token", "wrong_audience"), code: notVerified},
		"another issuer":          {back: at("/token", "wrong_issuer"), code: notVerified},
		"another signature":       {back: at("/token", "wrong_signature"), code: notVerified},
		"an expired token":        {back: at("/token", "expired_token"), code: notVerified},
		"no token":                {back: at("/token", "no_id_token"), code: notVerified},
		"a code that is refused":  {back: at("/token", "400"), code: notVerified},
		"another verifier":        {back: changed("verifier", strings.Repeat("x", 43)), code: notVerified},
		"another browser's nonce": {back: changed("nonce", "x"), code: notVerified},
		"another state":           {back: changed("state", "x"), code: expired, says: "took too long"},
		"empty secrets":           {back: changed("nonce", ""), code: expired},
		"too late":                {back: changed("began", time.Now().Add(-11*time.Minute)), code: expired},
		"no cookie":               {back: func(w *providerRig) { w.client = w.browser() }, code: expired},
		"a cookie that is not sealed": {back: func(w *providerRig) {
			w.changeSealed(func(sealed []byte) []byte { text, _ := w.store.Accounts.OpenAttempt(sealed); return text })
		}, code: expired},
		"a changed cookie": {back: func(w *providerRig) {
			w.changeSealed(func(sealed []byte) []byte { sealed[len(sealed)-20]++; return sealed })
		}, code: expired},
		"another browser's cookie":  {back: func(w *providerRig) { w.client = w.browser(); w.begin("/account") }, code: expired},
		"a request that is refused": {before: at("POST /authorize", "invalid_scope"), code: notVerified},
		"cancelled":                 {person: "nobody", code: notVerified, says: "You cancelled at the provider"},
		"the provider fails":        {before: at("POST /authorize", "server_error"), code: away, says: "does not answer"},
		"the token endpoint":        {back: at("/token", "500"), code: away},
		"a cut":                     {back: at("/token", "lost_answer"), code: away},
		"a proxy's page":            {back: at("/token", "html_502"), code: away},
		"the keys":                  {back: at("/keys", "503"), code: away},
		"too slow":                  {back: at("/token", "timeout"), code: away},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newProviderRig(t)
			w.settings.ActivateAtOnce = true
			if c.before != nil {
				c.before(w)
			}
			if c.person == "" {
				c.person = "ada"
			}

			way := w.choose(w.begin("/account"), c.person)
			if c.back != nil {
				c.back(w)
			}
			got := w.send("GET", way, nil)
			if got.StatusCode < 400 || !strings.Contains(got.text, c.code) || !strings.Contains(got.text, c.says) {
				t.Errorf("%d\n%s", got.StatusCode, got.text)
			}
			w.wantSigned(false)

			query, err := url.ParseQuery(strings.TrimPrefix(way, "/oidc/callback?"))
			w.must(err)
			for _, secret := range []string{query.Get("code"), query.Get("state"), clientSecret, "access_token"} {
				if secret != "" && strings.Contains(got.text+w.log.String(), secret) {
					t.Errorf("%q is on the page or in the log:\n%s\n%s", secret, got.text, w.log.String())
				}
			}
		})
	}
}

// TestProviderUnavailable refuses to begin; everything else works, and so does signing in once the provider is back.
func TestProviderUnavailable(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.settings.ActivateAtOnce = true
	w.provider.AddFault(sim.Fault{Match: "openid-configuration", Kind: "500"})
	began := time.Now()
	w.send("GET", "/sign-in", nil).want(http.StatusOK, "Sign in with Example")
	for range 3 { // it is asked once in five seconds
		w.send("GET", "/oidc?next=/account", nil, "Accept-Language", "ru").want(http.StatusBadGateway, "Провайдер не отвечает", `data-page="/sign-in?next=%2Faccount"`)
	}
	if n, most := len(w.provider.Requests()), 1+int(time.Since(began).Seconds())/5; n < 1 || n > most {
		t.Errorf("it was asked %d times, want at most %d", n, most)
	}
	w.provider.ClearFaults()
	wait.Eventually(t, "it is asked again", func() bool { return w.send("GET", "/oidc", nil).StatusCode == http.StatusSeeOther })
	w.come("ada", "/").want(http.StatusSeeOther)
}

// TestAnAnswerOfAProviderCountsOnce replays a response with the cookie of its attempt, and then guesses.
func TestAnAnswerOfAProviderCountsOnce(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.settings.ActivateAtOnce = true
	way := w.choose(w.begin("/"), "ada")
	at, err := url.Parse(w.url)
	w.must(err)
	cookies := w.client.Jar.Cookies(at)
	w.send("GET", way, nil).want(http.StatusSeeOther)
	asked := len(w.provider.Requests())
	w.client = w.browser()
	w.client.Jar.SetCookies(at, cookies)
	w.send("GET", way, nil).want(http.StatusGone, "SIGN_IN_EXPIRED")
	if n := len(w.provider.Requests()); n != asked {
		t.Error("the provider was asked again")
	}

	began, limited := time.Now(), 0
	for range 20 {
		if w.send("GET", "/oidc/callback?code=x&state="+account.NewSecret(), nil).StatusCode == http.StatusTooManyRequests {
			limited++
		}
	}
	if limited < 5-int(time.Since(began).Seconds()) { // one more a second is let through
		t.Errorf("%d of 20 guesses were refused", limited)
	}
}

// TestMadeUpAttemptsLeaveNoMemory returns with forged states, short and long. Of a real attempt, the API remembers a
// hash.
func TestMadeUpAttemptsLeaveNoMemory(t *testing.T) {
	t.Parallel()
	w := newProviderRig(t)
	w.api.Guesses = allowance.NewGuesses(0) // the limit of one address does not stop many
	remembered := func() reflect.Value {
		return reflect.ValueOf(w.settings).Elem().FieldByName("returned").FieldByName("limiters")
	}

	for i := range 100 {
		state := account.NewSecret() + strings.Repeat("A", i%2*28_000)
		attempt, err := json.Marshal(map[string]any{"state": state, "nonce": "n", "verifier": "v", "next": "/", "began": time.Now()})
		w.must(err)
		cookie := "stagecoach-oidc=" + base64.RawURLEncoding.EncodeToString(attempt)
		w.as(w.browser(), "GET", "/oidc/callback?error=access_denied&state="+state, "Cookie", cookie).want(http.StatusGone)
	}
	if n := remembered().Len(); n != 0 {
		t.Errorf("%d made-up attempts are remembered", n)
	}

	w.come("nobody", "/").want(http.StatusForbidden)
	if n, size := remembered().Len(), remembered().Type().Key().Size(); n != 1 || size != sha256.Size {
		t.Errorf("%d attempts are remembered, by keys of %d bytes", n, size)
	}
}
