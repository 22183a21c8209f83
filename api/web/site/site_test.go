package site_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"

	"stagecoach/api/rest/server"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/dev/testdb"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

func TestMain(m *testing.M) { testdb.Main(m) }

// events have been read up to a position.
type events struct{}

func (events) Place() *core.Cursor { return &core.Cursor{XID: 7, ID: 8} }

// rig has the pages over an API with one resource: POST /v1/notes, which requires a text, and GET /v1/notes, which
// returns the user's number.
type rig struct {
	*testing.T
	store  *store.Store
	db     *pgx.Conn
	trips  *testdb.Trips // between the store and the record
	url    string
	ada    account.User
	token  string
	api    *server.Server
	client *http.Client // a browser that does not follow redirects
}

type note struct {
	Text string `json:"text"`
}

func newRig(t *testing.T, public string) *rig {
	t.Helper()
	address := testdb.URL(t)
	w := &rig{T: t, db: testdb.Connect(t, address), token: account.NewToken()}
	var err error
	w.trips = testdb.CountTrips(t, address)
	w.store, err = store.Open(t.Context(), w.trips.URL, testdb.Key)
	w.must(err)
	t.Cleanup(w.store.Close)
	w.api = server.New(server.Config{
		Store: w.store, Guesses: allowance.NewGuesses(1), PublicURL: public,
		Open: allowance.NewAddresses(allowance.LimitReceipts, 2),
	})
	group := server.Group{Server: w.api, Tag: "Notes", Access: server.ForUsers, Scope: account.ScopeRead}
	server.Register(group, server.Operation{Id: "get-note", Route: "GET /v1/notes", Summary: "Get"}, func(ctx context.Context, _ *struct {
		Number int `query:"number"`
	},
	) (note, error) {
		return note{fmt.Sprint("user ", server.Caller(ctx).ID)}, nil
	})
	open := server.Group{Server: w.api, Tag: "Notes"}
	server.Register(open, server.Operation{Id: "get-receipt", Route: "GET /v1/receipts/{key}", Summary: "Get"}, func(ctx context.Context, in *struct {
		Key string `path:"key"`
	},
	) (note, error) {
		return note{fmt.Sprint(in.Key, " of ", server.Caller(ctx).ID)}, w.api.TakeOpen(ctx)
	})
	write := func(_ context.Context, in *struct{ Body note }) (note, error) {
		if in.Body.Text == "" {
			return note{}, fault.Invalid("text", "a note must not be empty")
		}
		return in.Body, nil
	}
	server.Register(group, server.Operation{Id: "add-note", Route: "POST /v1/notes", Summary: "Add"}, write)
	server.Register(group, server.Operation{Id: "pay", Route: "POST /v1/money", Summary: "Pay", Confirms: true}, write)

	send := func(path string) func(*site.Request) (string, error) {
		return func(r *site.Request) (string, error) {
			made, err := site.Post[note](r, path, note{r.PostFormValue("text")})
			return "/notes?made=" + url.QueryEscape(made.Text), err
		}
	}

	err = site.Register(site.Config{API: w.api, Store: w.store.Accounts, Events: events{}}, site.Part{
		Sections: []site.Section{{Path: "/notes", Title: "notes"}, {Path: "/secret", Title: "secret", Admins: true}},
		Texts:    words.Catalog{"notes": {"Notes", "Заметки"}, "secret": {"Secrets", "Тайны"}},
		Templates: fstest.MapFS{
			"templates/notes.html":   {Data: []byte(`{{define "content"}}<p>{{.Data.Text}}</p><form method="post"><input name="text" value="{{typed .Request "text"}}"></form>{{end}}`)},
			"templates/receipt.html": {Data: []byte(`{{define "content"}}<p>{{.Data.Text}}</p>{{end}}`)},
			"templates/card.html":    {Data: []byte(`{{define "card-notes"}}<p>card of {{.Text}}</p>{{end}}`)},
		},
		Pages: []site.Page{{Route: "/notes", Name: "notes", Live: "note", Show: func(r *site.Request) (site.View, error) {
			got, err := site.Get[note](r, "/v1/notes", "number")
			return site.View{Title: "Notes of Ada", Data: got}, err
		}}, {Route: "/note", Name: "note", Form: "notes", Show: func(r *site.Request) (site.View, error) {
			got, err := site.Get[note](r, "/v1/notes", "number")
			return site.View{Data: got}, err
		}}, {Route: "/receipts/{key}", Name: "receipt", Open: true, Show: func(r *site.Request) (site.View, error) {
			got, err := site.Get[note](r, "/v1/receipts/{key}")
			return site.View{Title: "Receipt", Data: got, Refresh: 1500 * time.Millisecond}, err
		}}, {Route: "/careless", Name: "receipt", Open: true, Show: func(r *site.Request) (site.View, error) {
			got, err := site.Get[note](r, "/v1/notes")
			return site.View{Title: "Careless", Data: got}, err
		}}},
		Actions: []site.Action{
			{Route: "/notes", Page: "notes", Do: send("/v1/notes")}, {Route: "/money", Page: "notes", Do: send("/v1/money")},
		},
		Card: func(r *site.Request) (site.Card, error) {
			got, err := site.Get[note](r, "/v1/notes")
			soon := time.Now().Add(time.Hour)
			return site.Card{Data: got, Needs: []site.Need{
				{Text: "whenever", Path: "/notes"}, {Text: "soon", Path: "/notes", Due: &soon},
			}}, err
		},
	})

	w.must(err)

	served := httptest.NewServer(w.api)
	t.Cleanup(served.Close)
	w.url = served.URL
	chat := int64(7)
	w.ada, err = w.store.Accounts.CreateUser(
		t.Context(), account.User{Name: "Ada <b>", Status: account.UserActive, TelegramID: &chat}, w.token,
	)

	w.must(err)
	w.client = w.browser()
	return w
}

