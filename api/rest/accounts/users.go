package accounts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/service"
	"stagecoach/internal/store/account"
)

const usersCursor = "users"

func userFrom(u account.User) shape.User {
	return shape.User{
		ID: shape.ID(u.ID), Name: u.Name, TelegramID: shape.OptionalID(u.TelegramID), Language: u.Language,
		Role: u.Role, Status: u.Status, OwnerID: shape.OptionalID(u.OwnerID), CreatedAt: u.CreatedAt.UTC(), ForgottenAt: shape.OptionalTime(u.ForgottenAt),
	}
}

func userWithToken(u account.User, token string) shape.User {
	body := userFrom(u)
	body.Token = token
	return body
}

// telegramID is accepted as text, like all ids, or as the number that Telegram itself shows.
type telegramID int64

// Schema implements huma.SchemaProvider.
func (telegramID) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(1<<52)
	return &huma.Schema{
		Description: "Telegram account ID, as a string or a number", Examples: []any{"123456789"},
		AnyOf: []*huma.Schema{
			{Type: huma.TypeString, Pattern: "^[1-9][0-9]{0,14}$"},
			{Type: huma.TypeInteger, Minimum: &least, Maximum: &most},
		},
	}
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *telegramID) UnmarshalJSON(data []byte) error {
	var number float64
	if err := json.Unmarshal(bytes.Trim(data, `"`), &number); err != nil || number < 1 || number > 1<<52 {
		return errors.New("this is not the id of a Telegram account")
	}
	*t = telegramID(number)
	return nil
}

type createUserInput struct {
	Body struct {
		Name       string           `json:"name" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Ada"`
		TelegramID *telegramID      `json:"telegram_id,omitempty"`
		Role       string           `json:"role,omitempty" enum:"USER,ADMIN" default:"USER"`
		Scopes     *[]account.Scope `json:"scopes,omitempty" maxItems:"11" enum:"read,library,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"Scopes of the user's token, without duplicates; omitted: all that the role allows; empty: no token"`
		Language   string           `json:"language,omitempty" enum:"en,ru" default:"en"`
	} `nameHint:"UserRequest"`
}

// UserPath names a user. Like all embedded types here it is exported for huma to see its fields.
type UserPath struct {
	ID string `path:"id" example:"3" doc:"User ID"`
}

type changeUserInput struct {
	UserPath
	Body struct {
		Name     string `json:"name,omitempty" minLength:"1" maxLength:"100" pattern:"^[^\\p{Cc}]*[^\\p{Cc}\\s][^\\p{Cc}]*$" patternDescription:"text without control characters" example:"Ada"`
		Role     string `json:"role,omitempty" enum:"USER,ADMIN"`
		Status   string `json:"status,omitempty" enum:"PENDING,ACTIVE,BLOCKED"`
		Language string `json:"language,omitempty" enum:"en,ru"`
	} `nameHint:"UserChange"`
}

type listUsersInput struct {
	server.Paging
	Status string `query:"status" enum:"PENDING,ACTIVE,BLOCKED" doc:"Only users with this status"`
}

// handlers implement the operations on users and tokens.
type handlers struct {
	*server.Server
	workloads []service.Workload
	onBlocked func(ctx context.Context, userID int64) // may be nil
}

// Register adds the operations on users and tokens to an API.
func Register(s *server.Server, workloads []service.Workload, onBlocked func(ctx context.Context, userID int64)) {
	h := &handlers{Server: s, workloads: workloads, onBlocked: onBlocked}

	server.Register(server.Group{Server: s, Tag: "Overview", Access: server.ForUsers, Scope: account.ScopeRead}, server.Operation{
		Id: "get-overview", Route: "GET /v1/overview",
		Summary:     "Count work in progress",
		Description: "Counts your own; for administrators, everyone's.",
	}, h.getOverview)

	h.registerUsers()
	h.registerTokens()
	h.registerAgents()
}

