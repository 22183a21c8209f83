package server

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

const (
	readTime       = 30 * time.Second
	answerTime     = 20 * time.Second // for one request that is not a stream, in addition to reading its body
	auditTime      = 2 * time.Second  // for an audit entry, even if the client has disconnected
	bearer         = "bearer"
	idempotencyKey = "Idempotency-Key"
	problemJSON    = "application/problem+json"
)

// Access says who may call an operation.
type Access int

const (
	ForAnyone Access = iota
	ForUsers         // active users
	ForAdmins
)

// AnyScope is the scope of operations that every token may call: those on the user's own tokens, which check scopes
// themselves.
const AnyScope account.Scope = "any"

// Operation is one row of the API.
type Operation struct {
	Id          string
	Route       string // method and path: "GET /v1/users/{id}"
	Summary     string // one line
	Description string // optional, more than a line
	Access      Access
	Scope       account.Scope  // required of the token; empty where access is ForAnyone
	Subject     string         // what {id} or {hash} names, in the audit log: "user"
	Status      int            // on success; 0 is 200
	Also        int            // a second success status with the same body; 0 is none
	Stream      bool           // the response has no end
	Waits       time.Duration  // how long the response may wait for something, in addition to the usual time
	Body        int64          // limit of the body, in bytes; 0 is SmallBody
	Confirms    bool           // a calling session must have been confirmed recently
	Answers     *huma.Response // of a success that is not JSON
	Faults      []fault.Code   // in addition to those of its group, and those of any operation
}

// Group is what operations on a subject have in common. An operation may override access, scope or subject.
type Group struct {
	*Server
	Tag     string // the heading in the document
	Access  Access
	Scope   account.Scope
	Subject string
	Faults  []fault.Code
}

// complete fills in what an operation leaves to its group.
func (g Group) complete(op Operation) Operation {
	op.Access = cmp.Or(op.Access, g.Access)
	op.Scope = cmp.Or(op.Scope, g.Scope)
	op.Subject = cmp.Or(op.Subject, g.Subject)
	op.Faults = slices.Concat(op.Faults, g.Faults)
	op.Body = cmp.Or(op.Body, SmallBody)
	return op
}

// Register adds an operation to the API. handle returns the body of a success.
func Register[In, Body any](g Group, op Operation, handle func(context.Context, *In) (Body, error)) {
	RegisterRaw(g, op, func(ctx context.Context, in *In) (*answer[Body], error) {
		body, err := handle(ctx, in)
		return &answer[Body]{Body: body}, err
	})
}

// RegisterSilent adds an operation whose success has no body.
func RegisterSilent[In any](g Group, op Operation, handle func(context.Context, *In) error) {
	op.Status = http.StatusNoContent
	RegisterRaw(g, op, func(ctx context.Context, in *In) (*struct{}, error) { return &struct{}{}, handle(ctx, in) })
}

// Shown returns the body that shows a row, or err if it is set.
func Shown[Row, Body any](row Row, err error, show func(Row) Body) (body Body, _ error) {
	if err != nil {
		return body, err
	}
	return show(row), nil
}

// answer is a success with a body.
type answer[T any] struct{ Body T }

// Made is the response of an operation that creates an entity, or returns the one created before.
type Made[T any] struct {
	Status int
	Body   T
}

// MadeOf responds 201 if the request has created the entity, and 200 if it existed.
func MadeOf[T any](body T, created bool) *Made[T] {
	if created {
		return &Made[T]{http.StatusCreated, body}
	}
	return &Made[T]{http.StatusOK, body}
}

