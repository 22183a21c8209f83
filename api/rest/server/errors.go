package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/api/shape"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
)

// Kind maps a code to HTTP: its status, and its general meaning.
type Kind struct {
	Status int
	Title  string
}

// statusCallerLeft only appears in the access log.
const statusCallerLeft = 499

// commonKinds are the codes that belong to no workload.
var commonKinds = map[fault.Code]Kind{
	fault.Validation:           {Status: http.StatusUnprocessableEntity, Title: "Invalid input"},
	fault.BodyTooLarge:         {Status: http.StatusRequestEntityTooLarge, Title: "The request body is too large"},
	fault.MediaType:            {Status: http.StatusUnsupportedMediaType, Title: "The request body is not JSON"},
	fault.RequestTimeout:       {Status: http.StatusRequestTimeout, Title: "The request body arrived too slowly"},
	fault.MethodNotAllowed:     {Status: http.StatusMethodNotAllowed, Title: "Method not allowed"},
	fault.Unauthenticated:      {Status: http.StatusUnauthorized, Title: "A valid token is required"},
	fault.UserNotActive:        {Status: http.StatusForbidden, Title: "The user is not active"},
	fault.InsufficientAccess:   {Status: http.StatusForbidden, Title: "Insufficient access"},
	fault.RateLimited:          {Status: http.StatusTooManyRequests, Title: "Too many requests"},
	fault.StreamsFull:          {Status: http.StatusServiceUnavailable, Title: "Too many event streams"},
	fault.CursorGone:           {Status: http.StatusGone, Title: "The position in the stream is gone"},
	fault.QuotaExceeded:        {Status: http.StatusConflict, Title: "Limit reached"},
	fault.InsufficientScope:    {Status: http.StatusForbidden, Title: "The token lacks a required scope"},
	fault.ConfirmationRequired: {Status: http.StatusForbidden, Title: "The session requires confirmation"},
	fault.LinkSpent:            {Status: http.StatusGone, Title: "The link is no longer valid"},
	fault.SignInExpired:        {Status: http.StatusGone, Title: "The sign-in has expired"},
	fault.SignInNotVerified:    {Status: http.StatusForbidden, Title: "The provider did not verify this identity"},
	fault.SignInProviderAway:   {Status: http.StatusBadGateway, Title: "The sign-in provider is not responding"},
	fault.TokenNotFound:        {Status: http.StatusNotFound, Title: "Token not found"},
	fault.OwnAccess:            {Status: http.StatusConflict, Title: "Administrators cannot remove their own access"},
	fault.LastAdmin:            {Status: http.StatusConflict, Title: "The last administrator cannot be removed"},
	fault.NotFound:             {Status: http.StatusNotFound, Title: "Path not found"},
	fault.UserNotFound:         {Status: http.StatusNotFound, Title: "User not found"},
	fault.UserExists:           {Status: http.StatusConflict, Title: "The user already exists"},
	fault.InvalidTransition:    {Status: http.StatusConflict, Title: "Not allowed in the current state"},
	fault.NotConfigured:        {Status: http.StatusServiceUnavailable, Title: "This part of the service is disabled"},

	fault.StoreUnavailable:    {Status: http.StatusServiceUnavailable, Title: "The database is unavailable"},
	fault.TemporalUnavailable: {Status: http.StatusServiceUnavailable, Title: "The workflow service is unreachable"},
	fault.WorkflowPaused:      {Status: http.StatusConflict, Title: "An operator has paused the workflow"},
	fault.Internal:            {Status: http.StatusInternalServerError, Title: "Internal error"},
}

// Problem is a failure as the caller sees it.
type Problem struct {
	shape.Problem
	header http.Header
}

// NewProblem returns a problem whose code belongs to no workload.
func NewProblem(code fault.Code, detail string) *Problem {
	return commonKinds[code].problem(code, detail)
}

func (k Kind) problem(code fault.Code, detail string) *Problem {
	return &Problem{header: http.Header{}, Problem: shape.Problem{
		Type: "/docs#" + string(code), Title: k.Title, Status: k.Status, Detail: detail, Code: code,
		Details: map[string]any{}, Errors: []shape.FieldError{},
	}}
}

