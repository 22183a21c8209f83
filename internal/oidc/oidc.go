// Package oidc signs people in with an OpenID Connect provider, by the authorization code flow with PKCE. A call
// cancelled by its caller returns context.Canceled, every other failure is a *fault.Error whose cause contains no code,
// token or secret.
package oidc

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	upstream "github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"stagecoach/internal/fault"
	"stagecoach/internal/outbound"
)

// Telegram is the issuer whose accounts are users of the bot.
const Telegram = "https://oauth.telegram.org"

// CallbackPath is the page to which the provider redirects browsers.
const CallbackPath = "/oidc/callback"

const (
	connectTime = 3 * time.Second
	requestTime = 5 * time.Second // for one request including its answer
	maxAnswer   = 1 << 20
	discovered  = time.Hour // after which the provider's endpoints are queried again
)

// Options identify the provider, and us as its client.
type Options struct {
	Issuer, ClientID, ClientSecret string
	RedirectURL                    string
	AdminGroup                     string // whose members are administrators; empty: not decided by the provider
}

// Client talks to one provider. It is safe for concurrent use.
type Client struct {
	o        Options
	http     *http.Client
	provider outbound.Reading[*provider]
}

// provider is what the provider's discovery document leads to.
type provider struct {
	oauth2.Config
	verifier *upstream.IDTokenVerifier
	userInfo func(context.Context, oauth2.TokenSource) (*upstream.UserInfo, error) // nil: the provider has no such endpoint
}

// New makes a client. It does not contact the provider before the first sign-in.
func New(o Options) *Client {
	return &Client{o: o, http: &http.Client{
		Transport: bounded{outbound.NewTransport(connectTime)}, Timeout: requestTime, CheckRedirect: outbound.RefuseRedirects,
	}}
}

// bounded bounds the answers, which the libraries read completely.
type bounded struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	return outbound.Bounded(answer, maxAnswer), nil
}

// Attempt is a browser's attempt to sign in. The browser keeps it, and presents it on its return.
type Attempt struct {
	State    string `json:"state"`    // returned in the address: the answer belongs to this attempt
	Nonce    string `json:"nonce"`    // returned in the ID token
	Verifier string `json:"verifier"` // proves to the provider that the code belongs to this attempt
}

// NewAttempt makes an attempt from unguessable secrets.
func NewAttempt() Attempt { return Attempt{rand.Text(), rand.Text(), oauth2.GenerateVerifier()} }

// Answers reports whether a returned state is the attempt's.
func (a Attempt) Answers(state string) bool {
	return a.State != "" && a.Nonce != "" && a.Verifier != "" &&
		subtle.ConstantTimeCompare([]byte(a.State), []byte(state)) == 1
}

// Identity is who has signed in.
type Identity struct {
	Issuer, Subject string
	TelegramID      *int64 // at Telegram only
	Name, Username  string
	Locale          string
	Admin           *bool // by the group; nil: the provider does not decide, or says nothing about groups
}

// Address is where a browser goes to sign in at the provider. SIGN_IN_PROVIDER_AWAY: the provider does not answer.
func (c *Client) Address(ctx context.Context, a Attempt) (string, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return "", err
	}
	return p.AuthCodeURL(a.State, upstream.Nonce(a.Nonce), oauth2.S256ChallengeOption(a.Verifier)), nil
}

// Identify exchanges the code with which a browser came back. SIGN_IN_PROVIDER_AWAY: the provider does not answer;
// SIGN_IN_NOT_VERIFIED: it rejects the code, or its answer is invalid.
func (c *Client) Identify(ctx context.Context, code string, a Attempt) (who Identity, err error) {
	p, err := c.discover(ctx)
	if err != nil {
		return who, err
	}

	ctx = upstream.ClientContext(ctx, c.http)
	token, err := p.Exchange(ctx, code, oauth2.VerifierOption(a.Verifier))
	if err != nil {
		return who, exchangeFault(ctx, err)
	}

	raw, _ := token.Extra("id_token").(string)
	checked, err := p.verifier.Verify(ctx, raw)
	switch { // it may have had to fetch the provider's keys
	case err == nil:
	case errors.Is(ctx.Err(), context.Canceled):
		return who, ctx.Err()
	case strings.Contains(err.Error(), "fetching keys"): // the library has no type for it
		return who, away(short(err))
	default:
		return who, notVerified(short(err).Error())
	}
	if subtle.ConstantTimeCompare([]byte(checked.Nonce), []byte(a.Nonce)) != 1 {
		return who, notVerified("the ID token has another nonce")
	}

	var said claims
	if err := checked.Claims(&said); err != nil {
		return who, notVerified("a claim of the ID token has the wrong type")
	}
	if c.o.AdminGroup != "" && missing(said.Groups) && p.userInfo != nil { // Authelia, Okta, Auth0: groups only there
		if said.Groups, err = userGroups(ctx, p, token, checked.Subject); err != nil {
			return who, err
		}
	}
	return c.identity(checked, said)
}

