package accounts

import (
	"context"
	"net/http"
	"slices"
	"time"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

const tokensCursor = "tokens"

// tokenFrom shows a token of a user with this role to a caller.
func tokenFrom(who server.Principal, role string) func(account.Token) shape.Token {
	return func(t account.Token) shape.Token {
		return shape.Token{
			ID: shape.ID(t.ID), Name: t.Name,
			Scopes:     shape.List(t.Grants(role), func(s account.Scope) string { return string(s) }),
			ExpiresAt:  shape.OptionalTime(t.ExpiresAt),
			LastUsedAt: shape.OptionalTime(t.LastUsedAt),
			Current:    t.ID == who.Token.ID, CreatedAt: t.CreatedAt.UTC(), ParentID: shape.OptionalID(t.ParentID),
		}
	}
}

type createTokenInput struct {
	Body tokenRequest `nameHint:"TokenRequest"`
}

// tokenRequest requests a token.
type tokenRequest struct {
	Name      string          `json:"name" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$" patternDescription:"text without control characters" example:"nightly import"`
	Scopes    []account.Scope `json:"scopes" minItems:"1" maxItems:"11" enum:"read,library,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"No duplicates, and none that the request's token lacks"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty" example:"2026-06-01T00:00:00Z" doc:"No later than the expiry of the request's token, which is the default"`
}

// TokenPath names one of the caller's tokens. Like all embedded types here it is exported for huma to see its fields.
type TokenPath struct {
	ID string `path:"id" example:"12" doc:"Token ID"`
}

type rotateTokenInput struct {
	TokenPath
	Body *tokenRotation `nameHint:"TokenRotation"`
}

type tokenRotation struct {
	GraceSeconds int64      `json:"grace_seconds,omitempty" minimum:"0" maximum:"604800" default:"0" doc:"How long the old secret stays valid alongside the new one"`
	ExpiresAt    *time.Time `json:"expires_at,omitempty" example:"2026-06-01T00:00:00Z" doc:"New expiry; omitted: unchanged"`
}

type userTokensInput struct {
	UserPath
	server.Paging
}

type userTokenInput struct {
	UserPath
	Token string `path:"token" example:"12" doc:"Token ID"`
}

// registerTokens adds the operations on a user's own tokens.
func (h *handlers) registerTokens() {
	tokens := server.Group{
		Server: h.Server, Tag: "Tokens", Access: server.ForUsers, Scope: account.ScopeTokens, Subject: "token",
	}

	server.Register(tokens, server.Operation{
		Id: "list-tokens", Route: "GET /v1/tokens", Scope: account.ScopeRead,
		Summary: "List your tokens, oldest first",
	}, h.listTokens)

	server.Register(tokens, server.Operation{
		Id: "list-token-descendants", Route: "GET /v1/tokens/{id}/descendants", Scope: account.ScopeRead,
		Summary: "List what was created with a token and ends with it",
		Description: "Tokens, agents and webhooks that were created with the token, directly or indirectly, and have not ended. The token must be yours or one of your " +
			"agents'; administrators may pass any token.",
		Faults: []fault.Code{fault.TokenNotFound},
	}, h.listDescendants)

	server.Register(tokens, server.Operation{
		Id: "create-token", Route: "POST /v1/tokens", Confirms: true, Status: http.StatusCreated,
		Summary:     "Create a token",
		Description: "The response contains its secret, shown only once. Its scopes and lifetime cannot exceed those of the request's token, and it ends with that token.",
		Faults:      []fault.Code{fault.QuotaExceeded},
	}, h.createToken)

	server.Register(tokens, server.Operation{
		Id: "create-sign-in-link", Route: "POST /v1/sign-in-links", Confirms: true, Status: http.StatusCreated,
		Summary:     "Create a link that signs you in to the web pages",
		Description: "It works once, within five minutes, and replaces the previous link. The session has the scopes of the request's token and ends with it.",
	}, h.createLink)

	server.RegisterSilent(tokens, server.Operation{
		Id: "revoke-token", Route: "DELETE /v1/tokens/{id}", Scope: server.AnyScope,
		Summary: "Revoke one of your tokens and everything created with it",
		Description: "Also ends its sessions and the tokens and agents created with it, and pauses the webhooks: list-token-descendants lists them. Any token may " +
			"revoke itself. Revoking another one takes the scope `tokens` and every scope of that token.",
		Faults: []fault.Code{fault.TokenNotFound, fault.TemporalUnavailable},
	}, h.revokeToken)

	server.Register(tokens, server.Operation{
		Id: "rotate-token", Route: "POST /v1/tokens/{id}/rotate", Confirms: true,
		Summary: "Rotate the secret of one of your tokens",
		Description: "The response contains the new secret, shown only once. ID, name, scopes and everything created with the token stay. It ends no later than the token that created it. " +
			"The old secret expires immediately, or after grace_seconds.",
		Faults: []fault.Code{fault.TokenNotFound, fault.InvalidTransition},
	}, h.rotateToken)
}

func (h *handlers) listTokens(ctx context.Context, in *struct{ server.Paging }) (shape.Page[shape.Token], error) {
	return h.tokensOf(ctx, server.Caller(ctx), in.Paging)
}

func (h *handlers) tokensOf(ctx context.Context, user account.User, in server.Paging) (shape.Page[shape.Token], error) {
	return server.ListOf(in, tokensCursor, func(after int64, limit int) ([]account.Token, error) {
		return h.Store.Accounts.Tokens(ctx, user.ID, after, limit)
	}, func(t account.Token) int64 { return t.ID }, tokenFrom(server.PrincipalOf(ctx), user.Role))
}

func (h *handlers) createToken(ctx context.Context, in *createTokenInput) (none shape.Token, err error) {
	wanted, err := newToken(ctx, in.Body.Name, in.Body.Scopes, in.Body.ExpiresAt)
	if err != nil {
		return none, err
	}

	who, secret := server.PrincipalOf(ctx), account.NewToken()
	made, err := h.Store.Accounts.CreateToken(ctx, wanted, secret)
	return server.Shown(made, err, withSecret(who, secret))
}

// newToken returns a token as requested: it grants no scope beyond the request's token, and does not outlive it.
func newToken(ctx context.Context, name string, scopes []account.Scope, expires *time.Time) (none account.Token, err error) {
	who := server.PrincipalOf(ctx)
	if err := eachOnce(scopes); err != nil {
		return none, err
	}
	if err := who.Require(scopes...); err != nil {
		return none, err
	}
	if err := noAdministrators(who, scopes); err != nil {
		return none, err
	}

	ends, err := endOf(who, expires, who.Token.ExpiresAt)
	return account.Token{
		UserID: who.User.ID, Name: name, Scopes: scopes, ExpiresAt: ends, ParentID: who.Maker().TokenID,
	}, err
}

// noAdministrators refuses tokens with administrator scopes to a session: whoever stole it could keep them.
func noAdministrators(who server.Principal, scopes []account.Scope) error {
	if who.Session == nil || roleAllows(account.RoleUser, scopes) == nil {
		return nil
	}
	return fault.New(
		fault.InsufficientAccess, "the pages give out no token of an administrator: use the command line or the API with a token",
	)
}

// eachOnce refuses a duplicate scope. Huma's uniqueItems fails on a list whose items have an incomparable type.
func eachOnce(scopes []account.Scope) error {
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) {
			return fault.Invalid("scopes", "the scope %s is listed twice", scope)
		}
	}
	return nil
}

