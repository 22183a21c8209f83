package site

import (
	"net/http"
	"strings"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/words"
)

// policy lets a page load what is below /static, and nothing else. Scripts may only insert HTML through the Trusted
// Types policy of live.js.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types stagecoach"

// protect sets the headers of every page.
func (s *Site) protect(w http.ResponseWriter) {
	w.Header().Set("Content-Security-Policy", policy)
	w.Header().Set("Referrer-Policy", "same-origin")
	w.Header().Set("Cross-Origin-Opener-Policy", "same-origin")
	if s.secure() {
		w.Header().Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// follow gives a browser the API's event stream, as the user who is signed in.
func (s *Site) follow(w http.ResponseWriter, rq *http.Request) {
	r, err := s.admit(rq)
	if err != nil {
		http.Error(w, "sign in", http.StatusUnauthorized)
		return
	}

	stream := r.Clone(server.WithPrincipal(rq.Context(), r.Who))
	stream.URL.Path, stream.URL.RawQuery = "/v1/events", r.Query("last_event_id").Encode()
	stream.Header.Set("Authorization", "Bearer "+r.secret) // so that the stream notices the end of the session
	s.API.ServeHTTP(w, stream)
}

const languageCookie = "language"

// language is a page's language: the person's choice here, or what the bot knows, or the browser's preference.
func (s *Site) language(rq *http.Request, known string) string {
	if cookie, err := rq.Cookie(languageCookie); err == nil && (cookie.Value == words.English || cookie.Value == words.Russian) {
		return cookie.Value
	}
	if known == "" && strings.HasPrefix(rq.Header.Get("Accept-Language"), words.Russian) {
		known = words.Russian
	}
	if known == words.Russian {
		return words.Russian
	}
	return words.English
}

// setLanguage changes the language of this browser.
func (s *Site) setLanguage(w http.ResponseWriter, rq *http.Request) {
	chosen := words.English
	if rq.PostFormValue("language") == words.Russian {
		chosen = words.Russian
	}
	s.setCookie(w, languageCookie, chosen, 365*24*time.Hour)
	http.Redirect(w, rq, local(rq.PostFormValue("next")), http.StatusSeeOther)
}
