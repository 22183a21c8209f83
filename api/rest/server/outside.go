package server

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	"stagecoach/internal/fault"
)

// note is what is known about a request.
type note struct {
	id        string
	remote    string    // address and port; never logged
	who       Principal // zero until the user is known
	operation Operation // zero until the user is known

	identified time.Duration // duration of the lookup
}

type noteKey struct{}

// noteOf returns a request's note.
func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// RequestID returns the id of a request, as its response and the log name it.
func RequestID(ctx context.Context) string { return noteOf(ctx).id }

// RemoteOf returns the address and port of the client whose request is served; empty if there is none.
func RemoteOf(ctx context.Context) string { return noteOf(ctx).remote }

// ServeHTTP gives every request an id, a line in the access log and a response, even if its operation panics.
func (s *Server) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	began := time.Now()
	n := &note{id: rand.Text()[:16], remote: s.remote(r)}
	r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))

	w := &recorder{ResponseWriter: rw, writeTime: s.WriteTime}
	w.Header().Set("X-Request-id", n.id)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

	defer func() {
		if cause := recover(); cause != nil {
			if cause == http.ErrAbortHandler { // net/http's signal to drop a connection
				panic(cause) // rethrown unchanged
			}

			s.Log.Error("request panicked", "request", n.id, "cause", cause, "stack", string(debug.Stack()))
			if w.status == 0 {
				NewProblem(fault.Internal, "internal error: give its operators the request id").Write(w)
			}
		}

		s.logAccess(r, w.status, n, time.Since(began))
	}()

	s.route(w, r)
}

// route passes a request to its operation. Where net/http would respond in plain text, it responds with a problem.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if wrong := wrongQuery(r.URL.RawQuery); wrong != "" {
		p := NewProblem(fault.Validation, "the query cannot be read")
		p.Status = http.StatusBadRequest
		p.at("query", wrong)
		s.refuseRoute(w, r, p)
		return
	}
	if r.ContentLength > MaxBody {
		s.refuseRoute(w, r, s.problem(r.Context(), bodyTooLarge(MaxBody)))
		return
	}

	handler, pattern := s.Mux.Handler(r)
	if pattern != "" {
		s.Mux.ServeHTTP(w, r)
		return
	}

	only := &recorder{ResponseWriter: headless{http.Header{}}, begun: true}
	handler.ServeHTTP(only, r)
	if only.status == http.StatusMethodNotAllowed {
		w.Header().Set("Allow", only.Header().Get("Allow"))
		s.refuseRoute(w, r, NewProblem(fault.MethodNotAllowed, "this path knows other methods: see the Allow header"))
		return
	}

	s.refuseRoute(w, r, NewProblem(fault.NotFound, "there is nothing at this path: see /docs"))
}

// maxParameters is how many parameters a query may have: an operation has fewer than ten.
const maxParameters = 100

// wrongQuery explains why a query is invalid as a whole; empty if it is not.
func wrongQuery(query string) string {
	if strings.Count(query, "&") >= maxParameters {
		return fmt.Sprintf("a query has at most %d parameters", maxParameters)
	}
	if _, err := url.ParseQuery(query); err != nil {
		return "this is not a well-formed query"
	}
	return ""
}

// refuseRoute answers a request that matches no operation: browsers get a page, where there are pages.
func (s *Server) refuseRoute(w http.ResponseWriter, r *http.Request, p *Problem) {
	if s.Unrouted == nil || !s.Unrouted(w, r, p) {
		p.Write(w)
	}
}

// logAccess writes one line per request at debug level: callers decide how many there are. Failures of the service have
// their own line. Paths, queries, headers and bodies may name people, so they are not logged.
func (s *Server) logAccess(r *http.Request, status int, n *note, took time.Duration) {
	pattern := r.Pattern
	if pattern == "" {
		pattern = "none"
	}

	user := ""
	if n.who.User.ID != 0 { // authenticated
		user = s.Store.Accounts.LogName(n.who.User)
	}

	s.Log.Debug("request", "request", n.id, "method", r.Method, "route", pattern,
		"status", status, "ms", took.Milliseconds(), "user", user)
}

// recorder records the status, and cuts off a client that does not read the response in time. Streams extend the
// deadline with each write.
type recorder struct {
	http.ResponseWriter
	status    int
	writeTime time.Duration // from the first byte
	begun     bool
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(b []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if !r.begun { // writers without a connection, such as those within this process, reject the deadline
		r.begun = true
		_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(time.Now().Add(r.writeTime))
	}
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// headless keeps headers and discards the rest.
type headless struct{ header http.Header }

func (h headless) Header() http.Header         { return h.header }
func (h headless) Write(b []byte) (int, error) { return len(b), nil }
func (h headless) WriteHeader(int)             {}
