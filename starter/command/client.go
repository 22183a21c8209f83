package command

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

const (
	callTimeout = 30 * time.Second
	maxAnswer   = 64 << 20 // bytes; more is no answer of this API
)

// client calls the HTTP API as one user.
type client struct {
	base  string // without a slash at the end
	token string
}

// call is one request to the API.
type call struct {
	method         string
	path           string // with its parts escaped
	query          url.Values
	body           any    // sent as JSON; nil: none
	idempotencyKey string // empty: none
}

// send makes the request and gives the JSON of the answer, as it came. Its error is a *refusal when the API said no,
// and an *unreachable when nobody answered.
func (c *client) send(ctx context.Context, r call) (answer []byte, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	request, err := c.request(ctx, r)
	if err != nil {
		return nil, 0, err
	}
	response, err := http.DefaultClient.Do(request)
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

func (c *client) request(ctx context.Context, r call) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, r.method, target, body)
	if err != nil {
		return nil, err
	}
	if r.body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if r.idempotencyKey != "" {
		request.Header.Set("Idempotency-Key", r.idempotencyKey)
	}
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	return request, nil
}

// noAnswer drops net/http's repetition of method and address.
func (c *client) noAnswer(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return &unreachable{c.base, err}
}

// get reads one resource.
func (c *client) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	answer, _, err := c.send(ctx, call{method: http.MethodGet, path: path, query: query})
	return answer, err
}

// decode reads an answer of the API.
func decode[T any](answer []byte) (T, error) {
	var value T
	if err := json.Unmarshal(answer, &value); err != nil {
		return value, fmt.Errorf("the answer is not what this API gives (is the address right?): %w", err)
	}
	return value, nil
}

// answerTo makes a request and reads the answer.
func answerTo[T any](ctx context.Context, c *client, r call) (T, error) {
	answer, _, err := c.send(ctx, r)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](answer)
}