// withSecret shows the caller one of their tokens with its new secret.
func withSecret(who server.Principal, secret string) func(account.Token) shape.Token {
	return func(t account.Token) shape.Token {
		body := tokenFrom(who, who.User.Role)(t)
		body.Token = secret
		return body
	}
}

// endOf returns the expiry of a new token: as requested, or the default. It may not be later than that of the request's
// token.
func endOf(who server.Principal, asked, usual *time.Time) (*time.Time, error) {
	ends := usual
	if asked != nil {
		ends = asked
		if !asked.After(time.Now()) {
			return nil, fault.Invalid("expires_at", "this time has passed")
		}
	}

	if most := who.Token.ExpiresAt; most != nil && (ends == nil || ends.After(*most)) {
		return nil, fault.Invalid("expires_at", "a token cannot outlive the one that creates it")
	}

	return ends, nil
}

// ownToken returns a token of the caller that grants no more than the request's token.
func (h *handlers) ownToken(ctx context.Context, id string) (account.Token, error) {
	who := server.PrincipalOf(ctx)
	token, err := h.Store.Accounts.TokenByID(ctx, who.User.ID, server.PathID(id))
	if err != nil {
		return token, err
	}
	return token, who.Require(token.Grants(who.User.Role)...)
}

// mayEnd refuses to revoke a token that grants more than the request's token, at every endpoint that revokes tokens.
// Any token may revoke itself; revoking others of one's own, or of one's agents, requires the tokens scope.
func mayEnd(ctx context.Context, owner account.User, token account.Token) error {
	who := server.PrincipalOf(ctx)
	if token.ID == who.Token.ID {
		return nil
	}

	needed := token.Grants(owner.Role)
	if (owner.ID == who.User.ID || shape.Value(owner.OwnerID) == who.User.ID) && !slices.Contains(needed, account.ScopeTokens) {
		needed = append(needed, account.ScopeTokens)
	}
	return who.Require(needed...)
}

