package site

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/words"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/oidc"
	"stagecoach/internal/store/account"
)

// Provider is an OpenID Connect provider with which people sign in.
type Provider struct {
	Client         *oidc.Client
	Name           string             // on the button
	ActivateAtOnce bool               // new people need no approval
	Newcomers      int                // new people an hour; 0: unlimited
	OnNewcomer     func(account.User) // called for a person who waits for approval; may be nil

	newcomers allowance.Rates[int]            // one key for all of them
	returned  allowance.Rates[allowance.Hash] // attempts whose browsers have returned, by their states
}

// attemptLife is how long a person may take at the provider.
const attemptLife = 10 * time.Minute

// maxNext limits the URL of the next page: browsers drop cookies of more than 4096 bytes.
const maxNext = 2000

// attempt is what the browser keeps in a cookie while it is at the provider. Nobody else can read the cookie, so the
// provider's response only works in this browser. The cookie is sealed: it cannot be forged, and every API process of
// the installation can open it.
type attempt struct {
	oidc.Attempt
	Next  string    `json:"next"` // the next page
	Began time.Time `json:"began"`
}

// routeProvider adds the redirect to the provider and the callback.
func (s *Site) routeProvider() {
	if s.Provider == nil {
		return
	}
	s.API.Mux.Handle("GET /oidc", s.open(s.goToProvider))
	s.API.Mux.Handle("GET "+oidc.CallbackPath, s.open(s.comeFromProvider))
}

// providerName is the label of the provider's button; empty if there is none.
func (s *Site) providerName() string {
	if s.Provider == nil {
		return ""
	}
	return s.Provider.Name
}

// attemptCookie is the name of an attempt's cookie, with the same prefix as a session's.
func (s *Site) attemptCookie() string { return s.cookie() + "-oidc" }

// goToProvider begins an attempt. It is a link, not a form, because a form would not be redirected to another host.
func (s *Site) goToProvider(w http.ResponseWriter, rq *http.Request) {
	begun := attempt{oidc.NewAttempt(), local(rq.FormValue("next")), time.Now()}
	if len(begun.Next) > maxNext {
		begun.Next = "/"
	}

	address, err := s.Provider.Client.Address(rq.Context(), begun.Attempt)
	if err != nil {
		s.refuseProvider(w, rq, begun.Next, err)
		return
	}

	kept, _ := json.Marshal(begun) // strings and the current time cannot fail
	sealed := base64.RawURLEncoding.EncodeToString(s.Store.SealAttempt(kept))
	s.setCookie(w, s.attemptCookie(), sealed, attemptLife)
	http.Redirect(w, rq, address, http.StatusSeeOther)
}

// comeFromProvider ends an attempt: it starts a session, or explains why not. The URL contains the provider's code, so
// no page is shown at that URL and no other site gets it as a referrer.
func (s *Site) comeFromProvider(w http.ResponseWriter, rq *http.Request) {
	w.Header().Set("Referrer-Policy", "no-referrer")
	s.setCookie(w, s.attemptCookie(), "", 0)

	begun := s.attemptOf(rq)
	secret := account.NewSecret()
	err := s.guess(rq, func() error { return s.finishAttempt(rq, begun, secret) })
	if err != nil {
		s.refuseProvider(w, rq, begun.Next, err)
		return
	}

	s.API.Guesses.Right(secret)
	s.setCookie(w, s.cookie(), secret, s.Life)
	http.Redirect(w, rq, local(begun.Next), http.StatusSeeOther)
}

// attemptOf reads a browser's attempt; zero if it has none of ours.
func (s *Site) attemptOf(rq *http.Request) (begun attempt) {
	cookie, err := rq.Cookie(s.attemptCookie())
	if err != nil {
		return begun
	}

	sealed, err := base64.RawURLEncoding.DecodeString(cookie.Value)
	if err != nil {
		return begun
	}
	kept, err := s.Store.OpenAttempt(sealed)
	if err != nil || json.Unmarshal(kept, &begun) != nil {
		return attempt{}
	}
	return begun
}

// guess limits attempts per address: a response that proves nothing counts like a wrong token.
func (s *Site) guess(rq *http.Request, try func() error) error {
	remote := server.RemoteOf(rq.Context())
	if err := s.API.Guesses.Check(remote, ""); err != nil {
		return err
	}

	err := try()
	switch fault.CodeOf(err) {
	case fault.SignInExpired, fault.SignInNotVerified, fault.SignInProviderAway:
		s.API.Guesses.Wrong(remote, "")
	}
	return err
}