// registerUsers adds the operations on users.
func (h *handlers) registerUsers() {
	users := server.Group{
		Server: h.Server, Tag: "Users", Access: server.ForAdmins, Scope: account.ScopeUsers, Subject: "user",
	}

	server.Register(users, server.Operation{
		Id: "create-user", Route: "POST /v1/users", Confirms: true, Status: http.StatusCreated,
		Summary:     "Add an ACTIVE user",
		Description: "The response contains the user's API token, shown only once. Its scopes and lifetime cannot exceed those of the request's token, and it ends with that token.",
		Faults:      []fault.Code{fault.UserExists},
	}, h.createUser)

	server.Register(users, server.Operation{
		Id: "list-users", Route: "GET /v1/users",
		Summary: "List users, oldest first",
	}, h.listUsers)

	server.Register(users, server.Operation{
		Id: "get-user", Route: "GET /v1/users/{id}",
		Summary: "Get a user", Faults: []fault.Code{fault.UserNotFound},
	}, h.getUser)

	server.Register(users, server.Operation{
		Id: "change-user", Route: "PATCH /v1/users/{id}", Confirms: true,
		Summary:     "Approve, block, promote or rename a user",
		Description: "Omitted fields stay unchanged. Administrators cannot change their own role or status, and the last administrator stays.",
		Faults:      []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	}, h.changeUser)

	server.Register(users, server.Operation{
		Id: "renew-user-token", Route: "POST /v1/users/{id}/token", Confirms: true,
		Summary: "Give a user a new API token",
		Description: "The response contains the token, shown only once. It grants everything that the user's role allows; the request's token must grant that too, and the new token ends with it. " +
			"It replaces the secret of the token created with the user; everything created with that token, and the user's other tokens, stay. " +
			"The token in the configuration cannot be renewed here: change STAGECOACH_ADMIN_TOKEN.",
		Faults: []fault.Code{fault.UserNotFound, fault.InvalidTransition},
	}, h.renewToken)

	server.Register(users, server.Operation{
		Id: "forget-user", Route: "POST /v1/users/{id}/forget", Confirms: true,
		Summary: "Anonymise a person permanently",
		Description: "Immediately deletes the name, Telegram account, provider identity, tokens, conversations, notifications, memberships, links and comments on tasks; the user becomes BLOCKED and " +
			"can no longer be changed. Cancels active deliveries and downloads and returns tasks in progress to NEW. Titles and proof of where money went stay. " +
			"If Temporal is unavailable, the user is forgotten but the call fails: repeat the request to end what is still running. Idempotent.",
		Faults: []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	}, h.forgetUser)

	server.Register(users, server.Operation{
		Id: "list-user-tokens", Route: "GET /v1/users/{id}/tokens",
		Summary: "List a user's tokens, oldest first", Faults: []fault.Code{fault.UserNotFound},
	}, h.listUserTokens)

	server.RegisterSilent(users, server.Operation{
		Id: "revoke-user-token", Route: "DELETE /v1/users/{id}/tokens/{token}",
		Summary:     "Revoke a user's token and everything created with it",
		Description: "The request's token needs every scope of the token that it revokes.",
		Faults:      []fault.Code{fault.UserNotFound, fault.TokenNotFound, fault.TemporalUnavailable},
	}, h.revokeUserToken)
}

func (h *handlers) createUser(ctx context.Context, in *createUserInput) (none shape.User, err error) {
	first, secret, err := firstToken(ctx, in.Body.Role, in.Body.Scopes)
	if err != nil {
		return none, err
	}
	if in.Body.Role == account.RoleAdmin && in.Body.TelegramID != nil {
		if err := mayMakeEndless(ctx); err != nil {
			return none, err
		}
	}

	user, err := h.Store.Accounts.AddUser(ctx, account.User{
		Name: in.Body.Name, TelegramID: (*int64)(in.Body.TelegramID), Role: in.Body.Role, Language: in.Body.Language,
		Status: account.UserActive,
	}, first, secret)
	if err != nil {
		return none, err
	}

	h.Done(ctx, shape.ID(user.ID))
	return userWithToken(user, secret), nil
}

// firstToken returns a new user's token with the requested scopes, or with all that the role allows if none are given.
// It grants no more than the caller's own token, and does not outlive it. An empty secret: the user gets no token.
func firstToken(
	ctx context.Context, role string, asked *[]account.Scope,
) (first account.Token, secret string, err error) {
	if role == account.RoleAdmin { // their later tokens may grant everything
		if err := server.PrincipalOf(ctx).Require(account.Scopes...); err != nil {
			return first, "", err
		}
	}

	scopes := account.ScopesOf(role)
	if asked != nil {
		scopes = *asked
	}
	if err := eachOnce(scopes); err != nil {
		return first, "", err
	}
	if err := roleAllows(role, scopes); err != nil {
		return first, "", err
	}

	if first, err = newToken(ctx, "first", scopes, nil); err != nil || len(scopes) == 0 {
		return first, "", err
	}
	return first, account.NewToken(), nil
}