// endToken revokes a user's token, and everything created with it.
func (h *handlers) endToken(ctx context.Context, owner account.User, id int64) (ended account.Ended, err error) {
	token, err := h.Store.Accounts.TokenByID(ctx, owner.ID, id)
	if err != nil {
		return ended, err
	}
	if err := mayEnd(ctx, owner, token); err != nil {
		return ended, err
	}
	return h.Store.Accounts.RevokeToken(ctx, owner.ID, token.ID, server.Caller(ctx).ID)
}

// ended audits the revocation of a token, an agent or a user, and ends the work of the agents among what ended with it.
// What only the administrator role allowed is always audited.
func (h *handlers) ended(ctx context.Context, subject string, foreign bool, ended account.Ended) error {
	switch {
	case !ended.None():
		h.DoneWith(ctx, subject, ended.String())
	case foreign:
		h.Done(ctx, subject)
	}

	for _, agent := range ended.Agents {
		if err := h.release(ctx, agent); err != nil {
			return err
		}
	}
	return nil
}

// release ends a user's work, or releases it to others.
func (h *handlers) release(ctx context.Context, user account.User) error {
	for _, workload := range h.workloads {
		if err := workload.Release(ctx, user); err != nil {
			return err
		}
	}
	return nil
}

func (h *handlers) revokeToken(ctx context.Context, in *TokenPath) error {
	ended, err := h.endToken(ctx, server.Caller(ctx), server.PathID(in.ID))
	if err != nil {
		return err
	}
	return h.ended(ctx, in.ID, false, ended)
}

// maxDescendants is how many of them are listed. All of them are counted.
const maxDescendants = 200

func (h *handlers) listDescendants(ctx context.Context, in *TokenPath) (none shape.Descendants, err error) {
	who := server.PrincipalOf(ctx)
	owner, token, err := h.Store.Accounts.AnyToken(ctx, server.PathID(in.ID))
	if err != nil {
		return none, err
	}

	own := owner.ID == who.User.ID || shape.Value(owner.OwnerID) == who.User.ID
	if !own && (!who.User.IsAdmin() || who.Require(account.ScopeUsers) != nil) {
		return none, account.NoToken
	}

	some, counts, err := h.Store.Accounts.Descendants(ctx, token.ID, maxDescendants)
	return shape.Descendants{
		Tokens: counts[account.MadeToken], Agents: counts[account.MadeAgent], Webhooks: counts[account.MadeWebhook],
		Users: counts[account.MadeUser], Items: shape.List(some, descendantFrom),
	}, err
}

func descendantFrom(d account.Descendant) shape.Descendant {
	return shape.Descendant{Kind: d.Kind, ID: shape.ID(d.ID), Name: d.Name, UserID: shape.ID(d.UserID)}
}

func (h *handlers) rotateToken(ctx context.Context, in *rotateTokenInput) (none shape.Token, err error) {
	token, err := h.ownToken(ctx, in.ID)
	if err != nil {
		return none, err
	}
	if token.Configured {
		return none, fault.New(
			fault.InvalidTransition, "this token comes from the configuration: change STAGECOACH_ADMIN_TOKEN",
		)
	}

	asked, who := shape.Value(in.Body), server.PrincipalOf(ctx)
	if err := noAdministrators(who, token.Grants(who.User.Role)); err != nil {
		return none, err
	}
	if token.ExpiresAt, err = endOf(who, asked.ExpiresAt, token.ExpiresAt); err != nil {
		return none, err
	}

	secret := account.NewToken()
	rotated, err := h.Store.Accounts.RotateToken(ctx, token, secret, time.Duration(asked.GraceSeconds)*time.Second, who.Maker())
	return server.Shown(rotated, err, withSecret(who, secret))
}

func (h *handlers) listUserTokens(ctx context.Context, in *userTokensInput) (none shape.Page[shape.Token], err error) {
	user, err := h.Store.Accounts.UserByID(ctx, server.PathID(in.ID))
	if err != nil {
		return none, err
	}
	return h.tokensOf(ctx, user, in.Paging)
}

func (h *handlers) revokeUserToken(ctx context.Context, in *userTokenInput) error {
	id, err := server.UserID(in.ID)
	if err != nil {
		return err
	}
	user, err := h.Store.Accounts.UserByID(ctx, id)
	if fault.CodeOf(err) == fault.UserNotFound {
		err = account.NoToken
	}
	if err != nil {
		return err
	}

	ended, err := h.endToken(ctx, user, server.PathID(in.Token))
	if err != nil {
		return err
	}
	return h.ended(ctx, in.ID, true, ended)
}
