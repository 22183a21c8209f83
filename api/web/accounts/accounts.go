// Package accounts has the pages of a user's own things apart from work: their agents.
package accounts

import (
	"embed"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
)

//go:embed templates
var templates embed.FS

// Part returns the pages.
func Part() site.Part {
	return site.Part{
		Templates: templates, Texts: texts,
		Pages: []site.Page{
			{Route: "/account/agents", Name: "agents", Title: "agents", Show: site.Shows[shape.Page[shape.Agent]]("/v1/agents", "cursor")},
			{Route: "/account/agents/{id}", Name: "agent", Show: showAgent},
		},
		Actions: []site.Action{
			// these two show the token that they create, only once
			{Route: "/account/agents", Page: "agents", Do: site.Make[shape.Agent]("POST /v1/agents", wanted)},
			{Route: "/account/agents/{id}/tokens", Page: "agent", Do: site.Make[shape.Token]("POST /v1/agents/{id}/tokens", wanted)},
			{Route: "/account/agents/{id}/tokens/{token}/revoke", Page: "agent", Do: site.Change("DELETE /v1/agents/{id}/tokens/{token}", "")},
			{Route: "/account/agents/{id}/end", Page: "agent", Do: site.Change("DELETE /v1/agents/{id}", "")},
		},
	}
}

// wanted is the request body for an agent, or for an agent's token.
func wanted(r *site.Request) any {
	return map[string]any{"name": r.PostFormValue("name"), "scopes": append([]string{}, r.PostForm["scope"]...)}
}

type agentView struct {
	shape.Agent
	Tokens shape.Page[shape.Token]
	Events shape.Page[shape.Event]
}

func showAgent(r *site.Request) (site.View, error) {
	var view agentView
	err := r.ReadAll(
		site.Into(&view.Agent, "/v1/agents/{id}"),
		site.Into(&view.Tokens, "/v1/agents/{id}/tokens?limit=200"),
		site.Into(&view.Events, "/v1/agents/{id}/events?limit=50"),
	)
	return site.View{Title: words.Clean(view.Name), Data: view}, err
}
