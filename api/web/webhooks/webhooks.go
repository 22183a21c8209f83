// Package webhooks has the pages of a user's webhooks, which the account page links to.
package webhooks

import (
	"embed"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/webhook"
)

//go:embed templates
var templates embed.FS

// Part returns the pages.
func Part() site.Part {
	return site.Part{
		Templates: templates, Texts: texts, Words: words.Webhooks,
		States: map[string]map[string]words.Text{lifecycle.WebhookEvents: {
			lifecycle.WebhookActive: {"active", "работает"}, lifecycle.WebhookPaused: {"paused", "приостановлен"},
		}},
		Pages: []site.Page{
			{Route: "/webhooks", Name: "webhooks", Title: "webhooks", Live: lifecycle.WebhookEvents, Show: site.Lists(show, "/v1/webhooks", "cursor")},
			{Route: "/webhooks/{id}", Name: "webhook", Live: lifecycle.WebhookEvents, Show: showOne},
		},
		Actions: []site.Action{
			// the first and the last one show the secret that they create, only once
			{Route: "/webhooks", Page: "webhooks", Do: site.Make[shape.Webhook]("POST /v1/webhooks", wanted)},
			{Route: "/webhooks/{id}/state", Page: "webhook", Do: site.Change("PATCH /v1/webhooks/{id}", "/webhooks/{id}", "state")},
			{Route: "/webhooks/{id}/address", Page: "webhook", Do: site.Change("PATCH /v1/webhooks/{id}", "/webhooks/{id}", "address")},
			{Route: "/webhooks/{id}/test", Page: "webhook", Do: site.Change("POST /v1/webhooks/{id}/test", "/webhooks/{id}")},
			{Route: "/webhooks/{id}/replay", Page: "webhook", Do: site.Change("POST /v1/webhooks/{id}/replay", "/webhooks/{id}", "cursor")},
			{Route: "/webhooks/{id}/remove", Page: "webhook", Do: site.Change("DELETE /v1/webhooks/{id}", "/webhooks")},
			{Route: "/webhooks/{id}/rotate", Page: "webhook", Do: site.Make[shape.Webhook]("POST /v1/webhooks/{id}/rotate", nil)},
		},
	}
}

// shown is a webhook as the list shows it.
type shown struct {
	shape.Webhook
	Host string
}

func show(_ *site.Request, w shape.Webhook) shown { return shown{w, webhook.Host(w.Address)} }

func showOne(r *site.Request) (site.View, error) {
	one, err := site.Get[shape.Webhook](r, "/v1/webhooks/{id}")
	return site.View{Title: texts["webhook-number"].In(r.Language, one.ID), Data: one}, err
}

// wanted is the request body for a webhook.
func wanted(r *site.Request) any {
	return map[string]any{"address": r.PostFormValue("address"), "workloads": append([]string{}, r.PostForm["workload"]...)}
}
