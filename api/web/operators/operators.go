// Package operators has the pages of operations, which administrators see: the state of the service, what it has found
// to be wrong, what was done and refused, and who its users are.
package operators

import (
	"context"
	"embed"
	"net/http"
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

// Part gives the pages.
func Part() site.Part {
	return site.Part{
		Sections:  []site.Section{{Path: "/operations", Title: "operations", Admins: true}},
		Templates: templates, Texts: texts,
		Commands: map[string]string{"status": "/operations", "approve": "/operations/users"},
		Pages: []site.Page{
			{Route: "/operations", Name: "operations", Live: site.EveryWorkload(), Show: showStatus},
			{Route: "/operations/alerts", Name: "alerts", Show: showAlerts},
			{Route: "/operations/findings", Name: "findings", Show: showFindings},
			{Route: "/operations/audit", Name: "audit", Show: showAudit},
			{Route: "/operations/users", Name: "users", Show: showUsers},
			{Route: "/operations/users/{id}", Name: "user", Show: showUser},
		},
		Actions: []site.Action{
			{Route: "/operations/users", Page: "users", Do: createUser},
			{Route: "/operations/users/{id}", Page: "user", Do: changeUser},
			{Route: "/operations/users/{id}/token", Page: "user", Do: renewToken},
			{Route: "/operations/users/{id}/tokens/{token}/revoke", Page: "user", Do: revokeToken},
			{Route: "/operations/users/{id}/forget", Page: "user", Do: forgetUser},
		},
		Card: card,
	}
}

// card shows the open incidents. They need an administrator, and so do the people who wait for access.
func card(_ context.Context, r *site.Request) (card site.Card, err error) {
	alerts, err := site.Get[shape.Page[shape.Alert]](r, "/v1/alerts", url.Values{"open": {"true"}})
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

// tab is one page of operations in the line above all of them.
type tab struct {
	Path, Title string
	Current     bool
}

// tabs are the pages of operations; at is the path of the present one.
func tabs(at string) []tab {
	all := []tab{
		{Path: "/operations", Title: "status"},
		{Path: "/operations/alerts", Title: "alerts"},
		{Path: "/operations/findings", Title: "findings"},
		{Path: "/operations/audit", Title: "audit"},
		{Path: "/operations/users", Title: "users"},
	}
	for i := range all {
		all[i].Current = all[i].Path == at
	}
	return all
}

type alertsView struct {
	shape.Page[shape.Alert]
	Tabs []tab
}

// showAlerts lists the incidents, those that are over too.
func showAlerts(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Alert]](r, "/v1/alerts", r.Query("open", "cursor"))
	return site.View{Title: texts["ops-alerts"].In(r.Language), Data: alertsView{list, tabs("/operations/alerts")}}, err
}

type findingsView struct {
	shape.Page[shape.Finding]
	Tabs      []tab
	Workloads []string
	Workload  string
}

// showFindings lists the differences between the record and the workflows.
func showFindings(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Finding]](r, "/v1/findings", r.Query("workload", "cursor"))
	return site.View{Title: texts["ops-findings"].In(r.Language), Data: findingsView{
		Page: list, Tabs: tabs("/operations/findings"), Workloads: lifecycle.Names(), Workload: r.URL.Query().Get("workload"),
	}}, err
}

type auditView struct {
	shape.Page[auditRow]
	Tabs []tab
}

// auditRow is an entry of the audit log whose subject can be opened.
type auditRow struct {
	shape.Audit
	Kind, Subject string // such as "task" and the task's id; empty: nothing in particular
}

// showAudit lists what administrators did and what people were refused.
func showAudit(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.Audit]](r, "/v1/audit", r.Query("cursor"))
	rows := shape.Page[auditRow]{NextCursor: list.NextCursor, Items: shape.List(list.Items, func(e shape.Audit) auditRow {
		kind, id, _ := strings.Cut(e.Subject, "/")
		return auditRow{e, kind, id}
	})}
	return site.View{Title: texts["ops-audit"].In(r.Language), Data: auditView{rows, tabs("/operations/audit")}}, err
}

type usersView struct {
	shape.Page[shape.User]
	Tabs     []tab
	Statuses []string
	Status   string
}

// showUsers lists the users, and has the form for a new one.
func showUsers(_ context.Context, r *site.Request) (site.View, error) {
	list, err := site.Get[shape.Page[shape.User]](r, "/v1/users", r.Query("status", "cursor"))
	return site.View{Title: texts["ops-users"].In(r.Language), Data: usersView{
		Page: list, Tabs: tabs("/operations/users"), Status: r.URL.Query().Get("status"),
		Statuses: []string{account.UserPending, account.UserActive, account.UserBlocked},
	}}, err
}

// createUser adds a user. The page shows the user's token, this once. Administrators get none by a page.
func createUser(_ context.Context, r *site.Request) (next string, err error) {
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
	Tabs   []tab
	Tokens []shape.Token
	Roles  []string
	Own    bool // it is the administrator who looks
}

// showUser shows a user, and what can be changed about them.
func showUser(_ context.Context, r *site.Request) (site.View, error) {
	at := userPath(r)
	user, err := site.Get[shape.User](r, at, nil)
	if err != nil {
		return site.View{}, err
	}

	tokens, err := site.Get[shape.Page[shape.Token]](r, at+"/tokens", url.Values{"limit": {"200"}})
	return site.View{Title: words.Clean(user.Name), Data: userView{
		User: user, Tabs: tabs("/operations/users"), Tokens: tokens.Items, Roles: []string{account.RoleUser, account.RoleAdmin},
		Own: user.ID == shape.ID(r.Who.User.ID),
	}}, err
}

// userPath is the user of the page's address in the API.
func userPath(r *site.Request) string { return "/v1/users/" + url.PathEscape(r.PathValue("id")) }

// page is the page of the user of this address.
func page(r *site.Request) string { return "/operations/users/" + url.PathEscape(r.PathValue("id")) }

// changeUser approves, blocks, promotes or renames a user: what the form has not stays.
func changeUser(_ context.Context, r *site.Request) (next string, err error) {
	change := map[string]string{}
	for _, field := range []string{"name", "role", "status", "language"} {
		if value := r.PostFormValue(field); value != "" {
			change[field] = value
		}
	}

	_, err = site.Send[shape.User](r, http.MethodPatch, userPath(r), change)
	return page(r), err
}

// renewToken gives a user another token, which the page shows this once.
func renewToken(_ context.Context, r *site.Request) (next string, err error) {
	r.Made, err = site.Post[shape.User](r, userPath(r)+"/token", nil)
	return "", err
}

func revokeToken(_ context.Context, r *site.Request) (next string, err error) {
	return page(r), site.Ask(r, http.MethodDelete, userPath(r)+"/tokens/"+url.PathEscape(r.PathValue("token")))
}

func forgetUser(_ context.Context, r *site.Request) (next string, err error) {
	_, err = site.Post[shape.User](r, userPath(r)+"/forget", nil)
	return page(r), err
}
