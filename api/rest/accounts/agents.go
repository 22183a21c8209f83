package accounts

import (
	"context"
	"net/http"

	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
	"stagecoach/internal/store/core"
)

const (
	agentsCursor      = "agents"
	agentEventsCursor = "agent events"
)

// AgentPath names one of the caller's agents. Like all embedded types here it is exported for huma to see its fields.
type AgentPath struct {
	ID string `path:"id" example:"9" doc:"ID of one of your agents"`
}

type createAgentInput struct {
	Body tokenRequest `nameHint:"AgentRequest"`
}

type createAgentTokenInput struct {
	AgentPath
	Body tokenRequest `nameHint:"TokenRequest"`
}

type agentPageInput struct {
	AgentPath
	server.Paging
}

type agentTokenInput struct {
	AgentPath
	Token string `path:"token" example:"12" doc:"Token ID"`
}

// registerAgents adds the operations on a user's own agents.
func (h *handlers) registerAgents() {
	agents := server.Group{
		Server: h.Server, Tag: "Agents", Access: server.ForUsers, Scope: account.ScopeTokens, Subject: "agent",
		Faults: []fault.Code{fault.InsufficientAccess},
	}
	found := []fault.Code{fault.UserNotFound}

	server.Register(agents, server.Operation{
		Id: "create-agent", Route: "POST /v1/agents", Confirms: true, Status: http.StatusCreated,
		Summary: "Create an agent: a program with its own name and tokens",
		Description: "The response contains its first token, shown only once. Its scopes and lifetime cannot exceed those of the request's token, and the agent ends with that token. It " +
			"acts in the workspaces that it is added to: you may add it wherever you are a member. It is blocked while you are.",
		Faults: []fault.Code{fault.QuotaExceeded},
	}, h.createAgent)

	server.Register(agents, server.Operation{
		Id: "list-agents", Route: "GET /v1/agents", Scope: account.ScopeRead,
		Summary: "List your agents, including ended ones, oldest first",
	}, h.listAgents)

	server.Register(agents, server.Operation{
		Id: "get-agent", Route: "GET /v1/agents/{id}", Scope: account.ScopeRead,
		Summary: "Get one of your agents", Faults: found,
	}, h.getAgent)

	server.Register(agents, server.Operation{
		Id: "list-agent-events", Route: "GET /v1/agents/{id}/events", Scope: account.ScopeRead,
		Summary: "List what one of your agents did, newest first", Faults: found,
	}, h.listAgentEvents)

	server.Register(agents, server.Operation{
		Id: "end-agent", Route: "DELETE /v1/agents/{id}",
		Summary:     "End one of your agents permanently",
		Description: "Immediately revokes its tokens and everything created with them, returns its tasks in progress to NEW and cancels its deliveries. Idempotent. The request's token needs every scope of the agent's tokens.",
		Faults:      append([]fault.Code{fault.TemporalUnavailable}, found...),
	}, h.endAgent)

	server.Register(agents, server.Operation{
		Id: "list-agent-tokens", Route: "GET /v1/agents/{id}/tokens", Scope: account.ScopeRead,
		Summary: "List the tokens of one of your agents, oldest first", Faults: found,
	}, h.listAgentTokens)

	server.Register(agents, server.Operation{
		Id: "create-agent-token", Route: "POST /v1/agents/{id}/tokens", Confirms: true, Status: http.StatusCreated,
		Summary:     "Create another token for one of your agents",
		Description: "The response contains its secret, shown only once. Its scopes and lifetime cannot exceed those of the request's token.",
		Faults:      append([]fault.Code{fault.QuotaExceeded, fault.InvalidTransition}, found...),
	}, h.createAgentToken)

	server.RegisterSilent(agents, server.Operation{
		Id: "revoke-agent-token", Route: "DELETE /v1/agents/{id}/tokens/{token}",
		Summary:     "Revoke a token of one of your agents and everything created with it",
		Description: "The request's token needs every scope of the token that it revokes.",
		Faults:      append([]fault.Code{fault.TokenNotFound, fault.TemporalUnavailable}, found...),
	}, h.revokeAgentToken)
}

func agentFrom(u account.User) shape.Agent {
	return shape.Agent{ID: shape.ID(u.ID), Name: u.Name, Status: u.Status, CreatedAt: u.CreatedAt.UTC()}
}

func (h *handlers) createAgent(ctx context.Context, in *createAgentInput) (none shape.Agent, err error) {
	owner := server.Caller(ctx)
	if owner.OwnerID != nil {
		return none, fault.New(fault.InsufficientAccess, "an agent cannot have agents: its owner creates them")
	}

	first, err := newAgentToken(ctx, "first", in.Body)
	if err != nil {
		return none, err
	}

	secret := account.NewToken()
	made, err := h.Store.Accounts.CreateAgent(ctx, owner.ID, in.Body.Name, first, secret)
	if err != nil {
		return none, err
	}

	body := agentFrom(made)
	body.Token = secret
	return body, nil
}