// roleAllows refuses scopes that a role does not include.
func roleAllows(role string, scopes []account.Scope) error {
	allowed := account.ScopesOf(role)
	for _, scope := range scopes {
		if !slices.Contains(allowed, scope) {
			return fault.Invalid("scopes", "the role %s does not allow the scope %s", role, scope)
		}
	}
	return nil
}

func (h *handlers) listUsers(ctx context.Context, in *listUsersInput) (shape.Page[shape.User], error) {
	return server.ListOf(in.Paging, usersCursor, func(after int64, limit int) ([]account.User, error) {
		return h.Store.Accounts.Users(ctx, in.Status, after, limit)
	}, func(u account.User) int64 { return u.ID }, h.userWithLogName)
}

// userWithLogName shows a user together with their pseudonym in the logs, for administrators.
func (h *handlers) userWithLogName(u account.User) shape.User {
	body := userFrom(u)
	body.LogName = h.Store.Accounts.LogName(u)
	return body
}

func (h *handlers) getUser(ctx context.Context, in *UserPath) (shape.User, error) {
	user, err := h.Store.Accounts.UserByID(ctx, server.PathID(in.ID))
	return server.Shown(user, err, h.userWithLogName)
}

func (h *handlers) changeUser(ctx context.Context, in *changeUserInput) (none shape.User, err error) {
	change := account.UserChange{
		Name: in.Body.Name, Language: in.Body.Language, Role: in.Body.Role, Status: in.Body.Status,
	}
	if change == (account.UserChange{}) {
		return none, fault.Invalid("body", "give at least one of name, role, status and language")
	}

	id := server.PathID(in.ID)
	admin := server.Caller(ctx)
	if id == admin.ID {
		if change.Role != "" && change.Role != account.RoleAdmin {
			return none, fault.New(fault.OwnAccess, "another administrator has to change your role").WithField("role")
		}
		if change.Status != "" && change.Status != account.UserActive {
			return none, fault.New(fault.OwnAccess, "another administrator has to change your status").WithField("status")
		}
	}

	if err := h.mayEmpower(ctx, id, change); err != nil {
		return none, err
	}

	if change.Role == account.RoleAdmin {
		if err := h.noAgent(ctx, id); err != nil {
			return none, err
		}
	}

	user, err := h.Store.Accounts.UserByID(ctx, id)
	if err != nil {
		return none, err
	}
	if change.Language == user.Language { // a form sends it with every change: it is not a choice
		change.Language = ""
	}

	change.TokenID = server.PrincipalOf(ctx).Maker().TokenID
	if user, err = h.Store.Accounts.ChangeUser(ctx, id, change); err != nil {
		return none, err
	}
	if user.Status != account.UserActive && h.onBlocked != nil {
		h.onBlocked(ctx, id)
	}

	h.Done(ctx, in.ID)
	return userFrom(user), nil
}

func (h *handlers) renewToken(ctx context.Context, in *UserPath) (none shape.User, err error) {
	id := server.PathID(in.ID)
	user, err := h.Store.Accounts.UserByID(ctx, id)
	if err != nil {
		return none, err
	}
	wanted, err := newToken(ctx, "first", account.ScopesOf(user.Role), nil)
	if err != nil {
		return none, err
	}

	wanted.UserID = id
	secret := account.NewToken()
	if user, err = h.Store.Accounts.RenewToken(ctx, wanted, secret); err != nil {
		return none, err
	}

	h.Done(ctx, in.ID)
	return userWithToken(user, secret), nil
}

// mayMakeEndless refuses a token that expires to create what would outlive it: an administrator with their own access.
func mayMakeEndless(ctx context.Context) error {
	if server.PrincipalOf(ctx).TokenEnds() == nil {
		return nil
	}
	return fault.New(
		fault.InsufficientAccess, "a token that expires cannot create a lasting administrator: use one without an expiry, or omit telegram_id",
	)
}

// mayEmpower refuses to make an administrator with a token that does not grant every administrator scope, because the
// new administrator's tokens would have them all, and with a token that expires.
func (h *handlers) mayEmpower(ctx context.Context, id int64, change account.UserChange) error {
	admin := change.Role == account.RoleAdmin
	if change.Role == "" && change.Status == account.UserActive {
		user, err := h.Store.Accounts.UserByID(ctx, id)
		if err != nil {
			return err
		}
		admin = user.Role == account.RoleAdmin
	}

	if !admin {
		return nil
	}
	if err := mayMakeEndless(ctx); err != nil {
		return err
	}
	return server.PrincipalOf(ctx).Require(account.Scopes...)
}
