package site

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/api/shape"
	"stagecoach/internal/store/account"
)

// Request is a request of somebody who is signed in.
type Request struct {
	*http.Request
	Who      server.Principal
	Session  account.Session
	Language string
	Problem  *Problem // why the form of this page was refused; nil: it was not
	Made     any      // what an action has made that its page shows this once; nil: nothing

	secret   string // of the session
	place    string // up to which events were read before this request; empty: not known
	overview *shape.Overview
	api      *client.Client
}

// MayGive lists the scopes that a token made here may have: of a user, as far as the session grants them.
func (r *Request) MayGive() []string {
	return shape.List(r.Who.Token.Grants(account.RoleUser), func(s account.Scope) string { return string(s) })
}

// Admin says whether an administrator asks.
func (r *Request) Admin() bool { return r.Who.User.IsAdmin() }

// typed is the value of a field as the person typed it, when their form is shown again for a refusal.
func typed(r *Request, field string) string {
	if r.Problem == nil {
		return ""
	}
	return r.PostFormValue(field)
}

// Overview is what is under way. However many parts of a page ask for it, it is read once.
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

// Asked is a parameter of the page's address, without spaces around it.
func (r *Request) Asked(name string) string { return strings.TrimSpace(r.URL.Query().Get(name)) }

// Query copies those parameters of the page's address that are not empty. The API may have another name for one:
// "status=state" is the page's state.
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
