package rest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"strconv"
	"time"

	"stagecoach/internal/fault"
)

// note is what is known of a request.
type note struct {
	id     string
	remote string // address and port; never logged
	user   string // a hash; empty before the user is known
}

type noteKey struct{}

// noteOf finds a request's note.
func noteOf(ctx context.Context) *note {
	if n, ok := ctx.Value(noteKey{}).(*note); ok {
		return n
	}
	return &note{}
}

// userHash stands for a user in the logs.
func userHash(id int64) string {
	sum := sha256.Sum256([]byte("user " + strconv.FormatInt(id, 10)))
	return hex.EncodeToString(sum[:6])
}

// outside is what every request passes before any operation: a request id, the access log, the last net under a panic.
func (s *server) outside() http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		began := time.Now()
		n := &note{id: rand.Text()[:16], remote: r.RemoteAddr}
		r = r.WithContext(context.WithValue(r.Context(), noteKey{}, n))
		w := &recorder{ResponseWriter: rw}
		w.Header().Set("X-Request-Id", n.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
		defer func() {
			if cause := recover(); cause != nil {
				if cause == http.ErrAbortHandler { // net/http's own way to drop a connection
					panic(cause) // handed on as it came
				}
				s.o.Log.Error("a request panicked", "request", n.id, "cause", cause, "stack", string(debug.Stack()))
				if w.status == 0 {
					newProblem(fault.Internal, "the service has failed; the request id tells its operators more").write(w)
				}
			}
			s.logAccess(r, w.status, n, time.Since(began))
		}()

		s.route(w, r)
	})
}

// route gives a request to its operation. What net/http would answer in plain text is answered as a problem.
func (s *server) route(w http.ResponseWriter, r *http.Request) {
	if _, err := url.ParseQuery(r.URL.RawQuery); err != nil {
		p := newProblem(fault.Validation, "the query cannot be read")
		p.Status = http.StatusBadRequest
		p.at("query", "this is not a well-formed query")
		p.write(w)
		return
	}
	if r.ContentLength > maxBody {
		p := newProblem(fault.BodyTooLarge, "a body has at most 1 MiB")
		p.at("body", p.Detail)
		p.write(w)
		return
	}

	handler, pattern := s.mux.Handler(r)
	if pattern != "" {
		s.mux.ServeHTTP(w, r)
		return
	}

	only := &recorder{ResponseWriter: headless{http.Header{}}}
	handler.ServeHTTP(only, r)
	if only.status == http.StatusMethodNotAllowed {
		p := newProblem(fault.MethodNotAllowed, "this path knows other methods: see the Allow header")
		p.header.Set("Allow", only.Header().Get("Allow"))
		p.write(w)
		return
	}

	newProblem(fault.NotFound, "there is nothing at this path: see /docs").write(w)
}

// logAccess writes one line per request. Paths, queries, headers and bodies may tell about people and stay out of it.
func (s *server) logAccess(r *http.Request, status int, n *note, took time.Duration) {
	level := slog.LevelInfo
	switch r.URL.Path {
	case "/health", "/ready", "/metrics":
		level = slog.LevelDebug
	}

	pattern := r.Pattern
	if pattern == "" {
		pattern = "none"
	}

	s.o.Log.Log(r.Context(), level, "request", "request", n.id, "method", r.Method, "route", pattern,
		"status", status, "ms", took.Milliseconds(), "user", n.user)
}

// recorder remembers the status that was written.
type recorder struct {
	http.ResponseWriter
	status int
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
	return r.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController reach the connection.
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// headless keeps headers and forgets the rest.
type headless struct{ header http.Header }

func (h headless) Header() http.Header         { return h.header }
func (h headless) Write(b []byte) (int, error) { return len(b), nil }
func (h headless) WriteHeader(int)             {}
