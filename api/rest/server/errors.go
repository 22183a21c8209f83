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

// Kind is how HTTP shows a code: its status, and what it means in general.
type Kind struct {
	Status int
	Title  string
}

// statusCallerLeft appears in the access log only.
const statusCallerLeft = 499

// commonKinds are the codes that belong to no workload.
var commonKinds = map[fault.Code]Kind{
	fault.Validation:           {Status: http.StatusUnprocessableEntity, Title: "The input is wrong"},
	fault.BodyTooLarge:         {Status: http.StatusRequestEntityTooLarge, Title: "The body is too large"},
	fault.MediaType:            {Status: http.StatusUnsupportedMediaType, Title: "The body is not JSON"},
	fault.RequestTimeout:       {Status: http.StatusRequestTimeout, Title: "The body came too slowly"},
	fault.MethodNotAllowed:     {Status: http.StatusMethodNotAllowed, Title: "The method is not possible here"},
	fault.Unauthenticated:      {Status: http.StatusUnauthorized, Title: "A valid token is required"},
	fault.UserNotActive:        {Status: http.StatusForbidden, Title: "The user is not active"},
	fault.InsufficientAccess:   {Status: http.StatusForbidden, Title: "This caller may not do this"},
	fault.RateLimited:          {Status: http.StatusTooManyRequests, Title: "Too many requests"},
	fault.StreamsFull:          {Status: http.StatusServiceUnavailable, Title: "Too many event streams"},
	fault.CursorGone:           {Status: http.StatusGone, Title: "The place in the stream is gone"},
	fault.QuotaExceeded:        {Status: http.StatusConflict, Title: "A limit is reached"},
	fault.InsufficientScope:    {Status: http.StatusForbidden, Title: "The token lacks a scope"},
	fault.ConfirmationRequired: {Status: http.StatusForbidden, Title: "The person of the session has to be confirmed"},
	fault.LinkSpent:            {Status: http.StatusGone, Title: "The link cannot be used any more"},
	fault.SignInExpired:        {Status: http.StatusGone, Title: "Signing in has to begin again"},
	fault.SignInNotVerified:    {Status: http.StatusForbidden, Title: "The provider has not proved who this is"},
	fault.SignInProviderAway:   {Status: http.StatusBadGateway, Title: "The provider that signs people in does not answer"},
	fault.TokenNotFound:        {Status: http.StatusNotFound, Title: "There is no such token"},
	fault.OwnAccess:            {Status: http.StatusConflict, Title: "Administrators cannot take away their own access"},
	fault.LastAdmin:            {Status: http.StatusConflict, Title: "The last administrator cannot be removed"},
	fault.NotFound:             {Status: http.StatusNotFound, Title: "Nothing is at this path"},
	fault.UserNotFound:         {Status: http.StatusNotFound, Title: "There is no such user"},
	fault.UserExists:           {Status: http.StatusConflict, Title: "The user exists already"},
	fault.InvalidTransition:    {Status: http.StatusConflict, Title: "Not possible in this state"},
	fault.NotConfigured:        {Status: http.StatusServiceUnavailable, Title: "This part of the service is switched off"},

	fault.StoreUnavailable:    {Status: http.StatusServiceUnavailable, Title: "The database cannot be reached"},
	fault.TemporalUnavailable: {Status: http.StatusServiceUnavailable, Title: "The workflow service cannot be reached"},
	fault.WorkflowPaused:      {Status: http.StatusConflict, Title: "An operator has paused the workflow"},
	fault.Internal:            {Status: http.StatusInternalServerError, Title: "Internal error"},
}

// Problem is a failure on its way to a caller.
type Problem struct {
	shape.Problem
	header http.Header
}

// NewProblem makes a problem whose code belongs to no workload.
func NewProblem(code fault.Code, detail string) *Problem {
	return commonKinds[code].problem(code, detail)
}

func (k Kind) problem(code fault.Code, detail string) *Problem {
	return &Problem{header: http.Header{}, Problem: shape.Problem{
		Type: "/docs#" + string(code), Title: k.Title, Status: k.Status, Detail: detail, Code: code,
		Details: map[string]any{}, Errors: []shape.FieldError{},
	}}
}

// at names a field at fault.
func (p *Problem) at(field, message string) {
	p.Errors = append(p.Errors, shape.FieldError{Field: field, Message: message})
}

// Error implements huma.StatusError, as GetStatus does.
func (p *Problem) Error() string { return p.Detail }

// GetStatus gives the status of the answer.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return problemJSON }

// problem turns any error into what the caller may see of it; the rest goes to the log.
func (s *Server) problem(ctx context.Context, err error) *Problem {
	f := fault.As(err)
	if f == nil || s.Kinds[f.Code].Status == 0 {
		f = fault.New(fault.Internal, "the service has failed; the request id tells its operators more").WithCause(err)
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

	if errors.Is(ctx.Err(), context.Canceled) { // the client has left: nothing has failed
		p.Status = statusCallerLeft
	}

	if p.Status >= 500 {
		s.Log.Error("a request failed", "request", noteOf(ctx).id, "code", f.Code, "error", f.Cause)
	}
	return p
}

func (p *Problem) Write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", problemJSON)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // an error means that the client has left
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

// refused makes the problem of a request that huma itself refuses.
func refused(status int, message string, errs []error) *Problem {
	p := NewProblem(fault.Internal, "the service has failed; the request id tells its operators more")
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

// aboutBody says whether an error is about a body as a whole.
func aboutBody(err error) bool {
	detail, ok := errors.AsType[*huma.ErrorDetail](err)
	return ok && detail.Location == "body"
}

var missing = regexp.MustCompile(`^expected required property (\S+) to be present$`)

// fieldOf names a field as its caller does: "file_id", not "body.file_id".
func fieldOf(detail *huma.ErrorDetail) shape.FieldError {
	field, message := detail.Location, detail.Message
	if m := missing.FindStringSubmatch(message); m != nil {
		field, message = field+"."+m[1], "is required"
	}

	if strings.HasPrefix(message, "required ") && strings.HasSuffix(message, " parameter is missing") {
		message = "is required"
	}

	if field == "body" && message != "expected object" {
		message = "this is not the JSON that was expected" // the parser's own words name types of ours
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

// keyProblem says what is wrong with an Idempotency-Key that is not allowed.
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
