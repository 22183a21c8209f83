package site

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

// Request is a signed-in user's request.
type Request struct {
	*http.Request
	Who      server.Principal
	Session  account.Session
	Language string
	Problem  *Problem // why this page's form was refused; nil: it was not
	Made     any      // what an action has created and its page shows only once; nil: nothing

	secret   string // of the session
	place    string // position in the events before this request; empty: unknown
	overview *shape.Overview
	api      *client.Client
}

// MayGive lists the scopes that a token created here may have: the user's, as far as the session grants them.
func (r *Request) MayGive() []string {
	return shape.List(r.Who.Token.Grants(account.RoleUser), func(s account.Scope) string { return string(s) })
}

// Admin reports whether an administrator asks.
func (r *Request) Admin() bool { return r.Who.User.IsAdmin() }

// typed is the value of a field as the person typed it, when their form is shown again after a refusal.
func typed(r *Request, field string) string {
	if r.Problem == nil {
		return ""
	}
	return r.FormValue(field)
}

// chosen reports whether a box or an entry was chosen when the form is shown again after a refusal; otherwise its
// default.
func chosen(r *Request, field string, value any, byItself bool) bool {
	if r.Problem == nil {
		return byItself
	}
	return slices.Contains(r.Form[field], fmt.Sprint(value))
}

// Overview is what is in progress. It is read once, however many parts of a page ask for it.
func (r *Request) Overview() (shape.Overview, error) {
	if r.overview != nil {
		return *r.overview, nil
	}
	overview, err := Get[shape.Overview](r, "/v1/overview")
	if err == nil {
		r.overview = &overview
	}
	return overview, err
}

// Asked is a parameter of the page's URL, trimmed.
func (r *Request) Asked(name string) string { return strings.TrimSpace(r.URL.Query().Get(name)) }

// Query copies the non-empty ones of these parameters from the page's URL. The API may use another name: "status=state"
// is the page's parameter state.
func (r *Request) Query(names ...string) url.Values {
	query := url.Values{}
	for _, name := range names {
		name, here, _ := strings.Cut(name, "=")
		if value := r.URL.Query().Get(cmp.Or(here, name)); value != "" {
			query.Set(name, value)
		}
	}
	return query
}