func (w *rig) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *rig) browser() *http.Client {
	jar, err := cookiejar.New(nil)
	w.must(err)
	return &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// reply is a response to a browser.
type reply struct {
	*http.Response
	t    *testing.T
	text string
}

func (w *rig) send(method, path string, form url.Values, headers ...string) reply {
	w.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}

	request, err := http.NewRequestWithContext(w.Context(), method, w.url+path, body)
	w.must(err)
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}

	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}

	response, err := w.client.Do(request)
	w.must(err)
	defer response.Body.Close()

	text, err := io.ReadAll(response.Body)
	w.must(err)
	return reply{response, w.T, string(text)}
}

// want checks the status and the texts of a page, or the target of a redirect.
func (r reply) want(status int, texts ...string) reply {
	r.t.Helper()
	if r.StatusCode != status {
		r.t.Fatalf("%s %s: %d, want %d\n%s", r.Request.Method, r.Request.URL, r.StatusCode, status, r.text)
	}
	for _, text := range texts {
		if !strings.Contains(r.text+r.Header.Get("Location"), text) {
			r.t.Errorf("%s %s has no %q:\n%s%s", r.Request.Method, r.Request.URL, text, r.text, r.Header.Get("Location"))
		}
	}
	return r
}

func (w *rig) signIn() {
	w.Helper()
	w.send("POST", "/sign-in", url.Values{"token": {w.token}, "next": {"/notes"}}).want(http.StatusSeeOther, "/notes")
}

