package site

import (
	"net/http"
	"net/url"
	"strings"

	"stagecoach/api/client"
	"stagecoach/api/shape"
)

// Get reads one resource of the API, such as "/v1/agents/{id}/tokens?limit=200". Placeholders in braces and the named
// parameters are taken from the page's URL; see Query.
func Get[T any](r *Request, path string, names ...string) (T, error) {
	return GetBy[T](r, path, r.Query(names...))
}

// GetBy is Get with explicit parameters.
func GetBy[T any](r *Request, path string, query url.Values) (T, error) {
	path, fixed, _ := strings.Cut(path, "?")
	parameters, err := url.ParseQuery(fixed)
	if err != nil {
		var none T
		return none, err
	}

	for name := range parameters {
		parameters.Set(name, r.fill(parameters.Get(name), func(part string) string { return part }))
	}
	for name := range query {
		parameters.Set(name, query.Get(name))
	}
	return client.Ask[T](r.Context(), r.api, client.Call{
		Method: http.MethodGet, Path: r.fill(path, url.PathEscape), Query: parameters,
	})
}

// fill replaces the placeholders of a path with their values in the page's URL.
func (r *Request) fill(path string, escape func(string) string) string {
	return pathPart.ReplaceAllStringFunc(path, func(part string) string {
		return escape(r.PathValue(part[1 : len(part)-1]))
	})
}

// Read is a resource to be read into a place; ReadAll reads it.
type Read func(*Request) error

// Into reads a resource into a place, as Get does.
func Into[T any](place *T, path string, names ...string) Read {
	return func(r *Request) (err error) {
		*place, err = Get[T](r, path, names...)
		return err
	}
}

// ReadAll reads resources one after another, until one is refused.
func (r *Request) ReadAll(all ...Read) error {
	for _, read := range all {
		if err := read(r); err != nil {
			return err
		}
	}
	return nil
}

// Post requests a change from the API. The form's hidden key makes submitting it twice one request.
func Post[T any](r *Request, path string, body any) (T, error) {
	return Send[T](r, "POST "+path, body)
}

// Send requests a change with another method, such as "PATCH /v1/users/{id}".
func Send[T any](r *Request, call string, body any) (T, error) {
	var made T
	answer, err := r.send(call, body)
	if err == nil {
		made, err = client.Decode[T](answer)
	}
	return made, err
}

// Ask requests a change without reading the response.
func Ask(r *Request, call string) error {
	_, err := r.send(call, nil)
	return err
}

func (r *Request) send(call string, body any) (answer []byte, err error) {
	method, path, _ := strings.Cut(call, " ")
	answer, _, err = r.api.Send(r.Context(), client.Call{
		Method: method, Path: r.fill(path, url.PathEscape), Body: body, IdempotencyKey: r.PostFormValue("key"),
	})
	return answer, err
}

// Shows makes a page from the response to one API request.
func Shows[T any](path string, names ...string) func(*Request) (View, error) {
	return func(r *Request) (View, error) {
		answer, err := Get[T](r, path, names...)
		return View{Data: answer}, err
	}
}

// Lists makes a page that shows a list of the API, converting each entry.
func Lists[T, Shown any](show func(*Request, T) Shown, path string, names ...string) func(*Request) (View, error) {
	return func(r *Request) (View, error) {
		list, err := Get[shape.Page[T]](r, path, names...)
		shown := shape.List(list.Items, func(one T) Shown { return show(r, one) })
		return View{Data: shape.Page[Shown]{Items: shown, NextCursor: list.NextCursor}}, err
	}
}

// Change makes an action that is one request to the API, such as "PATCH /v1/users/{id}". Its body has the named fields
// that the form contains. The action redirects to the page next, which may end with {made}: the id in the response.
func Change(call, next string, fields ...string) func(*Request) (string, error) {
	return func(r *Request) (string, error) {
		answer, err := r.send(call, r.form(fields))
		if err != nil {
			return "", err
		}

		if before, found := strings.CutSuffix(next, "{made}"); found {
			made, err := client.Decode[struct{ ID string }](answer)
			return before + url.PathEscape(made.ID), err
		}
		return r.fill(next, url.PathEscape), nil
	}
}

// form is a request body with fields of a form; nil: no body.
func (r *Request) form(fields []string) any {
	if len(fields) == 0 || r.ParseForm() != nil {
		return nil
	}

	body := map[string]string{}
	for _, field := range fields {
		if r.PostForm.Has(field) {
			body[field] = r.PostForm.Get(field)
		}
	}
	return body
}

// Make makes an action whose response its own page shows, only once. A nil body is none.
func Make[T any](call string, body func(*Request) any) func(*Request) (string, error) {
	return func(r *Request) (next string, err error) {
		var wanted any
		if body != nil {
			wanted = body(r)
		}
		r.Made, err = Send[T](r, call, wanted)
		return "", err
	}
}
