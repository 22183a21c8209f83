package outbound

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Observer measures the requests to an external system. Each of its functions may be nil.
type Observer struct {
	OnLatency func(ctx context.Context, op string, took time.Duration) // how long each request took, by operation
	OnResult  func(error)                                              // how each call ended, unless its caller left
}

// Took reports a request that is ending now.
func (o Observer) Took(ctx context.Context, op string, began time.Time) {
	if o.OnLatency != nil {
		o.OnLatency(ctx, op, time.Since(began))
	}
}

// Ended reports how a call ended.
func (o Observer) Ended(ctx context.Context, err error) {
	if o.OnResult != nil && ctx.Err() == nil {
		o.OnResult(err)
	}
}

// NewTransport makes a client's transport. connect bounds the TCP handshake and again the TLS handshake.
func NewTransport(connect time.Duration) *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		TLSHandshakeTimeout: connect,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 16,
	}
}

// Client makes requests and reads their complete answers.
type Client struct {
	Observer
	HTTP      *http.Client
	Timeout   time.Duration // for one request including its answer
	MaxAnswer int64         // bytes
}

// Answer is an answer that was read.
type Answer struct {
	Status int // 0: none
	Header http.Header
	Body   []byte
}

// Do makes one request. If the body of an answer is missing, the error comes with the status; ErrTooLong: the body is
// too long.
func (c *Client) Do(ctx context.Context, op string, request *http.Request) (Answer, error) {
	defer c.Took(ctx, op, time.Now())
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()

	response, err := c.HTTP.Do(request.WithContext(ctx))
	if err != nil {
		return Answer{}, err
	}
	defer response.Body.Close()

	body, err := ReadAnswer(response.Body, c.MaxAnswer)
	return Answer{Status: response.StatusCode, Header: response.Header, Body: body}, err
}

// TimedOut reports whether a request failed because its time was over.
func TimedOut(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return errors.Is(err, context.DeadlineExceeded) || ok && timeout.Timeout()
}

// WithoutURL flattens an error of net/http to a text without the request's address.
func WithoutURL(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	return errors.New(err.Error())
}

// RetryAfter reads that header in both its forms, seconds and a date; 0 if it is absent or absurd.
func RetryAfter(header http.Header) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(value, 10, 24); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, time.Until(at))
	}
	return 0
}