// at adds an invalid field.
func (p *Problem) at(field, message string) {
	p.Errors = append(p.Errors, shape.FieldError{Field: field, Message: message})
}

// Error implements huma.StatusError, as GetStatus does.
func (p *Problem) Error() string { return p.Detail }

// GetStatus returns the status of the response.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemJSON }

// problem converts any error into what the caller may see of it; the rest is logged.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	f := fault.As(err)
	if f == nil || s.Kinds[f.Code].Status == 0 {
		f = fault.New(fault.Internal, "internal error: give its operators the request id").WithCause(err)
	}

	if limit := allowance.LimitOf(f); limit != "" {
		s.OnRefused(limit)
	}

	p := s.Kinds[f.Code].problem(f.Code, f.Message)
	maps.Copy(p.Details, f.Details)
	if f.Field != "" {
		p.at(f.Field, f.Message)
	}

	if f == errBodyUnread {
		p.Status = http.StatusBadRequest
	}

	if f.RetryAfter > 0 {
		p.header.Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds()+0.999)))
	}

	if errors.Is(ctx.Err(), context.Canceled) { // the client has disconnected: nothing has failed
		p.Status = statusCallerLeft
	}

	if p.Status >= 500 {
		s.Log.Error("request failed", "request", noteOf(ctx).id, "code", f.Code, "error", f.Cause)
	}
	return p
}

func (p *Problem) Write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", problemJSON)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client has disconnected
}

// Huma keeps these settings in global variables.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return refused(status, message, errs)
	}

	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		if wrong, ok := ctx.Context().Value(wrongBodyKey{}).(*wrongBody); ok {
			status, errs = wrong.status, append(slices.DeleteFunc(errs, aboutBody), wrong.errs...)
		}

		return refused(status, message, errs)
	}

	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
}

// refused builds the problem for a request that huma itself rejects.
func refused(status int, message string, errs []error) *Problem {
	p := NewProblem(fault.Internal, "internal error: give its operators the request id")
	switch {
	case status == http.StatusBadRequest:
		p = NewProblem(fault.Validation, "the body cannot be read")
		p.Status = http.StatusBadRequest
	case status == http.StatusUnprocessableEntity:
		p = NewProblem(fault.Validation, "the input is wrong: see errors")
	case status == http.StatusUnsupportedMediaType:
		p = NewProblem(fault.MediaType, "send the body as application/json")
	}

	for _, err := range errs[:min(len(errs), maxErrors)] {
		if detail, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			p.Errors = append(p.Errors, fieldOf(detail))
		}
	}

	if len(p.Errors) == 0 && p.Status < 500 {
		p.at("body", p.Detail)
	}
	return p
}

// aboutBody reports whether an error concerns a body as a whole.
func aboutBody(err error) bool {
	detail, ok := errors.AsType[*huma.ErrorDetail](err)
	return ok && detail.Location == "body"
}

var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// fieldOf names a field as the caller does: "file_id", not "body.file_id".
func fieldOf(detail *huma.ErrorDetail) shape.FieldError {
	field, message := detail.Location, detail.Message
	if m := missing.FindStringSubmatch(message); m != nil {
		field, message = field+"."+m[1], "is required"
	}

	if strings.HasPrefix(message, "required ") && strings.HasSuffix(message, " parameter is missing") {
		message = "is required"
	}

	if field == "body" && message != "expected object" {
		message = "this is not the JSON that was expected" // the parser's message names our types
	}

	for _, place := range []string{"body.", "query.", "path.", "header."} {
		if name, ok := strings.CutPrefix(field, place); ok {
			field = name
			break
		}
	}

	if key, ok := detail.Value.(string); ok && field == idempotencyKey {
		message = keyProblem(key)
	}
	return shape.FieldError{Field: field, Message: message}
}

// maxKey is how many characters an Idempotency-Key may have.
const maxKey = 255

// keyProblem explains why an Idempotency-Key is invalid.
func keyProblem(key string) string {
	if key == "" {
		return "is required"
	}
	for i, r := range []rune(key) {
		if r < '!' || r > '~' {
			return fmt.Sprintf("character %d is %U: only visible ASCII characters without spaces are allowed", i+1, r)
		}
	}
	return fmt.Sprintf("has %d characters: at most %d are allowed", len(key), maxKey)
}
