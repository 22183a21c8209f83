package site

import (
	"net/http"
	"net/url"

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

// Admin says whether an administrator asks.
func (r *Request) Admin() bool { return r.Who.User.IsAdmin() }

// typed is the value of a field as the person typed it, when their form is shown again for a refusal.
func typed(r *Request, field string) string {
	if r.Problem == nil {
		return ""
	}
	return r.PostFormValue(field)
}

// Get reads one resource of the API.
func Get[T any](r *Request, path string, query url.Values) (T, error) {
	return client.Ask[T](r.Context(), r.api, client.Call{Method: http.MethodGet, Path: path, Query: query})
}

// Post asks the API for a change. The form's hidden key makes a form that is sent twice one request.
func Post[T any](r *Request, path string, body any) (T, error) {
	return Send[T](r, http.MethodPost, path, body)
}

// Send is Post with another method.
func Send[T any](r *Request, method, path string, body any) (T, error) {
	return client.Ask[T](r.Context(), r.api, client.Call{
		Method: method, Path: path, Body: body, IdempotencyKey: r.PostFormValue("key"),
	})
}

// Ask asks the API for a change whose answer is empty.
func Ask(r *Request, method, path string) error {
	_, _, err := r.api.Send(r.Context(), client.Call{Method: method, Path: path})
	return err
}

// Overview is what is under way. However many parts of a page ask for it, it is read once.
func (r *Request) Overview() (shape.Overview, error) {
	if r.overview != nil {
		return *r.overview, nil
	}
	overview, err := Get[shape.Overview](r, "/v1/overview", nil)
	if err == nil {
		r.overview = &overview
	}
	return overview, err
}

// Query copies those parameters of the page's address that are not empty.
func (r *Request) Query(names ...string) url.Values {
	query := url.Values{}
	for _, name := range names {
		if value := r.URL.Query().Get(name); value != "" {
			query.Set(name, value)
		}
	}
	return query
}
