// Package fault is the program's only error type: a machine-readable code, a sentence that people may see, and a cause
// that only the log sees. API, bot and command line map codes to HTTP statuses, texts and exit codes; activities map
// them to Temporal's retryable and non-retryable errors.
package fault

import (
	"errors"
	"fmt"
	"maps"
	"time"
)

// Code names one kind of failure. Codes are public: clients, dashboards and operators match on them.
type Code string

// Error is a failure with a code. Message is safe to show to anyone; Cause is for the log only.
type Error struct {
	Code       Code
	Message    string
	Field      string         // the input field at fault, if any
	Details    map[string]any // machine-readable context, safe to show
	Retryable  bool           // a later attempt may succeed
	RetryAfter time.Duration  // how long the other side asked us to wait; 0 = unknown
	Cause      error
}

// New makes a non-retryable fault with a message that is safe to show.
func New(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Invalid is VALIDATION_ERROR at a field of the request.
func Invalid(field, format string, args ...any) *Error {
	return New(Validation, format, args...).WithField(field)
}

// Error returns code and message, never the cause: the text may reach users and Temporal histories.
func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap exposes the cause to errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// WithCause returns a copy with the underlying error, for the log: WithoutNames.
func (e *Error) WithCause(err error) *Error {
	c := *e
	c.Cause = WithoutNames(err)
	return &c
}

// WithField returns a copy that names the input field at fault.
func (e *Error) WithField(name string) *Error {
	c := *e
	c.Field = name
	return &c
}

// With returns a copy with one more detail.
func (e *Error) With(key string, value any) *Error {
	c := *e
	if c.Details = maps.Clone(e.Details); c.Details == nil {
		c.Details = map[string]any{}
	}
	c.Details[key] = value
	return &c
}

// Retry returns a copy that a later attempt may resolve.
func (e *Error) Retry() *Error {
	c := *e
	c.Retryable = true
	return &c
}

// After returns a retryable copy that asks the caller to wait for d first.
func (e *Error) After(d time.Duration) *Error {
	c := e.Retry()
	c.RetryAfter = d
	return c
}

// As returns the fault in err's chain, or nil.
func As(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	return nil
}

// CodeOf returns the code of the fault in err's chain, or "".
func CodeOf(err error) Code {
	if e := As(err); e != nil {
		return e.Code
	}
	return ""
}
