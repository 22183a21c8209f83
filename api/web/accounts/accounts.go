// Package accounts has the pages of what belongs to a user besides work: their agents.
package accounts

import (
	"context"
	"embed"
	"net/http"
	"net/url"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/store/account"
)

//go:embed templates
var templates embed.FS

// Part gives the pages.
func Part() site.Part {
	return site.Part{
		Templates: templates, Texts: texts,
		Pages: []site.Page{
			{Route: "/account/agents", Name: "agents", Show: showAgents},
			{Route: "/account/agents/{id}", Name: "agent", Show: showAgent},
		},
		Actions: []site.Action{
			{Route: "/account/agents", Page: "agents", Do: createAgent},
			{Route: "/account/agents/{id}/tokens", Page: "agent", Do: createToken},
			{Route: "/account/agents/{id}/tokens/{token}/revoke", Page: "agent", Do: revokeToken},
			{Route: "/account/agents/{id}/end", Page: "agent", Do: endAgent},
		},
	}
}

type agentsView struct {
	shape.Page[shape.Agent]
	Scopes []string // that an agent may have
}

func showAgents(_ context.Context, r *site.Request) (site.View, error) {
	agents, err := site.Get[shape.Page[shape.Agent]](r, "/v1/agents", r.Query("cursor"))
	return site.View{Title: texts["agents"].In(r.Language), Data: agentsView{agents, scopes(r)}}, err
}

// scopes are those that an agent may have: of a user, as far as the session grants them.
func scopes(r *site.Request) []string {
	return shape.List(r.Who.Token.Grants(account.RoleUser), func(s account.Scope) string { return string(s) })
}

// createAgent makes an agent. The page shows its token, this once.
func createAgent(_ context.Context, r *site.Request) (next string, err error) {
	r.Made, err = site.Post[shape.Agent](r, "/v1/agents", wanted(r))
	return "", err
}

// wanted is the body of a request for a token.
func wanted(r *site.Request) map[string]any {
	return map[string]any{"name": r.PostFormValue("name"), "scopes": append([]string{}, r.PostForm["scope"]...)}
}

type agentView struct {
	shape.Agent
	Tokens []shape.Token
	Events []shape.Event
	Scopes []string
}

func showAgent(_ context.Context, r *site.Request) (site.View, error) {
	agent, err := site.Get[shape.Agent](r, at(r), nil)
	if err != nil {
		return site.View{}, err
	}

	tokens, err := site.Get[shape.Page[shape.Token]](r, at(r)+"/tokens", url.Values{"limit": {"200"}})
	if err != nil {
		return site.View{}, err
	}

	did, err := site.Get[shape.Page[shape.Event]](r, at(r)+"/events", url.Values{"limit": {"50"}})
	return site.View{Title: words.Clean(agent.Name), Data: agentView{agent, tokens.Items, did.Items, scopes(r)}}, err
}

func createToken(_ context.Context, r *site.Request) (next string, err error) {
	r.Made, err = site.Post[shape.Token](r, at(r)+"/tokens", wanted(r))
	return "", err
}

func revokeToken(_ context.Context, r *site.Request) (next string, err error) {
	return "", site.Ask(r, http.MethodDelete, at(r)+"/tokens/"+url.PathEscape(r.PathValue("token")))
}

func endAgent(_ context.Context, r *site.Request) (next string, err error) {
	return "", site.Ask(r, http.MethodDelete, at(r))
}

// at is the path of the agent's resource in the API.
func at(r *site.Request) string { return "/v1/agents/" + url.PathEscape(r.PathValue("id")) }
