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

// Bounds of bodies, in bytes.
const (
	MaxBody   = 1 << 20   // of any request
	SmallBody = 64 << 10  // of operations that ask for no other
	TextBody  = 256 << 10 // of operations that take a long text, each character of which may be an escape
	FormBody  = 512 << 10 // of forms, which hold a text twice: as it is and as it was
)

// bodyStep is how much of a body is read before it counts as held.
const bodyStep = 8 << 10

// wrongBody is what a body is refused for.
type wrongBody struct {
	status int
	errs   []error
}

type wrongBodyKey struct{}

// takeBody reads the body of an operation before huma does, and compares it with the operation's schema. It is in memory
// within the bounds of the operation and of the process.
func (s *Server) takeBody(op Operation) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		r, w := humago.Unwrap(ctx)
		held := s.Bodies.Hold(Caller(ctx.Context()))
		if _, inside := ctx.Context().Value(principalKey{}).(Principal); inside { // who asks has counted a body of its own
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
			// Huma compares the parameters with their schemas, cannot parse this, and makes one problem of all.
			r.Body = io.NopCloser(strings.NewReader("!"))
			ctx = huma.WithValue(ctx, wrongBodyKey{}, wrong)
		}
		next(ctx)
	}
}

// wrongWith finds what is wrong with a body; nil: nothing is, or there is none.
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

// HoldBody reads the body of a request that is no operation's, up to a bound. It counts against what this process, and
// the request's user, may hold until it is released.
func (s *Server) HoldBody(
	w http.ResponseWriter, r *http.Request, user account.User, most int64,
) (body []byte, release func(), err error) {
	held := s.Bodies.Hold(user)
	body, err = readBody(w, r, most, held)
	return body, held.Release, err
}

// readBody reads the body of a request, up to a bound, and counts it as held.
func readBody(w http.ResponseWriter, r *http.Request, most int64, held *allowance.Held) ([]byte, error) {
	if r.ContentLength > most {
		return nil, bodyTooLarge(most)
	}

	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(readTime)) // requests within this process have none

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

// bodyUnread says why a body could not be read.
func bodyUnread(err error) error {
	if failure, ok := errors.AsType[net.Error](err); ok && failure.Timeout() {
		return fault.New(fault.RequestTimeout, "the body did not come in time").WithField("body")
	}
	return errBodyUnread
}

// errBodyUnread is answered with the status 400.
var errBodyUnread = fault.Invalid("body", "the body cannot be read")

// bodyTooLarge refuses a body with more than so many bytes.
func bodyTooLarge(most int64) error {
	return fault.New(fault.BodyTooLarge, "this request takes a body of at most %s", sizeOf(most)).WithField("body")
}

// sizeOf writes a bound of bodies.
func sizeOf(bytes int64) string {
	if bytes%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}
