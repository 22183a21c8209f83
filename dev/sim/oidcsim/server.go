// Package oidcsim stands in for a provider of OpenID Connect.
package oidcsim

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"

	"stagecoach/dev/sim"
)

// Options are the settings of the stand-in for a provider of OpenID Connect.
type Options struct {
	ClientID     string   // of the one client
	ClientSecret string   // and its secret
	Issuer       string   // empty: the address at which it is asked
	BrowserURL   string   // at which browsers reach it; empty: the issuer
	RedirectURI  string   // the one that is allowed; empty: any
	People       []Person // who may be chosen; none: Ada, Boris, and Clara, who is in the group admins
}

// Person is somebody with an account at the provider.
type Person struct {
	Subject, Name string
	TelegramID    int64 // 0: no claim
	Groups        []string
}

// codeLife is how long a code can be exchanged.
const codeLife = time.Minute

// Server is the stand-in: discovery, keys, the page on which one chooses a person, and the token endpoint.
type Server struct {
	sim.Control
	options Options
	system  *http.ServeMux
	keys    map[bool]jose.JSONWebKey // true: the one that is published; false: another one

	mu    sync.Mutex
	codes map[string]grant
}

// grant is what a code is exchanged for.
type grant struct {
	person      Person
	issuer      string
	redirectURI string
	nonce       string
	challenge   string
	until       time.Time
}

// bends are the faults in which the token endpoint answers 200 with an ID token that is not right.
var bends = []string{"wrong_nonce", "wrong_audience", "wrong_issuer", "wrong_signature", "expired_token", "no_id_token"}

// refusals are the faults in which the page sends the browser back with an error.
var refusals = []string{"access_denied", "server_error", "invalid_scope"}

// New makes the stand-in.
func New(o Options) (*Server, error) {
	if len(o.People) == 0 {
		o.People = []Person{
			{Subject: "ada", Name: "Ada Lovelace"},
			{Subject: "boris", Name: "Boris Petrov"},
			{Subject: "clara", Name: "Clara Schumann", Groups: []string{"musicians", "admins"}},
		}
	}

	s := &Server{options: o, system: http.NewServeMux(), keys: map[bool]jose.JSONWebKey{}, codes: map[string]grant{}}
	id := rand.Text() // both keys have it: only the signature tells them apart
	for _, published := range []bool{true, false} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		s.keys[published] = jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
	}

	named := map[string]sim.Problem{}
	for _, kind := range slices.Concat(bends, refusals) {
		named[kind] = sim.Problem{Status: http.StatusOK, Text: kind}
	}
	s.SetUp(sim.Protocol{Mask: func(path string) string { return path }, Fail: s.fail, Named: named})

	s.system.HandleFunc("GET /.well-known/openid-configuration", s.getDiscovery)
	s.system.HandleFunc("GET /keys", s.getKeys)
	s.system.HandleFunc("GET /authorize", s.getAuthorize)
	s.system.HandleFunc("POST /authorize", s.postAuthorize)
	s.system.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) { s.postToken(w, r, "") })
	return s, nil
}

// Close releases held connections; the handler must not be served any more.
func (s *Server) Close() error {
	s.ClearFaults()
	return nil
}

// ServeHTTP answers the protocol at the root and the control routes under /_/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, s.system) }

// fail answers a fault: an ID token that is not right, a browser that is sent back, or an error of the protocol.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, p sim.Problem) {
	switch {
	case slices.Contains(bends, p.Text):
		s.postToken(w, r, p.Text)
	case slices.Contains(refusals, p.Text):
		back(w, r, url.Values{"error": {p.Text}})
	default:
		refuse(w, p.Status, "server_error")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	sim.WriteJSON(w, status, map[string]string{"error": code, "error_description": "what the stand-in says: " + code})
}

func (s *Server) issuer(r *http.Request) string {
	return cmp.Or(s.options.Issuer, "http://"+r.Host)
}

func (s *Server) getDiscovery(w http.ResponseWriter, r *http.Request) {
	issuer := s.issuer(r)
	root := strings.TrimSuffix(issuer, "/")
	browsers := cmp.Or(s.options.BrowserURL, root)
	sim.WriteJSON(w, http.StatusOK, map[string]any{
		"issuer": issuer, "authorization_endpoint": browsers + "/authorize", "token_endpoint": root + "/token",
		"jwks_uri": root + "/keys", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{string(jose.ES256)},
		"scopes_supported": []string{"openid", "profile", "groups"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (s *Server) getKeys(w http.ResponseWriter, _ *http.Request) {
	published := s.keys[true]
	sim.WriteJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{published.Public()}})
}

// page is where one chooses who one is.
var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A provider</title><link rel="icon" href="data:,"></head>
<body><main><h1>Who are you?</h1><p>This stands in for a provider of OpenID Connect.</p>
<form method="post">{{range .}}<p><button name="person" value="{{.Subject}}">{{.Name}}{{range .Groups}}, {{.}}{{end}}</button></p>{{end}}
<p><button name="person" value="">Cancel</button></p></form></main></body></html>`))

func (s *Server) getAuthorize(w http.ResponseWriter, r *http.Request) {
	if why := s.wrongRequest(r.URL.Query()); why != "" {
		refuse(w, http.StatusBadRequest, why)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, s.options.People) // an error means that the browser has left
}

// wrongRequest says what is wrong with a request to sign in; empty: nothing is.
func (s *Server) wrongRequest(q url.Values) string {
	uri := q.Get("redirect_uri")
	switch {
	case q.Get("client_id") != s.options.ClientID:
		return "unauthorized_client"
	case uri == "" || s.options.RedirectURI != "" && uri != s.options.RedirectURI:
		return "invalid_redirect_uri"
	case q.Get("response_type") != "code" || !slices.Contains(strings.Fields(q.Get("scope")), "openid"):
		return "invalid_request"
	case q.Get("code_challenge") == "" || q.Get("code_challenge_method") != "S256":
		return "pkce_required"
	}
	return ""
}

// postAuthorize gives a code for the person who was chosen.
func (s *Server) postAuthorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if why := s.wrongRequest(q); why != "" {
		refuse(w, http.StatusBadRequest, why)
		return
	}

	chosen := r.PostFormValue("person")
	i := slices.IndexFunc(s.options.People, func(p Person) bool { return p.Subject == chosen })
	if i < 0 {
		back(w, r, url.Values{"error": {"access_denied"}})
		return
	}

	code := rand.Text()
	s.mu.Lock()
	s.codes[code] = grant{
		s.options.People[i], s.issuer(r), q.Get("redirect_uri"), q.Get("nonce"), q.Get("code_challenge"),
		time.Now().Add(codeLife),
	}
	s.mu.Unlock()
	back(w, r, url.Values{"code": {code}})
}

// back sends the browser to where it came from.
func back(w http.ResponseWriter, r *http.Request, answer url.Values) {
	answer.Set("state", r.URL.Query().Get("state"))
	http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+answer.Encode(), http.StatusSeeOther)
}