func TestSigningInWithAToken(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.send("GET", "/notes?x=1", nil).want(http.StatusSeeOther, "/sign-in?next=%2Fnotes%3Fx%3D1")
	w.send("GET", "/sign-in?next=/notes", nil).want(http.StatusOK, `value="/notes"`, "/web")
	w.send("POST", "/sign-in", url.Values{"token": {"sc_wrong"}}).want(http.StatusUnauthorized, "UNAUTHENTICATED")
	w.signIn()
	page := w.send("GET", "/notes", nil).want(
		http.StatusOK, fmt.Sprint("user ", w.ada.ID), "Ada &lt;b&gt;", `data-live="note" data-place="7-8"`,
	)
	if strings.Contains(page.text, "Secrets") {
		t.Error("a user sees the section of administrators")
	}

	home := w.send("GET", "/", nil).want(http.StatusOK, "soon</a>", "whenever</a>", fmt.Sprint("card of user ", w.ada.ID))
	if strings.Index(home.text, "soon</a>") > strings.Index(home.text, "whenever</a>") {
		t.Error("what is due soon stands below what is never due")
	}
	w.send("GET", "/account", nil).want(http.StatusOK, "this browser", "read")

	w.send("GET", "/v1/notes", nil).want(http.StatusUnauthorized) // the API ignores cookies
	_, err := w.store.Accounts.RevokeToken(t.Context(), w.ada.ID, w.tokens()[0].ID, w.ada.ID)
	w.must(err)
	w.send("GET", "/notes", nil).want(http.StatusSeeOther, "/sign-in")
}

func (w *rig) tokens() []account.Token {
	tokens, err := w.store.Accounts.Tokens(w.Context(), w.ada.ID, 0, 10)
	w.must(err)
	return tokens
}

// TestGuessesAreLimited sends wrong tokens and wrong links.
func TestGuessesAreLimited(t *testing.T) {
	t.Parallel()
	for _, try := range []func(w *rig, i int) reply{
		func(w *rig, i int) reply {
			return w.send("POST", "/sign-in", url.Values{"token": {fmt.Sprint("sc_", i)}})
		},
		func(w *rig, i int) reply { return w.send("POST", fmt.Sprint("/sign-in/", i), url.Values{}) },
	} {
		w := newRig(t, "")
		began, limited := time.Now(), 0
		for i := range 20 {
			if try(w, i).StatusCode == http.StatusTooManyRequests {
				limited++
			}
		}
		if limited < 5-int(time.Since(began).Seconds()) { // one more a second is let through
			t.Errorf("%d of 20 guesses were refused", limited)
		}
	}
}

// TestSigningInWithALink opens a link, as previews do, and then uses it up.
func TestSigningInWithALink(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.must(w.store.Accounts.NewLink(t.Context(), w.ada.ID, "abc", account.ScopesOf(account.RoleUser), account.Maker{}))
	for range 3 {
		w.send("GET", "/sign-in/abc", nil).want(http.StatusOK, "Sign in")
	}

	w.send("POST", "/sign-in/abc", url.Values{}).want(http.StatusSeeOther, "/")
	w.send("GET", "/notes", nil).want(http.StatusOK)
	w.client = w.browser()
	w.send("POST", "/sign-in/abc", url.Values{}).want(http.StatusGone, "/web")
	w.send("GET", "/notes", nil).want(http.StatusSeeOther)
}

// TestCookies checks the flags, without TLS and with it.
func TestCookies(t *testing.T) {
	t.Parallel()
	for public, want := range map[string]string{"": "stagecoach", "https://pages.example": "__Host-stagecoach"} {
		w := newRig(t, public)
		got := w.send("POST", "/sign-in", url.Values{"token": {w.token}}).want(http.StatusSeeOther)
		cookie := got.Cookies()[0]
		if cookie.Name != want || !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode || cookie.Secure != (public != "") || cookie.Path != "/" || cookie.Domain != "" {
			t.Errorf("%+v", cookie)
		}
		if got.Header.Get("Strict-Transport-Security") != "" != (public != "") {
			t.Errorf("%v", got.Header)
		}
	}
}

