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

// tokenFrom shows a token of a user of this role to a caller.
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

// tokenRequest asks for a token.
type tokenRequest struct {
	Name      string          `json:"name" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$" patternDescription:"text without control characters" example:"nightly import"`
	Scopes    []account.Scope `json:"scopes" minItems:"1" maxItems:"10" enum:"read,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"Each once, and at most those of the token of this request"`
	ExpiresAt *time.Time      `json:"expires_at,omitempty" example:"2026-06-01T00:00:00Z" doc:"At the latest when the token of this request ends, which is the default"`
}

// TokenPath names a token of the caller's. It is exported, as all embedded types here, for huma to see its fields.
type TokenPath struct {
	ID string `path:"id" example:"12" doc:"The id of a token"`
}

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
	server.Paging
}

type userTokenInput struct {
	UserPath
	Token string `path:"token" example:"12" doc:"The id of a token"`
}

// registerTokens adds the operations of a user's own tokens.
func (h *handlers) registerTokens() {
	tokens := server.Group{
		Server: h.Server, Tag: "Tokens", Access: server.ForUsers, Scope: account.ScopeTokens, Subject: "token",
	}

	server.Register(tokens, server.Operation{
		Id: "list-tokens", Route: "GET /v1/tokens", Scope: account.ScopeRead,
		Summary: "List your tokens, the oldest first",
	}, h.listTokens)

	server.Register(tokens, server.Operation{
		Id: "list-token-descendants", Route: "GET /v1/tokens/{id}/descendants", Scope: account.ScopeRead,
		Summary: "List what a token has made, which ends with it",
		Description: "Tokens, agents and webhooks that were made with the token, or with those, and have not ended. The token is yours, or one of your " +
			"agents'; administrators see those of anybody.",
		Faults: []fault.Code{fault.TokenNotFound},
	}, h.listDescendants)

	server.Register(tokens, server.Operation{
		Id: "create-token", Route: "POST /v1/tokens", Confirms: true, Status: http.StatusCreated,
		Summary:     "Make a token of yours",
		Description: "The answer holds its secret, this once. It grants no scope, and lasts no longer, than the token of the request, and ends with it.",
		Faults:      []fault.Code{fault.QuotaExceeded},
	}, h.createToken)

	server.Register(tokens, server.Operation{
		Id: "create-sign-in-link", Route: "POST /v1/sign-in-links", Confirms: true, Status: http.StatusCreated,
		Summary:     "Make a link that signs you in on the pages",
		Description: "It works once, within five minutes, and replaces the link before. The session grants what the token of the request grants, and ends with it.",
	}, h.createLink)

	server.RegisterSilent(tokens, server.Operation{
		Id: "revoke-token", Route: "DELETE /v1/tokens/{id}", Scope: server.AnyScope,
		Summary: "End a token of yours at once, and all that it has made",
		Description: "Its sessions, and the tokens, agents and webhooks that were made with it, end too: list-token-descendants says which. Any token may " +
			"end itself. To end another one takes the scope `tokens`, and each scope that it has.",
		Faults: []fault.Code{fault.TokenNotFound, fault.TemporalUnavailable},
	}, h.revokeToken)

	server.Register(tokens, server.Operation{
		Id: "rotate-token", Route: "POST /v1/tokens/{id}/rotate", Confirms: true,
		Summary: "Give a token of yours another secret",
		Description: "The answer holds it, this once. Id, name, scopes, and what the token has made stay. It ends no later than the token that made it. " +
			"The old secret ends at once, or after grace_seconds.",
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

// newToken is a token as it was asked for: it grants no scope, and lasts no longer, than the one of the request.
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

// noAdministrators refuses to a session a token with scopes of administrators: who has stolen it would keep them.
func noAdministrators(who server.Principal, scopes []account.Scope) error {
	if who.Session == nil || roleAllows(account.RoleUser, scopes) == nil {
		return nil
	}
	return fault.New(
		fault.InsufficientAccess, "the pages give out no token of an administrator: use the command line or the API with a token",
	)
}

// eachOnce refuses a scope that is named twice. Huma's uniqueItems fails on a list whose items have no type that can be
// compared.
func eachOnce(scopes []account.Scope) error {
	for i, scope := range scopes {
		if slices.Contains(scopes[:i], scope) {
			return fault.Invalid("scopes", "the scope %s is named twice", scope)
		}
	}
	return nil
}

// withSecret shows the caller a token of theirs that has just got this secret.
func withSecret(who server.Principal, secret string) func(account.Token) shape.Token {
	return func(t account.Token) shape.Token {
		body := tokenFrom(who, who.User.Role)(t)
		body.Token = secret
		return body
	}
}

// endOf gives when a token is to end: as asked, or as usual. It lasts no longer than the one of the request.
func endOf(who server.Principal, asked, usual *time.Time) (*time.Time, error) {
	ends := usual
	if asked != nil {
		ends = asked
		if !asked.After(time.Now()) {
			return nil, fault.Invalid("expires_at", "this time is over")
		}
	}

	if most := who.Token.ExpiresAt; most != nil && (ends == nil || ends.After(*most)) {
		return nil, fault.Invalid("expires_at", "the token would last longer than the one of this request")
	}

	return ends, nil
}

// ownToken finds a token of the caller's that grants no more than the caller's current one.
func (h *handlers) ownToken(ctx context.Context, id string) (account.Token, error) {
	who := server.PrincipalOf(ctx)
	token, err := h.Store.Accounts.TokenByID(ctx, who.User.ID, server.PathID(id))
	if err != nil {
		return token, err
	}
	return token, who.Require(token.Grants(who.User.Role)...)
}

// mayEnd refuses to end a token that grants more than that of the request, at each address at which one is ended. Any
// token may end itself; to end others of one's own, or of one's agents, is managing tokens.
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

// endToken ends a token of a user, and all that it has made.
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

// ended audits what has ended with a token, an agent or a user, and ends what the agents among it do. What only an
// administrator's right has allowed is audited in any case.
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

// release ends what a user does, or returns it to others.
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

// maxDescendants is how many of them are listed. All are counted.
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