// userGroups queries the provider for the claim groups of the person who signed in.
func userGroups(ctx context.Context, p *provider, token *oauth2.Token, subject string) (json.RawMessage, error) {
	info, err := p.userInfo(ctx, oauth2.StaticTokenSource(token))
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case err != nil:
		return nil, away(errors.New("the userinfo endpoint gives no claims")) // its answer may be about a person
	case info.Subject != subject: // OpenID Connect Core 1.0, section 5.3.2
		return nil, notVerified("the userinfo endpoint answers about another person")
	}

	var said claims
	if err := info.Claims(&said); err != nil {
		return nil, notVerified("a claim of the userinfo endpoint has the wrong type")
	}
	return said.Groups, nil
}

// Known asks the provider whether it knows the client and its secret, with a code that it never issued: it answers that
// the code is wrong only if the client is right. SIGN_IN_NOT_VERIFIED: it does not know the client; false: it says
// neither.
func (c *Client) Known(ctx context.Context) (bool, error) {
	p, err := c.discover(ctx)
	if err != nil {
		return false, err
	}

	_, err = p.Exchange(upstream.ClientContext(ctx, c.http), rand.Text(), oauth2.VerifierOption(oauth2.GenerateVerifier()))
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case err == nil:
		return false, nil
	case !answered, refused.Response.StatusCode >= http.StatusInternalServerError, slices.Contains(strangers, refused.ErrorCode):
		return false, exchangeFault(ctx, err)
	default:
		return refused.ErrorCode == "invalid_grant", nil
	}
}

// claims are the claims of an ID token used here.
type claims struct {
	AuthorizedParty string          `json:"azp"`
	Name            string          `json:"name"`
	Username        string          `json:"preferred_username"`
	Locale          string          `json:"locale"`
	ID              json.RawMessage `json:"id"`     // used at Telegram only: others give it another meaning
	Groups          json.RawMessage `json:"groups"` // a list; some providers send a single one as a text
}

// maxSubject is the maximum length of a subject in bytes, by the specification.
const maxSubject = 255

// identity reads the identity from a verified ID token and its claims.
func (c *Client) identity(token *upstream.IDToken, said claims) (who Identity, err error) {
	if token.Subject == "" || len(token.Subject) > maxSubject {
		return who, notVerified("the ID token has no subject")
	}
	if len(token.Audience) > 1 && said.AuthorizedParty != c.o.ClientID {
		return who, notVerified("the ID token is for another party")
	}

	who = Identity{
		Issuer: c.o.Issuer, Subject: token.Subject, Name: said.Name, Username: said.Username, Locale: said.Locale,
	}
	if c.o.Issuer == Telegram {
		if who.TelegramID, err = telegramID(said.ID); err != nil {
			return who, err
		}
	}
	if c.o.AdminGroup != "" {
		who.Admin, err = isMember(said.Groups, c.o.AdminGroup)
	}
	return who, err
}

// telegramID reads the claim with the id of a Telegram account, a number or a text. The subject is no such id, though
// it may be a number: Telegram issues a different one to each client.
func telegramID(claim json.RawMessage) (*int64, error) {
	id, err := strconv.ParseInt(strings.Trim(string(claim), `"`), 10, 64)
	if err != nil || id <= 0 {
		return nil, notVerified("the ID token has no id of a Telegram account")
	}
	return &id, nil
}

// missing reports whether a token or an answer lacks a claim.
func missing(claim json.RawMessage) bool { return claim == nil || string(claim) == "null" }