// newAgentToken returns a token for an agent as requested. Agents get no administrator scopes.
func newAgentToken(ctx context.Context, name string, asked tokenRequest) (account.Token, error) {
	if err := roleAllows(account.RoleUser, asked.Scopes); err != nil {
		return account.Token{}, err
	}
	return newToken(ctx, name, asked.Scopes, asked.ExpiresAt)
}

func (h *handlers) listAgents(ctx context.Context, in *struct{ server.Paging }) (shape.Page[shape.Agent], error) {
	return server.ListOf(in.Paging, agentsCursor, func(after int64, limit int) ([]account.User, error) {
		return h.Store.Accounts.Agents(ctx, server.Caller(ctx).ID, after, limit)
	}, func(u account.User) int64 { return u.ID }, agentFrom)
}

func (h *handlers) getAgent(ctx context.Context, in *AgentPath) (shape.Agent, error) {
	agent, err := h.agent(ctx, in.ID)
	return server.Shown(agent, err, agentFrom)
}

func (h *handlers) listAgentEvents(ctx context.Context, in *agentPageInput) (none shape.Page[shape.Event], err error) {
	agent, err := h.agent(ctx, in.ID)
	if err != nil {
		return none, err
	}
	return server.ListOf(in.Paging, agentEventsCursor, func(before int64, limit int) ([]core.StreamedEvent, error) {
		return h.Store.Accounts.EventsBy(ctx, agent.ID, before, limit)
	}, func(e core.StreamedEvent) int64 { return e.ID }, core.StreamedEvent.Shown)
}

func (h *handlers) endAgent(ctx context.Context, in *AgentPath) (none shape.Agent, err error) {
	agent, err := h.agent(ctx, in.ID)
	if err != nil {
		return none, err
	}

	granted, err := h.Store.Accounts.AgentScopes(ctx, agent.ID)
	if err != nil {
		return none, err
	}
	if err := server.PrincipalOf(ctx).Require(granted...); err != nil {
		return none, err
	}
	agent, ended, err := h.Store.Accounts.EndAgent(ctx, agent.ID, server.Caller(ctx).ID)
	if err != nil {
		return none, err
	}
	if err := h.ended(ctx, in.ID, foreign(ctx, agent), ended); err != nil {
		return none, err
	}
	return agentFrom(agent), h.release(ctx, agent)
}

func (h *handlers) listAgentTokens(ctx context.Context, in *agentPageInput) (none shape.Page[shape.Token], err error) {
	agent, err := h.agent(ctx, in.ID)
	if err != nil {
		return none, err
	}
	return h.tokensOf(ctx, agent, in.Paging)
}

func (h *handlers) createAgentToken(ctx context.Context, in *createAgentTokenInput) (none shape.Token, err error) {
	agent, err := h.agent(ctx, in.ID)
	if err != nil {
		return none, err
	}
	if agent.Status != account.UserActive {
		return none, fault.New(fault.InvalidTransition, "this agent has ended: create another one")
	}

	wanted, err := newAgentToken(ctx, in.Body.Name, in.Body)
	if err != nil {
		return none, err
	}

	wanted.UserID = agent.ID
	secret := account.NewToken()
	made, err := h.Store.Accounts.CreateToken(ctx, wanted, secret)
	if err != nil {
		return none, err
	}

	if foreign(ctx, agent) {
		h.Done(ctx, in.ID)
	}
	return withSecret(server.PrincipalOf(ctx), secret)(made), nil
}

func (h *handlers) revokeAgentToken(ctx context.Context, in *agentTokenInput) error {
	agent, err := h.agent(ctx, in.ID)
	if err != nil {
		return err
	}

	ended, err := h.endToken(ctx, agent, server.PathID(in.Token))
	if err != nil {
		return err
	}
	return h.ended(ctx, in.ID, foreign(ctx, agent), ended)
}

// agent returns an agent of the caller; administrators may access everybody's.
func (h *handlers) agent(ctx context.Context, id string) (account.User, error) {
	owner := server.Caller(ctx)
	if owner.IsAdmin() {
		return h.Store.Accounts.AgentByID(ctx, 0, server.PathID(id))
	}
	return h.Store.Accounts.AgentByID(ctx, owner.ID, server.PathID(id))
}

// foreign reports whether only the administrator role lets the caller change an agent.
func foreign(ctx context.Context, agent account.User) bool {
	return *agent.OwnerID != server.Caller(ctx).ID
}

// noAgent refuses to make an agent an administrator.
func (h *handlers) noAgent(ctx context.Context, id int64) error {
	user, err := h.Store.Accounts.UserByID(ctx, id)
	if err == nil && user.OwnerID != nil {
		err = fault.Invalid("role", "an agent cannot be an administrator")
	}
	return err
}
