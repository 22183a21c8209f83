package rest

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

const tokensCursor = "tokens"

// tokenFrom shows a token of a user of this role.
func (p principal) tokenFrom(role string) func(store.Token) shape.Token {
	return func(t store.Token) shape.Token {
		return shape.Token{
			ID: formatID(t.ID), Name: t.Name, Scopes: mapped(t.Grants(role), func(s store.Scope) string { return string(s) }),
			ExpiresAt:  optionalUTC(t.ExpiresAt),
			LastUsedAt: optionalUTC(t.LastUsedAt),
			Current:    t.ID == p.token.ID, CreatedAt: utc(t.CreatedAt),
		}
	}
}

type createTokenInput struct {
	Body struct {
		Name      string        `json:"name" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$" patternDescription:"text without control characters" example:"nightly import"`
		Scopes    []store.Scope `json:"scopes" minItems:"1" maxItems:"9" enum:"read,files,deliveries,tasks,downloads,webhooks,money,operate,users" doc:"Each once, and at most those of the token of this request"`
		ExpiresAt *time.Time    `json:"expires_at,omitempty" example:"2026-06-01T00:00:00Z" doc:"At the latest when the token of this request ends, which is the default"`
	} `nameHint:"TokenRequest"`
}

// TokenPath names a token of the caller's. It is exported, as all embedded types here, for huma to see its fields.
type TokenPath struct {
	ID string `path:"id" example:"12" doc:"The id of a token"`
}

type tokenInput struct{ TokenPath }

type rotateTokenInput struct {
	TokenPath
	Body *tokenRotation `nameHint:"TokenRotation"`
}

type tokenRotation struct {
	GraceSeconds int64      `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" default:"0" doc:"How long the old secret is good besides the new one"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty" example:"2026-06-01T00:00:00Z" doc:"Another end; left out: as it was"`
}

type userTokensInput struct {
	UserPath
	Paging
}

type userTokenInput struct {
	UserPath
	Token string `path:"token" example:"12" doc:"The id of a token"`
}

var (
	listTokens = operation{
		id: "list-tokens", method: http.MethodGet, path: "/v1/tokens", tag: "Tokens", access: forUsers, scope: anyScope,
		summary: "List your tokens, the oldest first",
	}
	createToken = operation{
		id: "create-token", method: http.MethodPost, path: "/v1/tokens", tag: "Tokens", access: forUsers, scope: anyScope,
		status:      http.StatusCreated,
		summary:     "Make a token of yours",
		description: "The answer holds its secret, this once. It grants no scope, and lasts no longer, than the token of the request.",
		faults:      []fault.Code{fault.QuotaExceeded},
	}
	revokeToken = operation{
		id: "revoke-token", method: http.MethodDelete, path: "/v1/tokens/{id}", tag: "Tokens", access: forUsers,
		scope: anyScope, subject: "token", status: http.StatusNoContent,
		summary:     "End a token of yours at once",
		description: "Not one with a scope that the token of the request does not have.",
		faults:      []fault.Code{fault.TokenNotFound},
	}
	rotateToken = operation{
		id: "rotate-token", method: http.MethodPost, path: "/v1/tokens/{id}/rotate", tag: "Tokens", access: forUsers,
		scope: anyScope, subject: "token",
		summary: "Give a token of yours another secret", faults: []fault.Code{fault.TokenNotFound, fault.InvalidTransition},
		description: "The answer holds it, this once. Id, name and scopes stay. The old secret ends at once, or after grace_seconds.",
	}
	listUserTokens = operation{
		id: "list-user-tokens", method: http.MethodGet, path: "/v1/users/{id}/tokens", tag: "Users", access: forAdmins,
		scope: store.ScopeUsers, subject: "user",
		summary: "List a user's tokens, the oldest first", faults: []fault.Code{fault.UserNotFound},
	}
	revokeUserToken = operation{
		id: "revoke-user-token", method: http.MethodDelete, path: "/v1/users/{id}/tokens/{token}", tag: "Users",
		access: forAdmins, scope: store.ScopeUsers, subject: "user",
		status: http.StatusNoContent, summary: "End a user's token at once",
		faults: []fault.Code{fault.UserNotFound, fault.TokenNotFound},
	}
)

func (s *server) registerTokens() {
	register(s, listTokens, s.listTokens)
	register(s, createToken, s.createToken)
	register(s, revokeToken, s.revokeToken)
	register(s, rotateToken, s.rotateToken)
	register(s, listUserTokens, s.listUserTokens)
	register(s, revokeUserToken, s.revokeUserToken)
}

func (s *server) listTokens(ctx context.Context, in *struct{ Paging }) (*answer[shape.Page[shape.Token]], error) {
	return s.tokensOf(ctx, caller(ctx), in.Paging)
}

