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

// Kind is how a code looks over HTTP: its status, and what it means in general.
type Kind struct {
	Status int
	Title  string
}

// statusCallerLeft is seen in the access log only.
const statusCallerLeft = 499

// Kinds is every code that this door can answer with. A code that is missing here is answered as INTERNAL.
var Kinds = map[fault.Code]Kind{
	fault.Validation:          {http.StatusUnprocessableEntity, "The input is wrong"},
	fault.IdempotencyKey:      {http.StatusUnprocessableEntity, "An Idempotency-Key is required"},
	fault.BodyTooLarge:        {http.StatusRequestEntityTooLarge, "The body is larger than 1 MiB"},
	fault.MediaType:           {http.StatusUnsupportedMediaType, "The body is not JSON"},
	fault.RequestTimeout:      {http.StatusRequestTimeout, "The body came too slowly"},
	fault.MetricsMoved:        {http.StatusGone, "The metrics are served elsewhere"},
	fault.MethodNotAllowed:    {http.StatusMethodNotAllowed, "The method is not possible here"},
	fault.Unauthenticated:     {http.StatusUnauthorized, "A valid token is required"},
	fault.UserNotActive:       {http.StatusForbidden, "The user is not active"},
	fault.InsufficientAccess:  {http.StatusForbidden, "This caller may not do this"},
	fault.RateLimited:         {http.StatusTooManyRequests, "Too many requests"},
	fault.StreamsFull:         {http.StatusServiceUnavailable, "Too many event streams"},
	fault.CursorGone:          {http.StatusGone, "The place in the stream is gone"},
	fault.QuotaExceeded:       {http.StatusConflict, "A limit is reached"},
	fault.InsufficientScope:   {http.StatusForbidden, "The token lacks a scope"},
	fault.TokenNotFound:       {http.StatusNotFound, "There is no such token"},
	fault.OwnAccess:           {http.StatusConflict, "Administrators cannot take away their own access"},
	fault.LastAdmin:           {http.StatusConflict, "The last administrator cannot be removed"},
	fault.NotFound:            {http.StatusNotFound, "Nothing is at this path"},
	fault.UserNotFound:        {http.StatusNotFound, "There is no such user"},
	fault.UserExists:          {http.StatusConflict, "The user exists already"},
	fault.DeliveryNotFound:    {http.StatusNotFound, "There is no such delivery"},
	fault.InvalidTransition:   {http.StatusConflict, "Not possible in this state"},
	fault.NoTelegramChat:      {http.StatusConflict, "The user has no Telegram chat"},
	fault.WorkspaceNotFound:   {http.StatusNotFound, "There is no such workspace"},
	fault.TaskNotFound:        {http.StatusNotFound, "There is no such task"},
	fault.TaskAlreadyClaimed:  {http.StatusConflict, "Somebody else has the task"},
	fault.UnresolvedBlockers:  {http.StatusConflict, "The task waits for others"},
	fault.CannotEscalateOwn:   {http.StatusConflict, "The caller works on this task"},
	fault.CannotTakeover:      {http.StatusConflict, "The caller has this task already"},
	fault.CommentRequired:     {http.StatusUnprocessableEntity, "A comment is required"},
	fault.CyclicDependency:    {http.StatusUnprocessableEntity, "The tasks wait for each other"},
	fault.UnknownBlocker:      {http.StatusUnprocessableEntity, "A blocker is not known"},
	fault.BookNotFound:        {http.StatusNotFound, "There is no such book"},
	fault.DownloadNotFound:    {http.StatusNotFound, "There is no such download"},
	fault.TransactionNotFound: {http.StatusNotFound, "There is no such transaction"},
	fault.PaymentUndecided:    {http.StatusConflict, "A payment may have moved money"},
	fault.NotConfigured:       {http.StatusServiceUnavailable, "This part of the service is switched off"},
	fault.FileNotFound:        {http.StatusNotFound, "There is no such file or folder"},
	fault.FileIsFolder:        {http.StatusUnprocessableEntity, "This is a folder"},
	fault.FileEmpty:           {http.StatusUnprocessableEntity, "The file is empty"},
	fault.FileTooBig:          {http.StatusUnprocessableEntity, "The file is too big"},
	fault.FileChanged:         {http.StatusConflict, "The file has changed"},

	fault.YandexUnauthorized:   {http.StatusServiceUnavailable, "The file storage refuses the service"},
	fault.YandexRateLimited:    {http.StatusServiceUnavailable, "The file storage is busy"},
	fault.YandexLocked:         {http.StatusServiceUnavailable, "The file is locked"},
	fault.YandexUnavailable:    {http.StatusServiceUnavailable, "The file storage has a problem"},
	fault.YandexTimeout:        {http.StatusServiceUnavailable, "The file storage is slow"},
	fault.YandexUnreachable:    {http.StatusServiceUnavailable, "The file storage cannot be reached"},
	fault.YandexProtocol:       {http.StatusServiceUnavailable, "The file storage sent an unexpected answer"},
	fault.ProviderUnavailable:  {http.StatusServiceUnavailable, "qBittorrent cannot be reached"},
	fault.ProviderUnauthorized: {http.StatusServiceUnavailable, "qBittorrent refuses the service"},
	fault.ProviderRejected:     {http.StatusServiceUnavailable, "qBittorrent refuses the request"},
	fault.ChainUnauthorized:    {http.StatusServiceUnavailable, "The TON network's gateway refuses the service"},
	fault.ChainRateLimited:     {http.StatusServiceUnavailable, "The TON network's gateway is busy"},
	fault.ChainUnavailable:     {http.StatusServiceUnavailable, "The TON network's gateway has a problem"},
	fault.ChainTimeout:         {http.StatusServiceUnavailable, "The TON network's gateway is slow"},
	fault.ChainUnreachable:     {http.StatusServiceUnavailable, "The TON network's gateway cannot be reached"},
	fault.ChainClock:           {http.StatusServiceUnavailable, "The clock of the TON network's gateway is wrong"},
	fault.ChainProtocol:        {http.StatusServiceUnavailable, "The TON network's gateway sent an unexpected answer"},
	fault.StoreUnavailable:     {http.StatusServiceUnavailable, "The database cannot be reached"},
	fault.TemporalUnavailable:  {http.StatusServiceUnavailable, "The workflow service cannot be reached"},
	fault.Internal:             {http.StatusInternalServerError, "Internal error"},
}

