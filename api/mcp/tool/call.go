package tool

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"time"

	"stagecoach/api/client"
	"stagecoach/api/rest/server"
	"stagecoach/internal/store/account"
)

// Call is one call of a tool.
type Call struct {
	Who     server.Principal
	Tools   []string       // that the caller may call
	api     *client.Client // as the caller
	streams *client.Client // the same, for responses without an end
}

// Grants reports whether the caller's token has a scope.
func (c *Call) Grants(scope account.Scope) bool { return c.Who.Require(scope) == nil }

// Get reads one resource of the API.
func Get[T any](ctx context.Context, c *Call, path string, query url.Values) (T, error) {
	return client.Ask[T](ctx, c.api, client.Call{Method: http.MethodGet, Path: path, Query: query})
}

// Open opens a response without an end. The caller closes it, and cancels ctx.
func Open(ctx context.Context, c *Call, path string, query url.Values) (io.ReadCloser, error) {
	return c.streams.Open(ctx, client.Call{Method: http.MethodGet, Path: path, Query: query})
}

// Post requests a change from the API. Repeating the key returns the first response.
func Post[T any](ctx context.Context, c *Call, path string, body any, key Key) (T, error) {
	return Send[T](ctx, c, http.MethodPost, path, body, key)
}

// Send is Post with another method.
func Send[T any](ctx context.Context, c *Call, method, path string, body any, key Key) (T, error) {
	return client.Ask[T](ctx, c.api, client.Call{
		Method: method, Path: path, Body: body, IdempotencyKey: string(key), Waits: MaxWait * time.Second,
	})
}

// Body is a request's body. Empty fields are omitted: the API reports missing ones.
type Body map[string]any

// MarshalJSON implements json.Marshaler.
func (b Body) MarshalJSON() ([]byte, error) {
	filled := make(map[string]any, len(b))
	for name, value := range b {
		if v := reflect.ValueOf(value); v.IsValid() && !v.IsZero() {
			filled[name] = value
		}
	}
	return json.Marshal(filled)
}

// Query has the parameters of a list. Empty ones are omitted.
type Query map[string]string

// Page returns the parameters for a page of a list, 20 items by default.
func (q Query) Page(limit Limit) url.Values {
	values := url.Values{"limit": {strconv.Itoa(int(cmp.Or(limit, 20)))}}
	for name, value := range q {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values
}