// finishAttempt starts a session for the person whom the provider vouches for.
func (s *Site) finishAttempt(rq *http.Request, begun attempt, secret string) error {
	state := rq.FormValue("state")
	if !begun.Answers(state) || time.Since(begun.Began) > attemptLife {
		return fault.New(fault.SignInExpired, "this browser has no sign-in in progress, or it is too old")
	}
	if s.Provider.returned.Take(sha256.Sum256([]byte(state)), once) > 0 {
		return fault.New(fault.SignInExpired, "this sign-in is already over")
	}
	if problem := rq.FormValue("error"); problem != "" {
		return refusedThere(problem)
	}

	who, err := s.Provider.Client.Identify(rq.Context(), rq.FormValue("code"), begun.Attempt)
	if err != nil {
		return err
	}
	locale, _, _ := strings.Cut(who.Locale, "-")
	return s.signInAs(rq.Context(), s.language(rq, locale), who, secret)
}

// once allows each attempt one time, at least until it has expired.
var once = allowance.Rate{PerSecond: 1 / (2 * attemptLife).Seconds(), Burst: 1}

// errCancelled is the provider's response when the person declined.
var errCancelled = fault.New(fault.SignInNotVerified, "the user cancelled at the provider")

// refusedThere explains why the provider returned a browser without a code, by the error names of RFC 6749.
func refusedThere(problem string) error {
	switch problem {
	case "access_denied":
		return errCancelled
	case "server_error", "temporarily_unavailable":
		return fault.New(fault.SignInProviderAway, "the provider could not sign the user in")
	default:
		return fault.New(fault.SignInNotVerified, "the provider rejected the request")
	}
}

// signInAs starts a session for an identity. A new one becomes a user, like a newcomer to the bot.
func (s *Site) signInAs(ctx context.Context, language string, who oidc.Identity, secret string) error {
	identity := account.Identity{Issuer: who.Issuer, Subject: who.Subject, TelegramID: who.TelegramID, Admin: who.Admin}
	_, err := s.Store.UserOfIdentity(ctx, identity)
	if fault.CodeOf(err) == fault.UserNotFound {
		err = s.addNewcomer(ctx, language, who, identity)
	}
	if err != nil {
		return err
	}
	return s.Store.SignInIdentity(ctx, identity, secret, s.Life)
}

// addNewcomer adds a user for a new identity.
func (s *Site) addNewcomer(ctx context.Context, language string, who oidc.Identity, identity account.Identity) error {
	if n := s.Provider.Newcomers; n > 0 {
		hourly := allowance.Rate{PerSecond: float64(n) / 3600, Burst: n}
		if wait := s.Provider.newcomers.Take(0, hourly); wait > 0 {
			return fault.New(fault.RateLimited, "too many newcomers").With("limit", allowance.LimitNewcomers).After(wait)
		}
	}

	newcomer := account.User{
		Name: words.Shorten(words.Clean(cmp.Or(strings.TrimSpace(who.Name), who.Username)), 100), Language: language,
		Status: account.UserPending,
	}
	if s.Provider.ActivateAtOnce {
		newcomer.Status = account.UserActive
	}

	user, created, err := s.Store.AddIdentity(ctx, identity, newcomer)
	waits := user.Status == account.UserPending && (who.Admin == nil || !*who.Admin)
	if created && waits && s.Provider.OnNewcomer != nil {
		s.Provider.OnNewcomer(user)
	}
	return err
}

// refuseProvider shows the sign-in page, with the reason why signing in failed.
func (s *Site) refuseProvider(w http.ResponseWriter, rq *http.Request, next string, err error) {
	if f := fault.As(err); f != nil && f.Cause != nil {
		s.log().Warn("signing in with the provider has failed", "request", server.RequestID(rq.Context()), "code", f.Code, "error", f.Cause)
	}

	r := s.stranger(rq)
	r.Problem = s.problemOf(r, err)
	if key := s.friendly(err); key != "" {
		r.Problem.Text = s.texts[key].In(r.Language)
	}
	r.URL = &url.URL{Path: "/sign-in", RawQuery: url.Values{"next": {local(next)}}.Encode()}
	s.drawSignIn(w, r, next)
}

// friendly is the text for a refusal that needs more explanation than its code; empty if none.
func (s *Site) friendly(err error) string {
	f := fault.As(err)
	switch {
	case f == errCancelled:
		return "provider-cancelled"
	case f != nil && f.Code == fault.UserNotActive && f.Details["status"] == account.UserPending:
		return "provider-waits"
	default:
		return ""
	}
}

// providerTexts are the texts for signing in with a provider.
var providerTexts = words.Catalog{
	"provider-sign-in":   {"Sign in with %s", "Войти через %s"},
	"provider-again":     {"Or sign in again with %s", "Или войти ещё раз через %s"},
	"provider-cancelled": {"You cancelled at the provider, so you are not signed in.", "Вы отменили вход у провайдера, поэтому вход не выполнен."},
	"provider-waits":     {"Your request has arrived. An administrator has to approve it; sign in again after that.", "Ваша заявка принята. Её должен одобрить администратор; после этого войдите снова."},
}
