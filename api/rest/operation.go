package rest

import (
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
	"stagecoach/internal/store"
)

const (
	maxBody     = 1 << 20 // bytes
	readTime    = 30 * time.Second
	answerTime  = 20 * time.Second // for one request that is no stream
	bearer      = "bearer"
	problemJSON = "application/problem+json"
)

// access says who may call an operation.
type access int

const (
	forAnyone access = iota
	forUsers         // active ones
	forAdmins
)

// anyScope is the scope of operations that every token may call: those on the user's own tokens, which compare scopes
// themselves.
const anyScope store.Scope = "any"

// operation is one row of the API.
type operation struct {
	id, method, path string
	tag              string // the heading it stands under
	summary          string // a line
	description      string // more, when there is more to know
	access           access
	scope            store.Scope    // that a token needs; empty where access is forAnyone
	subject          string         // what {id} or {hash} names, in the audit log: "user"
	status           int            // of a success; 0 is 200
	also             int            // another status of success with the same body; 0 is none
	stream           bool           // the answer has no end
	answers          *huma.Response // of a success that is not JSON
	faults           []fault.Code   // besides those that any operation may have
}

// register adds an operation to the API.
func register[In, Out any](s *server, op operation, handle func(context.Context, *In) (*Out, error)) {
	_, hasBody := reflect.TypeFor[In]().FieldByName("Body")
	described := huma.Operation{
		OperationID: op.id, Method: op.method, Path: op.path, Tags: []string{op.tag},
		Summary: op.summary, Description: op.description,
		DefaultStatus: op.status, Responses: s.responses(op, hasBody),
		MaxBodyBytes: maxBody + 1, BodyReadTimeout: readTime, // huma refuses a body that reaches the limit
		Middlewares: huma.Middlewares{traced(op), s.admit(op)},
	}

	described.Security = []map[string][]string{} // which says that no token is needed; without it nothing would be said
	if op.access != forAnyone {
		described.Security = []map[string][]string{{bearer: op.scopes()}}
	}

	huma.Register(s.api, described, func(ctx context.Context, in *In) (*Out, error) {
		if !op.stream {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, answerTime)
			defer cancel()
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problem(ctx, err)
		}
		return out, nil
	})

	if op.also != 0 {
		s.documentAlso(op)
	}
}

// scopes gives the scope of an operation as the document lists it.
func (op operation) scopes() []string {
	if op.scope == anyScope {
		return []string{}
	}
	return []string{string(op.scope)}
}

// responses documents how an operation answers other than well, and how it does when the body is not JSON.
func (s *server) responses(op operation, hasBody bool) map[string]*huma.Response {
	codes := append(
		[]fault.Code{fault.Internal, fault.StoreUnavailable, fault.Validation, fault.BodyTooLarge}, op.faults...,
	)

	if op.access >= forUsers {
		codes = append(codes, fault.Unauthenticated, fault.UserNotActive, fault.InsufficientScope, fault.RateLimited)
	}

	if op.access >= forAdmins {
		codes = append(codes, fault.InsufficientAccess)
	}

	if hasBody {
		codes = append(codes, fault.MediaType, fault.RequestTimeout)
	}

	byStatus := map[int][]string{http.StatusBadRequest: {"`" + string(fault.Validation) + "`"}}
	for _, code := range codes {
		byStatus[kinds[code].status] = append(byStatus[kinds[code].status], "`"+string(code)+"`")
	}

	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[problem](), true, "")
	responses := map[string]*huma.Response{}
	for status, names := range byStatus {
		slices.Sort(names)
		responses[strconv.Itoa(status)] = &huma.Response{
			Description: fmt.Sprintf("%s: %s", http.StatusText(status), strings.Join(slices.Compact(names), ", ")),
			Content:     map[string]*huma.MediaType{problemJSON: {Schema: schema}},
		}
	}

	if op.answers != nil {
		responses["200"] = op.answers
	}
	return responses
}

// documentAlso copies the answer of a success to a second status.
func (s *server) documentAlso(op operation) {
	item := s.api.OpenAPI().Paths[op.path]
	responses := item.Post.Responses
	copied := *responses[strconv.Itoa(op.status)]
	copied.Description = http.StatusText(op.also)
	responses[strconv.Itoa(op.also)] = &copied
}

// schemaName names a type in the document: shape.Delivery is Delivery, shape.Page[shape.Delivery] is DeliveryPage.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if inner, ok := strings.CutPrefix(name, "Page"); ok && inner != "" {
		return inner + "Page"
	}
	return name
}

// answer is a success with a body.
type answer[T any] struct {
	Body T
}

func answered[T any](body T) *answer[T] { return &answer[T]{Body: body} }