// RegisterRaw adds an operation whose response is more than a body.
func RegisterRaw[In, Out any](g Group, op Operation, handle func(context.Context, *In) (*Out, error)) {
	op = g.complete(op)
	method, path, _ := strings.Cut(op.Route, " ")
	body, hasBody := reflect.TypeFor[In]().FieldByName("Body")
	described := huma.Operation{
		OperationID: op.Id, Method: method, Path: path, Tags: []string{g.Tag},
		Summary: op.Summary, Description: op.Description,
		DefaultStatus: op.Status, Responses: g.responses(op, hasBody),
		MaxBodyBytes: op.Body + 1, BodyReadTimeout: -1, // takeBody limits both
		Middlewares: huma.Middlewares{traced(op), g.admit(op)},
	}

	var scoped []scopedField
	if hasBody {
		if scoped = scopedFieldsOf(body.Type); len(scoped) > 0 {
			scopes := map[string]account.Scope{}
			for _, field := range scoped {
				scopes[field.name] = field.scope
			}
			described.Extensions = map[string]any{FieldScopes: scopes}
		}
		described.RequestBody = &huma.RequestBody{Description: "At most " + sizeOf(op.Body) + "."}
		described.SkipValidateBody = true // takeBody does it
		described.Middlewares = append(described.Middlewares, g.takeBody(op))
	}

	described.Security = []map[string][]string{} // an explicitly empty list: no token needed
	if op.Access != ForAnyone {
		described.Security = append(described.Security, map[string][]string{bearer: op.scopes()})
	}
	if op.Scope == account.ScopeLibrary { // either one grants access
		described.Security = append(described.Security, map[string][]string{bearer: {string(account.ScopeRead)}})
	}

	huma.Register(g.api, described, func(ctx context.Context, in *In) (*Out, error) {
		if !op.Stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, answerTime+op.Waits-noteOf(ctx).identified)
			defer cancel()
		}
		if len(scoped) > 0 {
			if err := g.admitFields(ctx, reflect.ValueOf(in).Elem().FieldByIndex(body.Index), scoped); err != nil {
				return nil, g.problem(ctx, err)
			}
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, g.problem(ctx, err)
		}
		return out, nil
	})

	if op.Also != 0 {
		documentAlso(g.OpenAPI().Paths[path].Post, op)
	}
}

// scopes lists an operation's scope for the document.
func (op Operation) scopes() []string {
	if op.Scope == AnyScope {
		return []string{}
	}
	return []string{string(op.Scope)}
}

// responses documents an operation's errors, and successes that are not JSON.
func (s *Server) responses(op Operation, hasBody bool) map[string]*huma.Response {
	codes := append(
		[]fault.Code{fault.Internal, fault.StoreUnavailable, fault.Validation, fault.BodyTooLarge}, op.Faults...,
	)

	if op.Access >= ForUsers {
		codes = append(codes, fault.Unauthenticated, fault.UserNotActive, fault.InsufficientScope, fault.RateLimited)
	}

	if op.Access >= ForAdmins {
		codes = append(codes, fault.InsufficientAccess)
	}

	if op.Confirms {
		codes = append(codes, fault.ConfirmationRequired)
	}

	if hasBody {
		codes = append(codes, fault.MediaType, fault.RequestTimeout)
	}

	byStatus := map[int][]string{http.StatusBadRequest: {"`" + string(fault.Validation) + "`"}}
	for _, code := range codes {
		byStatus[s.Kinds[code].Status] = append(byStatus[s.Kinds[code].Status], "`"+string(code)+"`")
	}

	schema := SchemaOf[Problem](s)
	responses := map[string]*huma.Response{}
	for status, names := range byStatus {
		slices.Sort(names)
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(slices.Compact(names), ", ")),
			Content:     map[string]*huma.MediaType{problemJSON: {Schema: schema}},
		}
	}

	if op.Answers != nil {
		responses["200"] = op.Answers
	}
	return responses
}

// documentAlso copies the success response to a second status.
func documentAlso(described *huma.Operation, op Operation) {
	copied := *described.Responses[strconv.Itoa(op.Status)]
	copied.Description = http.StatusText(op.Also)
	described.Responses[strconv.Itoa(op.Also)] = &copied
}

// SchemaPrefix precedes the name of a schema in a reference.
const SchemaPrefix = "#/components/schemas/"

// schemaName names a type in the document: shape.Delivery is Delivery, shape.Page[shape.Delivery] is DeliveryPage.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if inner, ok := strings.CutPrefix(name, "Page"); ok && inner != "" {
		return inner + "Page"
	}
	return name
}

// Keyed is the optional idempotency key of a changing request, so that it can be repeated when its response was lost.
type Keyed struct {
	Key string `header:"Idempotency-Key" pattern:"^[!-~]{1,255}$" patternDescription:"1 to 255 visible ASCII characters" example:"b5f0" doc:"Repeating a request with the same key returns the first response and changes nothing"`
}
