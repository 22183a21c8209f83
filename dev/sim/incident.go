package sim

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"strconv"
	"time"
)

// incident is a fault that is applied to a request.
type incident struct {
	Fault
	control *Control
	system  http.Handler
}

func (i incident) happen(w http.ResponseWriter, r *http.Request) {
	if i.Kind != "timeout" && i.Delay > 0 && !i.control.pause(r.Context(), i.Delay) {
		Abort()
	}

	if act, ok := kinds[i.Kind]; ok {
		act(i, w, r)
		return
	}

	p, ok := i.control.protocol.Named[i.Kind]
	if !ok {
		p.Status = i.status()
	}

	p.RetryAfter = i.RetryAfter
	if p.Status == http.StatusTooManyRequests {
		p.RetryAfter = max(p.RetryAfter, 1)
	}

	i.takeBody(w, r)
	if p.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}

	i.control.protocol.Fail(w, r, p)
}

// takeBody carries the request out when the fault is Applied and reads its body when the fault is AfterBody. Otherwise
// it lets the response go out before the body was read.
func (i incident) takeBody(w http.ResponseWriter, r *http.Request) {
	if i.Applied {
		i.apply(r)
		return
	}
	if i.AfterBody {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			Abort()
		}
		return
	}

	AnswerEarly(w)
}

func (i incident) pass(w http.ResponseWriter, r *http.Request) { i.system.ServeHTTP(w, r) }

func (i incident) empty413(w http.ResponseWriter, r *http.Request) {
	i.takeBody(w, r)
	w.WriteHeader(http.StatusRequestEntityTooLarge)
}

func (i incident) html502(w http.ResponseWriter, r *http.Request) {
	i.takeBody(w, r)
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusBadGateway)
	_, _ = io.WriteString(w, "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n"+
		"<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n")
}

func (i incident) timeout(_ http.ResponseWriter, r *http.Request) {
	if i.Applied {
		i.apply(r)
	} else if i.AfterBody {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			Abort() // the client is already gone
		}
	}
	i.control.pause(r.Context(), i.Delay)
	Abort()
}

func (i incident) cut(w http.ResponseWriter, r *http.Request) {
	i.bend(w, r, Limiter{left: i.AfterBytes, then: Abort})
}

func (i incident) stall(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	i.bend(w, r, Limiter{left: i.AfterBytes, then: func() {
		i.control.pause(ctx, 0)
		Abort()
	}})
}

func (i incident) throttle(w http.ResponseWriter, r *http.Request) {
	i.bend(w, r, SpeedLimit(i.BytesPerSecond))
}

// bend serves the request with a limiter in each direction; each counts its own bytes.
func (i incident) bend(w http.ResponseWriter, r *http.Request, l Limiter) {
	r.Body = &LimitedBody{ReadCloser: r.Body, Limiter: l}
	i.system.ServeHTTP(&LimitedWriter{ResponseWriter: w, Limiter: l}, r)
}

func (i incident) lostAnswer(_ http.ResponseWriter, r *http.Request) {
	i.apply(r)
	Abort()
}

// apply carries a request out without a response.
func (i incident) apply(r *http.Request) { i.system.ServeHTTP(&nowhere{header: http.Header{}}, r) }

func (i incident) longBody(w http.ResponseWriter, r *http.Request) {
	i.system.ServeHTTP(&LimitedWriter{ResponseWriter: w, Limiter: SpeedLimit(0), headers: dropLength}, r)
	_, _ = io.CopyN(w, rand.Reader, 64<<10)
}

func (i incident) shortBody(w http.ResponseWriter, r *http.Request) {
	i.system.ServeHTTP(&LimitedWriter{ResponseWriter: w, Limiter: Limiter{left: i.AfterBytes}, headers: dropLength}, r)
}

func dropLength(h http.Header) { h.Del("Content-Length") }

// pause waits for d, or forever when d is 0. It returns false if the client disconnected or the faults were cleared
// first. A client that disconnects before its body was read is not noticed: net/http only notices that after the body.
func (c *Control) pause(ctx context.Context, d time.Duration) bool {
	c.mu.Lock()
	released := c.released
	c.mu.Unlock()
	var over <-chan time.Time
	if d > 0 {
		over = time.After(d)
	}

	select {
	case <-over:
		return true
	case <-released:
	case <-ctx.Done():
	}
	return false
}

// Abort drops the connection without a response; net/http recovers from this panic without a log line.
func Abort() {
	panic(http.ErrAbortHandler) // handled by net/http
}

// AnswerEarly lets the response go out although the request's body was not read. To keep the connection, net/http would
// first wait for up to 256 KiB of the body, which a slow client may never send.
func AnswerEarly(w http.ResponseWriter) { w.Header().Set("Connection", "close") }
