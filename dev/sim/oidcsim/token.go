package oidcsim

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"stagecoach/dev/sim"
)

// postToken exchanges a code, once, for an ID token that is invalid in one way; empty: a valid one.
func (s *Server) postToken(w http.ResponseWriter, r *http.Request, bend string) {
	id, secret, basic := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != s.options.ClientID || secret != s.options.ClientSecret {
		refuse(w, http.StatusUnauthorized, "invalid_client")
		return
	}

	g, known := s.spend(r.PostFormValue("code"))
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	proven := base64.RawURLEncoding.EncodeToString(sum[:]) == g.challenge
	if !known || !proven || r.PostFormValue("redirect_uri") != g.redirectURI || r.PostFormValue("grant_type") != "authorization_code" {
		refuse(w, http.StatusBadRequest, "invalid_grant")
		return
	}

	access := rand.Text()
	s.mu.Lock()
	s.access[access] = g.person
	s.mu.Unlock()
	answer := map[string]any{"access_token": access, "token_type": "Bearer", "expires_in": 300}
	if bend != "no_id_token" {
		token, err := s.idToken(g, bend)
		if err != nil {
			refuse(w, http.StatusInternalServerError, "server_error")
			return
		}
		answer["id_token"] = token
	}
	sim.WriteJSON(w, http.StatusOK, answer)
}

// getUserInfo returns the person of an access token.
func (s *Server) getUserInfo(w http.ResponseWriter, r *http.Request, bend string) {
	s.mu.Lock()
	person, known := s.access[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	s.mu.Unlock()
	if !known {
		refuse(w, http.StatusUnauthorized, "invalid_token")
		return
	}

	claims := map[string]any{"sub": person.Subject, "name": person.Name}
	if person.UserInfoGroups != nil {
		claims["groups"] = person.UserInfoGroups
	}
	if bend == wrongSubject {
		claims["sub"] = "another person"
	}
	sim.WriteJSON(w, http.StatusOK, claims)
}

// spend uses up a code that can be exchanged.
func (s *Server) spend(code string) (g grant, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, known = s.codes[code]
	delete(s.codes, code)
	return g, known && time.Now().Before(g.until)
}

// idToken makes the ID token of a grant.
func (s *Server) idToken(g grant, bend string) (string, error) {
	now := time.Now()
	claims := map[string]any{
		"iss": g.issuer, "sub": g.person.Subject, "aud": s.options.ClientID, "nonce": g.nonce,
		"iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "name": g.person.Name, "locale": "en",
	}
	if g.person.Groups != nil {
		claims["groups"] = g.person.Groups
	}
	if g.person.TelegramID != 0 {
		claims["id"] = g.person.TelegramID
	}

	switch bend {
	case "wrong_nonce":
		claims["nonce"] = rand.Text()
	case "wrong_audience":
		claims["aud"] = "another client"
	case "wrong_issuer":
		claims["iss"] = "http://another.example"
	case "expired_token":
		claims["exp"] = now.Add(-time.Minute).Unix()
	}

	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.keys[bend != "wrong_signature"]}, nil)
	if err != nil {
		return "", err
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}