// Problem is a failure on its way to a caller.
type Problem struct {
	shape.Problem
	header http.Header
}

func NewProblem(code fault.Code, detail string) *Problem {
	return &Problem{header: http.Header{}, Problem: shape.Problem{
		Type: "/docs#" + string(code), Title: Kinds[code].Title, Status: Kinds[code].Status, Detail: detail, Code: code,
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
	if f != nil && Kinds[f.Code].Status == 0 || f == nil {
		f = fault.New(fault.Internal, "the service has failed; the request id tells its operators more").WithCause(err)
	}

	if limit := allowance.LimitOf(f); limit != "" {
		s.OnRefused(limit)
	}

	p := NewProblem(f.Code, f.Message)
	maps.Copy(p.Details, f.Details)
	if f.Field != "" {
		p.at(f.Field, f.Message)
	}

	if f.RetryAfter > 0 {
		p.header.Set("Retry-After", strconv.Itoa(int(f.RetryAfter.Seconds()+0.999)))
	}

	if errors.Is(ctx.Err(), context.Canceled) { // nobody reads this any more, and nothing has failed
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
	_ = json.NewEncoder(w).Encode(p) // whoever asked has left
}

// Huma keeps how it makes errors, and these habits, for the whole program.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		return refused(status, message, errs)
	}

	huma.NewErrorWithContext = func(ctx huma.Context, status int, message string, errs ...error) huma.StatusError {
		p := refused(status, message, errs)
		if keyRequired(ctx.Operation()) && slices.ContainsFunc(p.Errors, func(e shape.FieldError) bool { return e.Field == idempotencyKey }) {
			p.Code = fault.IdempotencyKey
			p.Type, p.Title = "/docs#"+string(p.Code), Kinds[p.Code].Title
		}
		return p
	}

	huma.ValidateStrictCasing = true
	huma.DefaultArrayNullable = false
}

// refused is what huma itself found wrong with a request.
func refused(status int, message string, errs []error) *Problem {
	unread := status == http.StatusInternalServerError && message == "cannot read request body" // it was cut off
	p := NewProblem(fault.Internal, "the service has failed; the request id tells its operators more")
	switch {
	case status == http.StatusBadRequest, unread:
		p = NewProblem(fault.Validation, "the body cannot be read")
		p.Status = http.StatusBadRequest
	case status == http.StatusUnprocessableEntity:
		p = NewProblem(fault.Validation, "the input is wrong: see errors")
	case status == http.StatusRequestEntityTooLarge:
		p = NewProblem(fault.BodyTooLarge, "a body has at most 1 MiB")
	case status == http.StatusUnsupportedMediaType:
		p = NewProblem(fault.MediaType, "send the body as application/json")
	case status == http.StatusRequestTimeout:
		p = NewProblem(fault.RequestTimeout, "the body did not come in time")
	}

	for _, err := range errs {
		if detail, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			p.Errors = append(p.Errors, fieldOf(detail))
		}
	}

	if len(p.Errors) == 0 && p.Status < 500 {
		p.at("body", p.Detail)
	}
	return p
}

// keyRequired says whether an operation insists on an Idempotency-Key.
func keyRequired(op *huma.Operation) bool {
	return slices.ContainsFunc(op.Parameters, func(p *huma.Param) bool { return p.Name == idempotencyKey && p.Required })
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