// TestOtherOrigins submits forms as pages of other origins do.
func TestOtherOrigins(t *testing.T) {
	t.Parallel()
	w := newRig(t, "http://pages.example")
	w.signIn()
	form := url.Values{"text": {"hello"}}

	for _, path := range []string{"/notes", "/sign-in", "/sign-in/abc", "/sign-out", "/language", "/confirm"} {
		w.send("POST", path, form, "Sec-Fetch-Site", "cross-site").want(http.StatusForbidden)
		w.send("POST", path, form, "Sec-Fetch-Site", "same-site").want(http.StatusForbidden)
		w.send("POST", path, form, "Origin", "http://evil.example").want(http.StatusForbidden)
	}

	w.send("POST", "/notes", form, "Sec-Fetch-Site", "same-origin").want(http.StatusSeeOther, "/notes?made=hello")
	w.send(
		"POST", "/notes", form, "Origin", "http://pages.example", "Sec-Fetch-Site", "cross-site",
	).want(http.StatusSeeOther)
	w.send("GET", "/notes", nil, "Sec-Fetch-Site", "cross-site").want(http.StatusOK)
}

// TestNextPagesAreOurs signs in with next pages on other sites.
func TestNextPagesAreOurs(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	for _, next := range []string{"//evil.example", "https://evil.example/", "/\\evil.example", "evil", "", "/%5cevil.example/..//x", "javascript:alert(1)"} {
		at := w.send(
			"POST", "/sign-in", url.Values{"token": {w.token}, "next": {next}},
		).want(http.StatusSeeOther).Header.Get("Location")
		if !strings.HasPrefix(at, "/") || strings.HasPrefix(at, "//") || strings.ContainsAny(at, `\`) {
			t.Errorf("%q leads to %q", next, at)
		}
	}
}

// TestARefusedForm is shown again, with the input and the reason.
func TestARefusedForm(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	w.send("POST", "/notes", url.Values{"text": {""}, "other": {"x"}}).want(
		http.StatusUnprocessableEntity, "<summary>Details</summary>", "VALIDATION_ERROR", `<li data-field="text">a note must not be empty`,
	)
	w.send("POST", "/money?x=1", url.Values{}).want( // a script reloads the page's own URL
		http.StatusUnprocessableEntity, `data-page="/notes?x=1"`, `name="next" value="/notes?x=1"`,
	)
	w.send("POST", "/notes", url.Values{"text": {"a&b"}}).want(http.StatusSeeOther, "/notes?made=a%26b")
	w.send("POST", "/language", url.Values{"language": {"ru"}, "next": {"/notes"}}).want(http.StatusSeeOther)
	w.send("POST", "/notes", url.Values{}).want(http.StatusUnprocessableEntity, "В форме что-то не так", "<summary>Подробности</summary>",
		`<li data-field="text">Недопустимое значение.</li>`, `lang="ru"`)

	// A form in a URL is shown again too, on its page.
	for path, page := range map[string]string{"/notes?text=a%26b": "/notes", "/note?text=a%26b": "/notes"} {
		w.send("GET", path+"&number=x", nil).want(http.StatusUnprocessableEntity,
			`<li data-field="number">Напишите число цифрами.</li>`, `name="text" value="a&amp;b"`, `data-page="`+page+`"`)
	}
}

// TestHomeShowsWhatItCan signs in with a token that may not read what a card shows.
func TestHomeShowsWhatItCan(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.token = account.NewToken()
	_, err := w.store.Accounts.CreateToken(t.Context(), account.Token{UserID: w.ada.ID, Name: "files", Scopes: []account.Scope{account.ScopeFiles}}, w.token)
	w.must(err)
	w.signIn()
	w.send("GET", "/", nil).want(http.StatusOK, "INSUFFICIENT_SCOPE", "Home")
	w.send("GET", "/notes", nil).want(http.StatusForbidden, "INSUFFICIENT_SCOPE")
}

// TestBlockedUsersSeeNothing blocks a user who is signed in.
func TestBlockedUsersSeeNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	_, err := w.store.Accounts.ChangeUser(t.Context(), w.ada.ID, account.UserChange{Status: account.UserBlocked})
	w.must(err)
	w.send("GET", "/notes", nil).want(http.StatusForbidden, "USER_NOT_ACTIVE")
	w.send("POST", "/notes", url.Values{"text": {"x"}}).want(http.StatusForbidden)
	w.client = w.browser()
	w.send("POST", "/sign-in", url.Values{"token": {w.token}}).want(http.StatusForbidden)
}

// TestSigningOut ends one session, and all.
func TestSigningOut(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	first := w.client
	w.client = w.browser()
	w.signIn()
	w.send("POST", "/sign-out", url.Values{}).want(http.StatusSeeOther, "/sign-in")
	w.send("GET", "/notes", nil).want(http.StatusSeeOther)

	w.signIn()
	w.send("POST", "/sign-out", url.Values{"all": {"yes"}}).want(http.StatusSeeOther)
	w.client = first
	w.send("GET", "/notes", nil).want(http.StatusSeeOther, "/sign-in")
}

// TestMoneyAsksAgain moves money some time after the person signed in.
func TestMoneyAsksAgain(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	w.signIn()
	form := url.Values{"text": {"pay"}}
	w.send("POST", "/money", form).want(http.StatusSeeOther, "/notes?made=pay")

	sessions, err := w.store.Accounts.Sessions(t.Context(), w.ada.ID)
	w.must(err)
	session := sessions[0]
	long := func() {
		_, err := w.db.Exec(
			t.Context(), `UPDATE sessions SET confirmed_at = now() - interval '6 minutes' WHERE id = $1`, session.ID,
		)
		w.must(err)
	}

	long()
	w.send(
		"POST", "/money", form, "Referer", w.url+"/notes?x=1",
	).want(http.StatusSeeOther, "/confirm?next=%2Fnotes%3Fx%3D1")
	page := w.send("GET", "/confirm?next=/notes", nil).want(http.StatusOK, "/confirm ", `href="/notes"`)
	_, code, _ := strings.Cut(page.text, "/confirm ")
	w.must(w.store.Accounts.Confirm(t.Context(), w.ada.ID, code[:6]))
	w.send("POST", "/money", form).want(http.StatusSeeOther, "/notes?made=pay")

	long()
	other := account.NewToken()
	_, err = w.store.Accounts.CreateUser(t.Context(), account.User{Name: "Bob", Status: account.UserActive}, other)
	w.must(err)
	w.send("POST", "/confirm", url.Values{"token": {other}}).want(http.StatusUnauthorized)
	weak := account.NewToken()
	_, err = w.store.Accounts.CreateToken(t.Context(), account.Token{UserID: w.ada.ID, Name: "weak", Scopes: []account.Scope{account.ScopeRead}}, weak)
	w.must(err)
	w.send("POST", "/confirm", url.Values{"token": {weak}}).want(http.StatusForbidden, "INSUFFICIENT_SCOPE")
	w.send("POST", "/money", form).want(http.StatusSeeOther, "/confirm")
	w.send("POST", "/confirm", url.Values{"token": {w.token}, "next": {"/notes"}}).want(http.StatusSeeOther, "/notes")
	w.send("POST", "/money", form).want(http.StatusSeeOther, "/notes?made=pay")
}

// TestConfirmTakesOnlyOlderTokens confirms a session with tokens that it could have created or rotated, and with an
// older one.
func TestConfirmTakesOnlyOlderTokens(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	older := account.NewToken()
	all := account.Token{UserID: w.ada.ID, Name: "all", Scopes: account.Scopes}
	token, err := w.store.Accounts.CreateToken(t.Context(), all, older)
	w.must(err)
	w.signIn()

	made, rotated := account.NewToken(), account.NewToken()
	_, err = w.store.Accounts.CreateToken(t.Context(), all, made)
	w.must(err)
	_, err = w.db.Exec(t.Context(), `UPDATE sessions SET confirmed_at = now() - interval '6 minutes'`)
	w.must(err)

	confirm := func(secret string) reply {
		return w.send("POST", "/confirm", url.Values{"token": {secret}, "next": {"/notes"}})
	}
	confirm(made).want(http.StatusForbidden, "CONFIRMATION_REQUIRED", "older than this session")
	w.send("POST", "/money", url.Values{"text": {"pay"}}).want(http.StatusSeeOther, "/confirm")
	confirm(older).want(http.StatusSeeOther, "/notes")

	_, err = w.store.Accounts.RotateToken(t.Context(), token, rotated, time.Hour, account.Maker{})
	w.must(err)
	confirm(rotated).want(http.StatusForbidden, "CONFIRMATION_REQUIRED")
	confirm(older).want(http.StatusForbidden, "CONFIRMATION_REQUIRED") // the previous secret, in its grace period
}

// TestHeaders checks the headers of every page and every asset.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	page := w.send("GET", "/sign-in", nil).want(http.StatusOK)
	policy := page.Header.Get("Content-Security-Policy")

	for _, part := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"} {
		if !strings.Contains(policy, part) {
			t.Errorf("%s has no %s", policy, part)
		}
	}

	if strings.Contains(policy, "unsafe") || page.Header.Get("Cache-Control") != "no-store" || page.Header.Get("Referrer-Policy") != "same-origin" {
		t.Errorf("%v", page.Header)
	}

	_, at, _ := strings.Cut(page.text, `rel="stylesheet" href="`)
	at, _, _ = strings.Cut(at, `"`)
	style := w.send("GET", at, nil).want(http.StatusOK)
	if !strings.Contains(style.Header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(style.Header.Get("Content-Type"), "text/css") {
		t.Errorf("%v", style.Header)
	}

	w.send("GET", "/static/000000000000/site.css", nil).want(http.StatusNotFound)
	w.send("GET", "/static/x/..%2fsite.go", nil).want(http.StatusNotFound)
}

// TestTextsExist expects each text of a template to exist, and each key to mean one text.
func TestTextsExist(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	for want, part := range map[string]site.Part{
		"no-such": {Templates: fstest.MapFS{
			"templates/x.html": {Data: []byte(`{{define "content"}}{{if true}}{{range .Data}}{{t "no-such"}}{{end}}{{end}}{{end}}`)},
		}},
		`different texts "home"`: {Texts: words.Catalog{"home": {"House", "Дом"}}},
	} {
		api := server.New(server.Config{Store: w.store})
		err := site.Register(site.Config{API: api, Store: w.store.Accounts}, part)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}

// TestOpenPages opens a page without a session: it is not sent as a referrer, it is limited by address, and shows only
// what is public. Signed-in users have the menu there.
func TestOpenPages(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	page := w.send("GET", "/receipts/abc", nil).want(http.StatusOK, "abc of 0")
	for name, want := range map[string]string{"Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex", "Cache-Control": "no-store", "Refresh": "2"} {
		if got := page.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}

	w.send("GET", "/careless", nil).want(http.StatusUnauthorized, "UNAUTHENTICATED")
	w.send("POST", "/receipts/abc", url.Values{}).want(http.StatusMethodNotAllowed)
	if strings.Contains(page.text, "Ada") {
		t.Error("a stranger is taken for Ada")
	}

	w.signIn()
	signed := w.send("GET", "/receipts/abc", nil).want(http.StatusOK, "abc of ", "Ada &lt;b&gt;", `href="/notes"`)
	if strings.Contains(signed.text, "data-live") {
		t.Error("an open page follows the stream")
	}

	for range 500 { // more than a slow machine sends within the rate
		if w.send("GET", "/receipts/abc", nil).StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("nobody limits who asks")
}
