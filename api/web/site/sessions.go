package site

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// open serves a public page or its small form.
func (s *Site) open(handle http.HandlerFunc) http.Handler {
	return s.protected(func(w http.ResponseWriter, rq *http.Request) {
		rq.Body = http.MaxBytesReader(w, rq.Body, strangersForm)
		handle(w, rq)
	})
}

// protected refuses changes from other origins.
func (s *Site) protected(handle http.HandlerFunc) http.Handler {
	return s.origins.Handler(http.HandlerFunc(func(w http.ResponseWriter, rq *http.Request) {
		s.protect(w)
		handle(w, rq)
	}))
}

// guard admits people who are signed in; others are redirected to the sign-in page. most limits a form's bytes.
func (s *Site) guard(most int64, next func(http.ResponseWriter, *Request)) http.Handler {
	return s.protected(func(w http.ResponseWriter, rq *http.Request) {
		r, err := s.admit(rq)
		switch {
		case fault.CodeOf(err) == fault.Unauthenticated && rq.Method == http.MethodGet:
			http.Redirect(w, rq, "/sign-in?next="+url.QueryEscape(rq.URL.RequestURI()), http.StatusSeeOther)
		case fault.CodeOf(err) == fault.Unauthenticated:
			http.Redirect(w, rq, "/sign-in", http.StatusSeeOther)
		case err != nil:
			s.fail(w, r, err)
		default:
			s.withForm(w, r, most, next)
		}
	})
}

// welcome admits everybody who knows the URL, which is a secret: no other site gets it as a referrer, and search
// engines do not index it. Signed-in users keep the menu.
func (s *Site) welcome(next func(http.ResponseWriter, *Request)) http.Handler {
	return s.open(func(w http.ResponseWriter, rq *http.Request) {
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Robots-Tag", "noindex")
		r, err := s.admit(rq)
		if err != nil {
			r = s.stranger(rq)
		}
		next(w, r)
	})
}

// admit authenticates a request, in one statement, and counts it against the user's rate. The request returned with an
// error can be used to draw a page without a user.
func (s *Site) admit(rq *http.Request) (*Request, error) {
	r := s.stranger(rq)
	cookie, err := rq.Cookie(s.cookie())
	if err != nil || !account.IsSecret(cookie.Value) {
		return r, fault.New(fault.Unauthenticated, "you are not signed in")
	}

	user, session, err := s.sessionOf(rq.Context(), cookie.Value)
	if err != nil {
		return r, err
	}

	who := server.Principal{User: user, Token: session.Token(user.ID), Session: &session}
	if err := who.Permit(server.Operation{Scope: server.AnyScope}); err != nil {
		return r, err
	}
	if err := s.API.Requests.TakeBy(user, cookie.Value); err != nil {
		return r, err
	}

	r.Who, r.Session, r.secret = who, session, cookie.Value
	r.Language = s.language(rq, user.Language)
	r.Request = rq.WithContext(server.WithPrincipal(rq.Context(), who))
	return r, nil
}

// sessionOf finds the user and the session of a secret. Wrong ones are limited by address, like wrong tokens.
func (s *Site) sessionOf(ctx context.Context, secret string) (user account.User, session account.Session, err error) {
	err = s.API.Identify(ctx, secret, func(ctx context.Context) (err error) {
		user, session, err = s.Store.SessionOf(ctx, secret)
		return err
	})
	return user, session, err
}

// stranger is a request without a user.
func (s *Site) stranger(rq *http.Request) *Request {
	r := &Request{Request: rq, Language: s.language(rq, ""), api: s.api}
	if s.Events != nil {
		if place := s.Events.Place(); place != nil {
			r.place = place.String()
		}
	}
	return r
}

// cookie is the name of a session's cookie. With TLS, browsers only accept one with this prefix from this host.
func (s *Site) cookie() string {
	if s.secure() {
		return "__Host-stagecoach"
	}
	return "stagecoach"
}

func (s *Site) secure() bool { return strings.HasPrefix(s.API.PublicURL, "https:") }

// setCookie sets a cookie that scripts cannot read; "" removes it.
func (s *Site) setCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	cookie := &http.Cookie{
		Name: name, Value: value, Path: "/", MaxAge: int(life.Seconds()), HttpOnly: true, Secure: s.secure(),
		SameSite: http.SameSiteLaxMode,
	}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(w, cookie)
}

