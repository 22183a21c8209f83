// Package client calls Stagecoach's HTTP API.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"stagecoach/internal/outbound"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes; more cannot be a response of this API
)

// Client calls the HTTP API as one user.
type Client struct {
	Base  string // without a trailing slash
	Token string
	HTTP  *http.Client // nil: one that follows no redirects
}

// direct follows no redirects, so that the token only goes to the given address.
var direct = &http.Client{CheckRedirect: outbound.RefuseRedirects}

// Call is one request to the API.
type Call struct {
	Method         string
	Path           string // with its parts escaped
	Query          url.Values
	Body           any           // sent as JSON; nil: none
	IdempotencyKey string        // empty: none
	Waits          time.Duration // how long the API may wait for something, in addition to the usual time
}

// Send makes the request and returns the response's JSON unchanged. The error is a *Refusal when the API refuses, and
// an *Unreachable when nothing answers.
func (c *Client) Send(ctx context.Context, r Call) (answer []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout+r.Waits)
	defer cancel()

	request, err := c.request(ctx, r)
	if err != nil {
		return nil, 0, err
	}

	response, err := cmp.Or(c.HTTP, direct).Do(request)
	if err != nil {
		return nil, 0, c.noAnswer(err)
	}
	defer response.Body.Close()

	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, 0, c.noAnswer(err)
	}
	if response.StatusCode/100 != 2 {
		return nil, response.StatusCode, refusalOf(response, answer)
	}

	return answer, response.StatusCode, nil
}

// Open makes a request whose response has no end. Its errors are those of Send.
func (c *Client) Open(ctx context.Context, r Call) (stream io.ReadCloser, err error) {
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, err
	}

	response, err := cmp.Or(c.HTTP, direct).Do(request)
	if err != nil {
		return nil, c.noAnswer(err)
	}
	if response.StatusCode/100 == 2 {
		return response.Body, nil
	}

	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		return nil, c.noAnswer(err)
	}

	return nil, refusalOf(response, answer)
}

func (c *Client) request(ctx context.Context, r Call) (*http.Request, error) {
	target := c.Base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}

	var body io.Reader
	if r.Body != nil {
		data, err := json.Marshal(r.Body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}

	request, err := http.NewRequestWithContext(ctx, r.Method, target, body)
	if err != nil {
		return nil, err
	}

	if r.Body != nil {
		request.Header.Set("Content-Type", "application/json")
	}

	if r.IdempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.IdempotencyKey)
	}

	if c.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.Token)
	}
	return request, nil
}

// noAnswer wraps an error as *Unreachable, without the method and URL that net/http repeats.
func (c *Client) noAnswer(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &Unreachable{c.Base, err}
}

// Get reads one resource.
func (c *Client) Get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	answer, _, err := c.Send(ctx, Call{Method: http.MethodGet, Path: path, Query: query})
	return answer, err
}

// Decode decodes a response of the API.
func Decode[T any](answer []byte) (T, error) {
	var value T
	if err := json.Unmarshal(answer, &value); err != nil {
		return value, fmt.Errorf("the answer is not what this API gives (is the address right?): %w", err)
	}
	return value, nil
}

// Ask makes a request and decodes the response.
func Ask[T any](ctx context.Context, c *Client, r Call) (T, error) {
	answer, _, err := c.Send(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	return Decode[T](answer)
}
