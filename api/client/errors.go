package client

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"

	"stagecoach/api/shape"
	"stagecoach/internal/fault"
)

// Refusal is a problem with which the API responded.
type Refusal shape.Problem

func (r *Refusal) Error() string { return string(r.Code) + ": " + r.Sentence() }

// Sentence says what is wrong, for a person.
func (r *Refusal) Sentence() string {
	if r.Detail != "" {
		return r.Detail
	}
	return r.Title
}

// refusalOf decodes a problem. Anything else, such as a proxy's error page, is converted to one.
func refusalOf(response *http.Response, body []byte) *Refusal {
	r := &Refusal{}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "application/problem+json" || json.Unmarshal(body, r) != nil || r.Code == "" {
		code := fault.Code(fmt.Sprintf("HTTP_%d", response.StatusCode))
		r = &Refusal{Code: code, Detail: "the answer was " + response.Status}
		if to := response.Header.Get("Location"); to != "" {
			r.Detail += "; give the address that it leads to: " + to
		}
	}
	r.Status = response.StatusCode
	return r
}

// Unreachable means that no API answered.
type Unreachable struct {
	Base string // empty: no address is known
	Err  error
}

func (e *Unreachable) Error() string {
	if e.Base == "" {
		return e.Err.Error()
	}
	return fmt.Sprintf("%s does not answer: %v", e.Base, e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// Passing reports whether an error of the API may be transient.
func Passing(err error) bool {
	var away *Unreachable
	var no *Refusal
	return errors.As(err, &away) || errors.As(err, &no) && (no.Status >= 500 || no.Status == http.StatusTooManyRequests)
}
