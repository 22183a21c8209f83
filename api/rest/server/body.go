package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
	"stagecoach/internal/store/account"
)

// Limits of bodies, in bytes.
const (
	MaxBody   = 1 << 20   // of any request
	SmallBody = 64 << 10  // of operations that set no other limit
	TextBody  = 256 << 10 // of operations that take a long text, each character of which may be an escape
	FormBody  = 512 << 10 // of forms, which contain a text twice: current and original
)

// bodyStep is how much of a body is read before it counts as held.
const bodyStep = 8 << 10

// wrongBody is why a body is refused.
type wrongBody struct {
	status int
	errs   []error
}

type wrongBodyKey struct{}

// takeBody reads an operation's body before huma does, and validates it against the operation's schema. The memory is
// limited per operation and per process.
func (s *Server) takeBody(op Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		held := s.Bodies.Hold(Caller(ctx.Context()))
		if _, inside := ctx.Context().Value(principalKey{}).(Principal); inside { // the calling page has counted its own body
			held = s.Bodies.Free()
		}
		defer held.Release()

		body, err := readBody(w, r, op.Body, held)
		if err != nil {
			s.problem(ctx.Context(), err).Write(w)
			return
		}

		r.Body = io.NopCloser(bytes.NewReader(body))
		if wrong := s.wrongWith(ctx, body); wrong != nil {
			// Huma validates the parameters, fails to parse this, and combines everything into one problem.
			r.Body = io.NopCloser(strings.NewReader("!"))
			ctx = huma.WithValue(ctx, wrongBodyKey{}, wrong)
		}
		next(ctx)
	}
}

// wrongWith validates a body; nil: it is valid, or there is none.
func (s *Server) wrongWith(ctx huma.Context, body []byte) *wrongBody {
	if len(body) == 0 {
		return nil
	}

	unreadable := &huma.ErrorDetail{Location: "body", Message: "this is not JSON"}
	var nothing any
	if err := s.api.Unmarshal(ctx.Header("Content-Type"), []byte("null"), &nothing); errors.Is(err, huma.ErrUnknownContentType) {
		return &wrongBody{status: http.StatusUnsupportedMediaType, errs: []error{unreadable}}
	}

	if !json.Valid(body) {
		return &wrongBody{status: http.StatusBadRequest, errs: []error{unreadable}}
	}

	schema := ctx.Operation().RequestBody.Content["application/json"].Schema
	errs, err := checkBody(s.OpenAPI().Components.Schemas, schema, body)
	switch {
	case err != nil:
		return &wrongBody{status: http.StatusBadRequest, errs: []error{unreadable}}
	case len(errs) > 0:
		return &wrongBody{status: http.StatusUnprocessableEntity, errs: errs}
	default:
		return nil
	}
}

// HoldBody reads the body of a request outside the API's operations, up to a limit. Until it is released it counts
// against what this process, and the request's user, may hold.
func (s *Server) HoldBody(
	w http.ResponseWriter, r *http.Request, user account.User, most int64,
) (body []byte, release func(), err error) {
	held := s.Bodies.Hold(user)
	body, err = readBody(w, r, most, held)
	return body, held.Release, err
}

// readBody reads a request's body, up to a limit, and counts it as held.
func readBody(w http.ResponseWriter, r *http.Request, most int64, held *allowance.Held) ([]byte, error) {
	if r.ContentLength > most {
		return nil, bodyTooLarge(most)
	}

	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTime)) // in-process requests have none

	var read bytes.Buffer
	for {
		n, err := io.CopyN(&read, r.Body, bodyStep)
		switch {
		case int64(read.Len()) > most:
			return nil, bodyTooLarge(most)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, bodyUnread(err)
		}

		if err := held.Take(r.Context(), n); err != nil {
			return nil, err
		}
		if n < bodyStep {
			return read.Bytes(), nil
		}
	}
}

// bodyUnread explains why a body could not be read.
func bodyUnread(err error) error {
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() {
		return fault.New(fault.RequestTimeout, "the body did not arrive in time").WithField("body")
	}
	return errBodyUnread
}

// errBodyUnread is answered with the status 400.
var errBodyUnread = fault.Invalid("body", "the body cannot be read")

// bodyTooLarge refuses a body of more than most bytes.
func bodyTooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "the body of this request has at most %s", sizeOf(most)).WithField("body")
}

// sizeOf formats a body limit.
func sizeOf(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
