// Package webhooks has the pages of a user's webhooks, which the page of the account leads to.
package webhooks

import (
	"context"
	"embed"
	"net/http"
	"net/url"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/webhook"
)

//go:embed templates
var templates embed.FS

// Part gives the pages.
func Part() site.Part {
	return site.Part{
		Templates: templates, Texts: texts, Words: words.Webhooks,
		States: map[string]map[string]words.Text{lifecycle.WebhookEvents: {
			lifecycle.WebhookActive: {"active", "работает"}, lifecycle.WebhookPaused: {"paused", "приостановлен"},
		}},
		Pages: []site.Page{
			{Route: "/webhooks", Name: "webhooks", Live: lifecycle.WebhookEvents, Show: showList},
			{Route: "/webhooks/{id}", Name: "webhook", Live: lifecycle.WebhookEvents, Show: showOne},
		},
		Actions: []site.Action{
			{Route: "/webhooks", Page: "webhooks", Do: add},
			{Route: "/webhooks/{id}/state", Page: "webhook", Do: setState},
			{Route: "/webhooks/{id}/address", Page: "webhook", Do: setAddress},
			{Route: "/webhooks/{id}/test", Page: "webhook", Do: test},
			{Route: "/webhooks/{id}/rotate", Page: "webhook", Do: rotate},
			{Route: "/webhooks/{id}/replay", Page: "webhook", Do: replay},
			{Route: "/webhooks/{id}/remove", Page: "webhook", Do: remove},
		},
	}
}

// shown is a webhook as the pages show it.
type shown struct {
	shape.Webhook
	Host string
}

func show(w shape.Webhook) shown { return shown{w, webhook.Host(w.Address)} }

type listView struct {
	shape.Page[shown]
	Workloads []string
}

// showList lists the webhooks, and has the form for a new one.
func showList(_ context.Context, r *site.Request) (site.View, error) {
	page, err := site.Get[shape.Page[shape.Webhook]](r, "/v1/webhooks", r.Query("cursor"))
	list := shape.Page[shown]{Items: shape.List(page.Items, show), NextCursor: page.NextCursor}
	return site.View{
		Title: texts["hook-list"].In(r.Language), Data: listView{list, lifecycle.Names()},
	}, err
}

// add adds a webhook. The page shows its secret, this once.
func add(_ context.Context, r *site.Request) (next string, err error) {
	body := map[string]any{
		"address": r.PostFormValue("address"), "workloads": append([]string{}, r.PostForm["workload"]...),
	}
	r.Made, err = site.Post[shape.Webhook](r, "/v1/webhooks", body)
	return "", err
}

// path is the webhook of the page's address in the API.
func path(r *site.Request) string { return "/v1/webhooks/" + url.PathEscape(r.PathValue("id")) }

// page is the page of the webhook of this address.
func page(r *site.Request) string { return "/webhooks/" + url.PathEscape(r.PathValue("id")) }

func showOne(_ context.Context, r *site.Request) (site.View, error) {
	one, err := site.Get[shape.Webhook](r, path(r), nil)
	return site.View{Title: texts["webhook-number"].In(r.Language, one.ID), Data: show(one)}, err
}

func setState(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Send[shape.Webhook](r, http.MethodPatch, path(r), map[string]any{"state": r.PostFormValue("state")})
	return page(r), err
}

func setAddress(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Send[shape.Webhook](r, http.MethodPatch, path(r), map[string]any{"address": r.PostFormValue("address")})
	return page(r), err
}

func test(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Post[shape.Webhook](r, path(r)+"/test", nil)
	return page(r), err
}

// rotate gives a webhook another secret, which the page shows this once.
func rotate(_ context.Context, r *site.Request) (next string, err error) {
	r.Made, err = site.Post[shape.Webhook](r, path(r)+"/rotate", nil)
	return "", err
}

func replay(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Post[shape.Webhook](r, path(r)+"/replay", map[string]any{"cursor": r.PostFormValue("cursor")})
	return page(r), err
}

func remove(_ context.Context, r *site.Request) (next string, err error) {
	return "/webhooks", site.Ask(r, http.MethodDelete, path(r))
}
