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

// telegramID comes as text, as all ids do, or as the number that Telegram itself shows.
type telegramID int64

// Schema implements huma.SchemaProvider.
func (telegramID) Schema(huma.Registry) *huma.Schema {
	least, most := 1.0, float64(1<<52)
	return &huma.Schema{
		Description: "The id of a Telegram account, as text or as a number", Examples: []any{"123456789"},
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
		Scopes     *[]account.Scope `json:"scopes,omitempty" maxItems:"10" enum:"read,files,deliveries,tasks,downloads,webhooks,tokens,money,operate,users" doc:"Of the user's token, each once; left out: all that the role allows; empty: no token"`
		Language   string           `json:"language,omitempty" enum:"en,ru" default:"en"`
	} `nameHint:"UserRequest"`
}

// UserPath names a user. It is exported, as all embedded types here, for huma to see its fields.
type UserPath struct {
	ID string `path:"id" example:"3" doc:"The id of a user"`
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
	Status string `query:"status" enum:"PENDING,ACTIVE,BLOCKED" doc:"Only those with this status"`
}

// handlers answer the operations of users and tokens.
type handlers struct {
	*server.Server
	workloads []service.Workload
	onBlocked func(ctx context.Context, userID int64) // may be nil
}

// Register adds the operations of users and tokens to an API.
func Register(s *server.Server, workloads []service.Workload, onBlocked func(ctx context.Context, userID int64)) {
	h := &handlers{Server: s, workloads: workloads, onBlocked: onBlocked}

	server.Register(server.Group{Server: s, Tag: "Overview", Access: server.ForUsers, Scope: account.ScopeRead}, server.Operation{
		Id: "get-overview", Route: "GET /v1/overview",
		Summary:     "Get how much is under way",
		Description: "Counts what is yours; for administrators, what is anybody's.",
	}, h.getOverview)

	h.registerUsers()
	h.registerTokens()
	h.registerAgents()
}

// registerUsers adds the operations of users.
func (h *handlers) registerUsers() {
	users := server.Group{
		Server: h.Server, Tag: "Users", Access: server.ForAdmins, Scope: account.ScopeUsers, Subject: "user",
	}

	server.Register(users, server.Operation{
		Id: "create-user", Route: "POST /v1/users", Confirms: true, Status: http.StatusCreated,
		Summary:     "Add a user, who is ACTIVE at once",
		Description: "The answer holds the user's API token, this once. It grants no scope, and lasts no longer, than the token of the request, and ends with it.",
		Faults:      []fault.Code{fault.UserExists},
	}, h.createUser)

	server.Register(users, server.Operation{
		Id: "list-users", Route: "GET /v1/users",
		Summary: "List users, the oldest first",
	}, h.listUsers)

	server.Register(users, server.Operation{
		Id: "get-user", Route: "GET /v1/users/{id}",
		Summary: "Get a user", Faults: []fault.Code{fault.UserNotFound},
	}, h.getUser)

	server.Register(users, server.Operation{
		Id: "change-user", Route: "PATCH /v1/users/{id}", Confirms: true,
		Summary:     "Approve, block, promote or rename a user",
		Description: "What is left out stays. Administrators cannot take their own role or status away, and one is always left.",
		Faults:      []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	}, h.changeUser)

	server.Register(users, server.Operation{
		Id: "renew-user-token", Route: "POST /v1/users/{id}/token", Confirms: true,
		Summary: "Give a user a new API token",
		Description: "The answer holds the token, this once; it grants all that the user's role allows, and so must the token of the request, with which it ends. " +
			"It replaces the secret of the one that was made with the user; what that one has made, and other tokens of the user, stay. " +
			"The token of the configuration is not renewed: change STAGECOACH_ADMIN_TOKEN.",
		Faults: []fault.Code{fault.UserNotFound, fault.InvalidTransition},
	}, h.renewToken)

	server.Register(users, server.Operation{
		Id: "forget-user", Route: "POST /v1/users/{id}/forget", Confirms: true,
		Summary: "Make a person anonymous for good",
		Description: "Name, Telegram account, identity at a provider, tokens, conversations, notices, memberships, links and comments on tasks are deleted at once; the user is BLOCKED and " +
			"cannot be changed any more. Live deliveries and downloads are cancelled, tasks in work are NEW again. Titles, and what proves where money went, stay. " +
			"When Temporal is away the record has forgotten and the answer is an error: the same request again ends what runs. Once more changes nothing.",
		Faults: []fault.Code{fault.UserNotFound, fault.OwnAccess, fault.LastAdmin},
	}, h.forgetUser)

	server.Register(users, server.Operation{
		Id: "list-user-tokens", Route: "GET /v1/users/{id}/tokens",
		Summary: "List a user's tokens, the oldest first", Faults: []fault.Code{fault.UserNotFound},
	}, h.listUserTokens)

	server.RegisterSilent(users, server.Operation{
		Id: "revoke-user-token", Route: "DELETE /v1/users/{id}/tokens/{token}",
		Summary:     "End a user's token at once, and all that it has made",
		Description: "Not one with a scope that the token of the request does not have.",
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

// firstToken is a new user's token: of the scopes that were asked for, or none for all that the role allows. Neither
// may be more than the caller's own token grants, and it lasts no longer. An empty secret: the user gets no token.
func firstToken(
	ctx context.Context, role string, asked *[]account.Scope,
) (first account.Token, secret string, err error) {
	if role == account.RoleAdmin { // a token of theirs that is made later may grant all
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

// roleAllows refuses scopes that a role does not have.
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

// userWithLogName shows a user to an administrator who reads logs.
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

	change.TokenID = server.PrincipalOf(ctx).Maker().TokenID
	user, err := h.Store.Accounts.ChangeUser(ctx, id, change)
	if err != nil {
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

// mayMakeEndless refuses to a token that ends what would go on after it: an administrator with access of their own.
func mayMakeEndless(ctx context.Context) error {
	if server.PrincipalOf(ctx).TokenEnds() == nil {
		return nil
	}
	return fault.New(
		fault.InsufficientAccess, "a token that ends makes no administrator who stays: use one without an end, or make one without telegram_id",
	)
}

// mayEmpower refuses to make an administrator with a token that does not grant all that one may do: their tokens would.
// Nor may a token that ends.
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
