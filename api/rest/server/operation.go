package server

import (
	"cmp"
	"context"
	"errors"
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
	answerTime     = 20 * time.Second // for one request that is no stream
	bearer         = "bearer"
	idempotencyKey = "Idempotency-Key"
	problemJSON    = "application/problem+json"
)

// Access says who may call an operation.
type Access int

const (
	ForAnyone Access = iota
	ForUsers         // active ones
	ForAdmins
)

// AnyScope is the scope of operations that every token may call: those on the user's own tokens, which compare scopes
// themselves.
const AnyScope account.Scope = "any"

// Operation is one row of the API.
type Operation struct {
	Id          string
	Route       string // method and path: "GET /v1/users/{id}"
	Summary     string // a line
	Description string // more, when there is more to know
	Access      Access
	Scope       account.Scope  // that a token needs; empty where access is ForAnyone
	Subject     string         // what {id} or {hash} names, in the audit log: "user"
	Status      int            // of a success; 0 is 200
	Also        int            // another status of success with the same body; 0 is none
	Stream      bool           // the answer has no end
	Waits       time.Duration  // how long the answer may wait for something, besides the usual time
	Body        int64          // how many bytes of a body it takes; 0 is SmallBody
	Confirms    bool           // a session that calls it must have been confirmed lately
	Tried       bool           // it can be tried: RegisterTried sets it
	Answers     *huma.Response // of a success that is not JSON
	Faults      []fault.Code   // besides those of its group, and those that any operation may have
}

// Group is what operations of a subject have in common. An operation may have an access, a scope or a subject of its
// own instead.
type Group struct {
	*Server
	Tag     string // the heading in the document
	Access  Access
	Scope   account.Scope
	Subject string
	Faults  []fault.Code
}

// complete gives an operation what it leaves to its group.
func (g Group) complete(op Operation) Operation {
	op.Access = cmp.Or(op.Access, g.Access)
	op.Scope = cmp.Or(op.Scope, g.Scope)
	op.Subject = cmp.Or(op.Subject, g.Subject)
	op.Faults = slices.Concat(op.Faults, g.Faults)
	op.Body = cmp.Or(op.Body, SmallBody)
	return op
}

// Register adds an operation to the API. What handle gives is the body of a success.
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

// Shown gives the body that shows a row. Where err is why there is no row, it is all that is given.
func Shown[Row, Body any](row Row, err error, show func(Row) Body) (body Body, _ error) {
	if err != nil {
		return body, err
	}
	return show(row), nil
}

// answer is a success with a body.
type answer[T any] struct{ Body T }

// Made is the answer of an operation that makes a thing, or gives the one that was made before.
type Made[T any] struct {
	Status int
	Body   T
}

// MadeOf answers 201 where the request has made the thing, 200 where it was there.
func MadeOf[T any](body T, created bool) *Made[T] {
	if created {
		return &Made[T]{http.StatusCreated, body}
	}
	return &Made[T]{http.StatusOK, body}
}

// RegisterRaw adds an operation whose answer is more than a body.
func RegisterRaw[In, Out any](g Group, op Operation, handle func(context.Context, *In) (*Out, error)) {
	op = g.complete(op)
	method, path, _ := strings.Cut(op.Route, " ")
	_, hasBody := reflect.TypeFor[In]().FieldByName("Body")
	described := huma.Operation{
		OperationID: op.Id, Method: method, Path: path, Tags: []string{g.Tag},
		Summary: op.Summary, Description: op.Description,
		DefaultStatus: op.Status, Responses: g.responses(op, hasBody),
		MaxBodyBytes: op.Body + 1, BodyReadTimeout: -1, // takeBody bounds both
		Middlewares: huma.Middlewares{traced(op), g.admit(op)},
	}

	if hasBody {
		described.RequestBody = &huma.RequestBody{Description: "At most " + sizeOf(op.Body) + "."}
		described.SkipValidateBody = true // takeBody does it
		described.Middlewares = append(described.Middlewares, g.takeBody(op))
	}

	described.Security = []map[string][]string{} // which says that no token is needed; without it nothing would be said
	if op.Access != ForAnyone {
		described.Security = []map[string][]string{{bearer: op.scopes()}}
	}

	huma.Register(g.api, described, func(ctx context.Context, in *In) (*Out, error) {
		if !op.Stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, answerTime+op.Waits)
			defer cancel()
		}
		out, err := handle(ctx, in)
		if trial, dry := errors.AsType[*dryRun](err); dry {
			return nil, trial
		}
		if err != nil {
			return nil, g.problem(ctx, err)
		}
		return out, nil
	})

	if op.Tried {
		item := g.OpenAPI().Paths[path]
		g.documentDryRun(cmp.Or(item.Post, item.Patch))
	}

	if op.Also != 0 {
		documentAlso(g.OpenAPI().Paths[path].Post, op)
	}
}

// scopes gives the scope of an operation as the document lists it.
func (op Operation) scopes() []string {
	if op.Scope == AnyScope {
		return []string{}
	}
	return []string{string(op.Scope)}
}

// responses documents how an operation answers other than well, and how it does when the body is not JSON.
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

// documentAlso copies the answer of a success to a second status.
func documentAlso(described *huma.Operation, op Operation) {
	copied := *described.Responses[strconv.Itoa(op.Status)]
	copied.Description = http.StatusText(op.Also)
	described.Responses[strconv.Itoa(op.Also)] = &copied
}

// SchemaPrefix stands before the name of a schema in a reference.
const SchemaPrefix = "#/components/schemas/"

// schemaName names a type in the document: shape.Delivery is Delivery, shape.Page[shape.Delivery] is DeliveryPage.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if inner, ok := strings.CutPrefix(name, "Page"); ok && inner != "" {
		return inner + "Page"
	}
	return name
}

// Keyed is what a changing request may bring, so that it can be sent again when its answer was lost.
type Keyed struct {
	Key string `header:"Idempotency-Key" pattern:"^[!-~]{1,255}$" patternDescription:"1 to 255 visible ASCII characters" example:"b5f0" doc:"The same key with the same request again gives the first answer, and changes nothing"`
}