func (s *server) tokensOf(ctx context.Context, user store.User, in Paging) (*answer[shape.Page[shape.Token]], error) {
	return listOf(in, tokensCursor, func(after int64, limit int) ([]store.Token, error) {
		return s.o.Store.Tokens(ctx, user.ID, after, limit)
	}, func(t store.Token) int64 { return t.ID }, principalOf(ctx).tokenFrom(user.Role))
}

func (s *server) createToken(ctx context.Context, in *createTokenInput) (*answer[shape.Token], error) {
	who := principalOf(ctx)
	if err := eachOnce(in.Body.Scopes); err != nil {
		return nil, err
	}
	if err := who.require(in.Body.Scopes...); err != nil {
		return nil, err
	}

	ends, err := who.end(in.Body.ExpiresAt, who.token.ExpiresAt)
	if err != nil {
		return nil, err
	}

	secret := store.NewToken()
	made, err := s.o.Store.CreateToken(
		ctx, store.Token{UserID: who.user.ID, Name: in.Body.Name, Scopes: in.Body.Scopes, ExpiresAt: ends}, secret,
	)
	if err != nil {
		return nil, err
	}

	return answered(who.withSecret(made, secret)), nil
}

// eachOnce refuses a scope that is named twice. Huma's uniqueItems fails on a list whose items have no type that can be
// compared.
func eachOnce(scopes []store.Scope) error {
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) {
			return fault.New(fault.Validation, "the scope %s is named twice", scope).WithField("scopes")
		}
	}
	return nil
}

func (p principal) withSecret(t store.Token, secret string) shape.Token {
	body := p.tokenFrom(p.user.Role)(t)
	body.Token = secret
	return body
}

// end gives when a token is to end: as asked, or as usual. It lasts no longer than the one of the request.
func (p principal) end(asked, usual *time.Time) (*time.Time, error) {
	ends := usual
	if asked != nil {
		ends = asked
		if !asked.After(time.Now()) {
			return nil, fault.New(fault.Validation, "this time is over").WithField("expires_at")
		}
	}

	if most := p.token.ExpiresAt; most != nil && (ends == nil || ends.After(*most)) {
		return nil, fault.New(
			fault.Validation, "the token would last longer than the one of this request",
		).WithField("expires_at")
	}

	return ends, nil
}

// ownToken finds a token of the caller's that grants no more than the caller's current one.
func (s *server) ownToken(ctx context.Context, id string) (store.Token, error) {
	number, ok := parseID(id)
	if !ok {
		return store.Token{}, fault.New(fault.TokenNotFound, "there is no such token")
	}
	who := principalOf(ctx)
	token, err := s.o.Store.TokenByID(ctx, who.user.ID, number)
	if err != nil {
		return token, err
	}
	return token, who.require(token.Grants(who.user.Role)...)
}

func (s *server) revokeToken(ctx context.Context, in *tokenInput) (*struct{}, error) {
	token, err := s.ownToken(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	user := caller(ctx)
	return &struct{}{}, s.o.Store.RevokeToken(ctx, user.ID, token.ID, user.ID)
}

func (s *server) rotateToken(ctx context.Context, in *rotateTokenInput) (*answer[shape.Token], error) {
	token, err := s.ownToken(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if token.Configured {
		return nil, fault.New(
			fault.InvalidTransition, "this token comes from the configuration: change STAGECOACH_ADMIN_TOKEN",
		)
	}

	var asked tokenRotation
	if in.Body != nil {
		asked = *in.Body
	}

	who := principalOf(ctx)
	if token.ExpiresAt, err = who.end(asked.ExpiresAt, token.ExpiresAt); err != nil {
		return nil, err
	}

	secret := store.NewToken()
	rotated, err := s.o.Store.RotateToken(ctx, token, secret, time.Duration(asked.GraceSeconds)*time.Second)
	if err != nil {
		return nil, err
	}

	return answered(who.withSecret(rotated, secret)), nil
}

func (s *server) listUserTokens(ctx context.Context, in *userTokensInput) (*answer[shape.Page[shape.Token]], error) {
	id, err := userID(in.ID)
	if err != nil {
		return nil, err
	}
	user, err := s.o.Store.UserByID(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.tokensOf(ctx, user, in.Paging)
}

func (s *server) revokeUserToken(ctx context.Context, in *userTokenInput) (*struct{}, error) {
	user, err := userID(in.ID)
	if err != nil {
		return nil, err
	}

	token, ok := parseID(in.Token)
	if !ok {
		return nil, fault.New(fault.TokenNotFound, "there is no such token")
	}
	if err := s.o.Store.RevokeToken(ctx, user, token, caller(ctx).ID); err != nil {
		return nil, err
	}

	s.audit(ctx, caller(ctx), revokeUserToken, in.ID, store.OutcomeDone)
	return &struct{}{}, nil
}