// routeSessions adds the pages for those who are not signed in, and the ways to sign out.
func (s *Site) routeSessions() {
	signIn := func(w http.ResponseWriter, rq *http.Request) { s.showSignIn(w, rq, nil) }
	s.API.Mux.Handle("GET /sign-in", s.open(signIn))
	s.API.Mux.Handle("POST /sign-in", s.open(s.signIn))
	s.API.Mux.Handle("GET /sign-in/{link}", s.open(s.showLink))
	s.API.Mux.Handle("POST /sign-in/{link}", s.open(s.spendLink))
	s.API.Mux.Handle("POST /language", s.open(s.setLanguage))
	s.API.Mux.Handle("POST /sign-out", s.guard(server.FormBody, s.signOut))
}

// showSignIn shows the sign-in page, and why signing in was refused.
func (s *Site) showSignIn(w http.ResponseWriter, rq *http.Request, err error) {
	r := s.stranger(rq)
	if err != nil {
		r.Problem = s.problemOf(r, err)
	}
	s.drawSignIn(w, r, rq.FormValue("next"))
}

func (s *Site) drawSignIn(w http.ResponseWriter, r *Request, next string) {
	status := http.StatusOK
	if r.Problem != nil {
		status = r.Problem.Status
	}
	view := View{Data: map[string]string{"Next": local(next), "Provider": s.providerName()}}
	s.draw(w, r, Page{Name: "sign-in", Title: "sign-in"}, view, status)
}

// signIn starts a session with a token. Wrong tokens are limited by address, like those of the API.
func (s *Site) signIn(w http.ResponseWriter, rq *http.Request) {
	token := strings.TrimSpace(rq.PostFormValue("token"))
	who, err := s.API.Authenticate(rq.Context(), token)
	if err != nil {
		s.showSignIn(w, rq, err)
		return
	}

	secret := account.NewSecret()
	if err := s.Store.StartSession(rq.Context(), who.Token, secret, s.Life); err != nil {
		s.showSignIn(w, rq, err)
		return
	}

	s.begin(w, rq, secret, local(rq.PostFormValue("next")))
}

// begin gives a browser the secret of its new session, and redirects to a page.
func (s *Site) begin(w http.ResponseWriter, rq *http.Request, secret, next string) {
	s.API.Guesses.Right(secret)
	s.setCookie(w, s.cookie(), secret, s.Life)
	http.Redirect(w, rq, next, http.StatusSeeOther)
}

// showLink shows the button that uses a sign-in link up. Link previews open this page too, without using it up.
func (s *Site) showLink(w http.ResponseWriter, rq *http.Request) {
	s.draw(w, s.stranger(rq), Page{Name: "link", Title: "sign-in"}, View{}, http.StatusOK)
}

func (s *Site) spendLink(w http.ResponseWriter, rq *http.Request) {
	link, secret := rq.PathValue("link"), account.NewSecret()
	if err := s.API.Guesses.Check(server.RemoteOf(rq.Context()), link); err != nil {
		s.showSignIn(w, rq, err)
		return
	}

	_, err := s.Store.SpendLink(rq.Context(), link, secret, s.Life)
	if fault.CodeOf(err) == fault.Unauthenticated {
		s.API.Guesses.Wrong(server.RemoteOf(rq.Context()), link)
		err = fault.New(fault.LinkSpent, "this link was used, replaced, or is older than five minutes")
	}

	if err != nil {
		s.showSignIn(w, rq, err)
		return
	}

	s.begin(w, rq, secret, "/")
}

// signOut ends the session of this browser, or all sessions of the user.
func (s *Site) signOut(w http.ResponseWriter, r *Request) {
	id := r.Session.ID
	if r.PostFormValue("all") != "" {
		id = 0
	} else if named, ok := shape.ParseID(r.PostFormValue("session")); ok {
		id = named
	}

	if err := s.Store.EndSession(r.Context(), r.Who.User.ID, id); err != nil {
		s.fail(w, r, err)
		return
	}
	if id != 0 && id != r.Session.ID {
		http.Redirect(w, r.Request, "/account", http.StatusSeeOther)
		return
	}

	s.setCookie(w, s.cookie(), "", 0)
	http.Redirect(w, r.Request, "/sign-in", http.StatusSeeOther)
}

// local returns the path of the next page that a form names; "/" if it is not a path of this site.
func local(next string) string {
	at, err := url.Parse(next)
	if err != nil || at.Host != "" || at.Scheme != "" || !strings.HasPrefix(at.Path, "/") || strings.HasPrefix(at.Path, "//") ||
		strings.Contains(next, `\`) {
		return "/"
	}
	return cmp.Or(at.RequestURI(), "/")
}
