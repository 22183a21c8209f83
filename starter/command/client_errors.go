package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
)

// refusal is an RFC 9457 problem that the API answered with.
type refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
	// Details tell more; which depends on the code.
	Details map[string]any `json:"details"`
	Errors  []struct {
		Field   string `json:"field"`
		Message string `json:"message"`
	} `json:"errors"`
}

func (r *refusal) Error() string { return r.Code + ": " + r.sentence() }

func (r *refusal) sentence() string {
	if r.Detail != "" {
		return r.Detail
	}
	return r.Title
}

// refusalOf reads a problem. What is none, such as the error page of a proxy, becomes one.
func refusalOf(response *http.Response, body []byte) *refusal {
	r := &refusal{}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "application/problem+json" || json.Unmarshal(body, r) != nil || r.Code == "" {
		r = &refusal{Code: fmt.Sprintf("HTTP_%d", response.StatusCode), Detail: "the answer was " + response.Status}
	}
	r.Status = response.StatusCode
	return r
}

// unreachable says that no API answered.
type unreachable struct {
	base string // empty: no address is known
	err  error
}

func (e *unreachable) Error() string {
	if e.base == "" {
		return e.err.Error()
	}
	return fmt.Sprintf("%s does not answer: %v", e.base, e.err)
}

func (e *unreachable) Unwrap() error { return e.err }

// passing says whether an error of the API may be over in a moment.
func passing(err error) bool {
	var away *unreachable
	var no *refusal
	return errors.As(err, &away) || errors.As(err, &no) && (no.Status >= 500 || no.Status == http.StatusTooManyRequests)
}
