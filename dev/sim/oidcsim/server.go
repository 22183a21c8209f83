// Package oidcsim simulates an OpenID Connect provider.
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

// Options are the settings of the simulated OpenID Connect provider.
type Options struct {
	ClientID     string   // of the single client
	ClientSecret string   // of the single client
	Issuer       string   // empty: the URL of the request
	BrowserURL   string   // for browsers; empty: the issuer
	RedirectURI  string   // the allowed one; empty: any
	People       []Person // who can be chosen; none: Ada, Boris, and Clara, who is in the group admins
}

// Person is somebody with an account at the provider.
type Person struct {
	Subject, Name string
	TelegramID    int64    // 0: no claim
	Groups        []string // nil: no such claim in the ID token

	UserInfoGroups []string // returned by the userinfo endpoint; nil: no such claim
}

// codeLife is how long a code can be exchanged.
const codeLife = time.Minute

// Server is the simulator: discovery, keys, the page on which a person is chosen, and the token endpoint.
type Server struct {
	sim.Control
	options Options
	system  *http.ServeMux
	keys    map[bool]jose.JSONWebKey // true: the published one; false: another one

	mu     sync.Mutex
	codes  map[string]grant
	access map[string]Person // by access token
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

// bends are the faults in which the token endpoint responds 200 with an invalid ID token.
var bends = []string{"wrong_nonce", "wrong_audience", "wrong_issuer", "wrong_signature", "expired_token", "no_id_token"}

// wrongSubject is the fault in which the userinfo endpoint returns another person.
const wrongSubject = "wrong_subject"

// refusals are the faults in which the page returns the browser with an error.
var refusals = []string{"access_denied", "server_error", "invalid_scope"}

// New returns the simulator.
func New(o Options) (*Server, error) {
	if len(o.People) == 0 {
		o.People = []Person{
			{Subject: "ada", Name: "Ada Lovelace"},
			{Subject: "boris", Name: "Boris Petrov"},
			{Subject: "clara", Name: "Clara Schumann", Groups: []string{"musicians", "admins"}},
		}
	}

	s := &Server{options: o, system: http.NewServeMux(), keys: map[bool]jose.JSONWebKey{}, codes: map[string]grant{}, access: map[string]Person{}}
	id := rand.Text() // shared by both keys: only the signature distinguishes them
	for _, published := range []bool{true, false} {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		s.keys[published] = jose.JSONWebKey{Key: key, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
	}

	named := map[string]sim.Problem{}
	for _, kind := range slices.Concat(bends, refusals, []string{wrongSubject}) {
		named[kind] = sim.Problem{Status: http.StatusOK, Text: kind}
	}
	s.SetUp(sim.Protocol{Mask: func(path string) string { return path }, Fail: s.fail, Named: named})

	s.system.HandleFunc("GET /.well-known/openid-configuration", s.getDiscovery)
	s.system.HandleFunc("GET /keys", s.getKeys)
	s.system.HandleFunc("GET /authorize", s.getAuthorize)
	s.system.HandleFunc("POST /authorize", s.postAuthorize)
	s.system.HandleFunc("GET /userinfo", func(w http.ResponseWriter, r *http.Request) { s.getUserInfo(w, r, "") })
	s.system.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) { s.postToken(w, r, "") })
	return s, nil
}

// Close releases held connections; the handler must no longer be served.
func (s *Server) Close() error {
	s.ClearFaults()
	return nil
}

// ServeHTTP serves the protocol at the root and the control routes under /_/.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.Serve(w, r, s.system) }

// fail applies a fault: an invalid ID token, a browser that is returned, or an error of the protocol.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, p sim.Problem) {
	switch {
	case p.Text == wrongSubject:
		s.getUserInfo(w, r, p.Text)
	case slices.Contains(bends, p.Text):
		s.postToken(w, r, p.Text)
	case slices.Contains(refusals, p.Text):
		back(w, r, url.Values{"error": {p.Text}})
	default:
		refuse(w, p.Status, "server_error")
	}
}

func refuse(w http.ResponseWriter, status int, code string) {
	sim.WriteJSON(w, status, map[string]string{"error": code, "error_description": "the simulator says: " + code})
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
		"jwks_uri": root + "/keys", "userinfo_endpoint": root + "/userinfo", "response_types_supported": []string{"code"},
		"subject_types_supported": []string{"public"}, "id_token_signing_alg_values_supported": []string{string(jose.ES256)},
		"scopes_supported": []string{"openid", "profile", "groups"}, "code_challenge_methods_supported": []string{"S256"},
	})
}

func (s *Server) getKeys(w http.ResponseWriter, _ *http.Request) {
	published := s.keys[true]
	sim.WriteJSON(w, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{published.Public()}})
}

// page is where a person is chosen.
var page = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>A provider</title><link rel="icon" href="data:,"></head>
<body><main><h1>Who are you?</h1><p>This is the simulator of an OpenID Connect provider.</p>
<form method="post">{{range .}}<p><button name="person" value="{{.Subject}}">{{.Name}}{{range .Groups}}, {{.}}{{end}}</button></p>{{end}}
<p><button name="person" value="">Cancel</button></p></form></main></body></html>`))

func (s *Server) getAuthorize(w http.ResponseWriter, r *http.Request) {
	if why := s.wrongRequest(r.URL.Query()); why != "" {
		refuse(w, http.StatusBadRequest, why)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = page.Execute(w, s.options.People) // an error means that the browser has disconnected
}

// wrongRequest explains what is wrong with a sign-in request; empty: nothing.
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

// postAuthorize issues a code for the chosen person.
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

// back redirects the browser to the client.
func back(w http.ResponseWriter, r *http.Request, answer url.Values) {
	answer.Set("state", r.URL.Query().Get("state"))
	http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+answer.Encode(), http.StatusSeeOther)
}
