// Package operators has the operations pages for administrators: the state of the service, its findings, the audit log,
// and the users.
package operators

import (
	"embed"
	"net/url"
	"strings"

	"stagecoach/api/shape"
	"stagecoach/api/web/site"
	"stagecoach/api/words"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store/account"
)

//go:embed templates
var templates embed.FS

// tabs are the operations pages.
var tabs = []site.Tab{
	{Title: "ops-status", Path: "/operations"},
	{Title: "ops-alerts", Path: "/operations/alerts"},
	{Title: "ops-findings", Path: "/operations/findings"},
	{Title: "ops-audit", Path: "/operations/audit"},
	{Title: "ops-users", Path: "/operations/users"},
}

var statuses = []string{account.UserPending, account.UserActive, account.UserBlocked}

// page is the page of one user.
const page = "/operations/users/{id}"

// Part returns the pages.
func Part() site.Part {
	return site.Part{
		Sections:  []site.Section{{Path: "/operations", Title: "operations", Admins: true}},
		Templates: templates, Texts: texts,
		Commands: map[string]string{"status": "/operations", "approve": "/operations/users"},
		Pages: []site.Page{
			{Route: "/operations", Name: "operations", Title: "operations", Live: site.EveryWorkload(), Tabs: tabs, Show: showStatus},
			{
				Route: "/operations/alerts", Name: "alerts", Title: "ops-alerts", Tabs: tabs,
				Show: site.Shows[shape.Page[shape.Alert]]("/v1/alerts", "open", "cursor"),
			},
			{
				Route: "/operations/findings", Name: "findings", Title: "ops-findings", Tabs: tabs,
				Filter: site.Filter{Name: "workload", Values: lifecycle.Names(), Texts: "workload-"},
				Show:   site.Shows[shape.Page[shape.Finding]]("/v1/findings", "workload", "cursor"),
			},
			{
				Route: "/operations/audit", Name: "audit", Title: "ops-audit", Tabs: tabs,
				Show: site.Lists(showAudit, "/v1/audit", "cursor"),
			},
			{
				Route: "/operations/users", Name: "users", Title: "ops-users", Tabs: tabs,
				Filter: site.Filter{Name: "status", Values: statuses, Texts: "ops-status-"},
				Show:   site.Shows[shape.Page[shape.User]]("/v1/users", "status", "cursor"),
			},
			{Route: "/operations/users/{id}", Name: "user", Tabs: tabs, Tab: "/operations/users", Show: showUser},
		},
		Actions: []site.Action{
			{Route: "/operations/users", Page: "users", Do: createUser},
			// approves, blocks, promotes or renames a user: missing fields are unchanged
			{Route: "/operations/users/{id}", Page: "user", Do: site.Change("PATCH /v1/users/{id}", page, "name", "role", "status", "language")},
			// a new token, which the page shows only once
			{Route: "/operations/users/{id}/token", Page: "user", Do: site.Make[shape.User]("POST /v1/users/{id}/token", nil)},
			{Route: "/operations/users/{id}/tokens/{token}/revoke", Page: "user", Do: site.Change("DELETE /v1/users/{id}/tokens/{token}", page)},
			{Route: "/operations/users/{id}/forget", Page: "user", Do: site.Change("POST /v1/users/{id}/forget", page)},
		},
		Card: card,
	}
}

// card shows the open incidents. They need an administrator, and so do the people who wait for approval.
func card(r *site.Request) (card site.Card, err error) {
	alerts, err := site.Get[shape.Page[shape.Alert]](r, "/v1/alerts?open=true")
	if err != nil {
		return card, err
	}

	card.Data = alerts.Items
	if n := len(alerts.Items); n > 0 {
		card.Needs = append(card.Needs, site.Need{Text: texts["ops-open-alerts"].In(r.Language, n), Path: "/operations"})
	}

	overview, err := r.Overview()
	if n := overview.WaitingUsers; n > 0 {
		card.Needs = append(card.Needs, site.Need{
			Text: texts["ops-waiting-users"].In(r.Language, n), Path: "/operations/users?status=" + account.UserPending,
		})
	}
	return card, err
}

// auditRow is an entry of the audit log whose subject can be opened.
type auditRow struct {
	shape.Audit
	Kind, Subject string // such as "task" and its id; empty: nothing in particular
}

func showAudit(_ *site.Request, e shape.Audit) auditRow {
	kind, id, _ := strings.Cut(e.Subject, "/")
	return auditRow{e, kind, id}
}

// createUser adds a user. The page shows the user's token, only once. Pages create no tokens for administrators.
func createUser(r *site.Request) (next string, err error) {
	body := map[string]any{"name": r.PostFormValue("name"), "role": r.PostFormValue("role")}
	if body["role"] == account.RoleAdmin {
		body["scopes"] = []account.Scope{}
	}
	if id := r.PostFormValue("telegram_id"); id != "" {
		body["telegram_id"] = id
	}

	made, err := site.Post[shape.User](r, "/v1/users", body)
	if made.Token == "" {
		return "/operations/users/" + url.PathEscape(made.ID), err
	}
	r.Made = made
	return "", err
}

type userView struct {
	shape.User
	Tokens shape.Page[shape.Token]
	Roles  []string
	Own    bool // the administrator's own page
}

// showUser shows a user and the possible changes.
func showUser(r *site.Request) (site.View, error) {
	view := userView{Roles: []string{account.RoleUser, account.RoleAdmin}}
	err := r.ReadAll(
		site.Into(&view.User, "/v1/users/{id}"), site.Into(&view.Tokens, "/v1/users/{id}/tokens?limit=200"),
	)
	view.Own = view.ID == shape.ID(r.Who.User.ID)
	return site.View{Title: words.Clean(view.Name), Data: view}, err
}