// isMember reports whether the claim contains a group; nil: there is no claim, which says nothing about the person.
func isMember(claim json.RawMessage, group string) (*bool, error) {
	var groups []string
	var one string
	switch {
	case missing(claim):
		return nil, nil
	case json.Unmarshal(claim, &one) == nil:
		groups = []string{one}
	case json.Unmarshal(claim, &groups) != nil:
		return nil, notVerified("the claim groups is no list of texts")
	}
	member := slices.Contains(groups, group)
	return &member, nil
}

// discover finds the provider's endpoints. A failure is remembered for some seconds, so that an outage costs little.
func (c *Client) discover(ctx context.Context) (*provider, error) {
	p, _, err := c.provider.Get(ctx, discovered, c.ask)
	if err != nil {
		return nil, away(err)
	}
	return p, nil
}

// ask reads the discovery document.
func (c *Client) ask(ctx context.Context) (*provider, error) {
	found, err := upstream.NewProvider(upstream.ClientContext(ctx, c.http), c.o.Issuer)
	if err != nil {
		return nil, short(err)
	}

	var more struct {
		Scopes []string `json:"scopes_supported"`
		Auth   []string `json:"token_endpoint_auth_methods_supported"`
		Keys   string   `json:"jwks_uri"`
	}
	if err := found.Claims(&more); err != nil {
		return nil, short(err)
	}

	// Without a style the library would try both, but a code is good for only one request.
	endpoint := found.Endpoint()
	endpoint.AuthStyle = oauth2.AuthStyleInHeader
	if c.o.ClientSecret == "" || more.Auth != nil && !slices.Contains(more.Auth, "client_secret_basic") {
		endpoint.AuthStyle = oauth2.AuthStyleInParams
	}

	parts := []string{endpoint.AuthURL, endpoint.TokenURL, more.Keys}
	var userInfo func(context.Context, oauth2.TokenSource) (*upstream.UserInfo, error)
	if found.UserInfoEndpoint() != "" {
		parts, userInfo = append(parts, found.UserInfoEndpoint()), found.UserInfo
	}
	for _, address := range parts {
		if err := c.safe(address); err != nil {
			return nil, err
		}
	}

	scopes := []string{upstream.ScopeOpenID, "profile"}
	if c.o.AdminGroup != "" && slices.Contains(more.Scopes, "groups") { // some providers reject an unknown scope
		scopes = append(scopes, "groups")
	}
	return &provider{
		Config: oauth2.Config{
			ClientID: c.o.ClientID, ClientSecret: c.o.ClientSecret, RedirectURL: c.o.RedirectURL, Endpoint: endpoint,
			Scopes: scopes,
		},
		verifier: found.Verifier(&upstream.Config{ClientID: c.o.ClientID}),
		userInfo: userInfo,
	}, nil
}

// safe requires the provider's endpoints to be encrypted if its issuer is: the client secret is sent there, and the
// keys decide who somebody is.
func (c *Client) safe(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || strings.HasPrefix(c.o.Issuer, "https:")) {
		return errors.New("the discovery document has an address that cannot be used")
	}
	return nil
}

// exchangeFault is the failure of an exchange. The answer's text is left out: it may repeat the code.
func exchangeFault(ctx context.Context, err error) error {
	refused, answered := errors.AsType[*oauth2.RetrieveError](err)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return ctx.Err()
	case !answered:
		return away(short(err))
	case refused.Response.StatusCode >= http.StatusInternalServerError:
		return away(fmt.Errorf("the token endpoint answers %d", refused.Response.StatusCode))
	}

	why := "another error"
	if slices.Contains(refusals, refused.ErrorCode) {
		why = refused.ErrorCode
	}
	return notVerified(fmt.Sprintf("the token endpoint answers %d, %s", refused.Response.StatusCode, why))
}

// refusals are the errors of a token endpoint, by RFC 6749.
var refusals = []string{
	"invalid_request", "invalid_client", "invalid_grant", "unauthorized_client", "unsupported_grant_type", "invalid_scope",
}

// strangers are the errors for a client that the provider does not know, or that may not do this.
var strangers = []string{"invalid_client", "unauthorized_client"}

func notVerified(why string) error {
	return fault.New(fault.SignInNotVerified, "the provider's answer does not prove who you are").WithCause(errors.New(why))
}

func away(cause error) error {
	return fault.New(fault.SignInProviderAway, "the answer of the provider is invalid").Retry().WithCause(cause)
}

// short truncates an error, which may repeat an answer.
func short(err error) error { return fmt.Errorf("%.200q", err.Error()) }
