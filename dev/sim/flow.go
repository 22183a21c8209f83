package sim

import (
	"context"
	"io"
	"math"
	"net/http"
	"time"
)

// BufferSize is the size of the buffers with which files are copied, in bytes.
const BufferSize = 256 << 10

const unlimited = math.MaxInt64

// recorder records the status of an answer.
type recorder struct {
	http.ResponseWriter
	status int
}

// WriteHeader records the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write records the status of a response without an explicit header.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}

// ReadFrom keeps the kernel's direct copy from file to socket; a Write would prevent it.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return io.Copy(w.ResponseWriter, src)
}

// Unwrap lets http.ResponseController find the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Limiter lets a number of bytes pass in one direction, at a given speed, and then acts.
type Limiter struct {
	left      int64  // bytes that may still pass
	then      func() // called when none may; does not return. nil: the rest is discarded
	perSecond int64  // 0: full speed
	started   time.Time
	passed    int64
}

// SpeedLimit returns a limiter that lets any number of bytes pass, at a speed in bytes per second; 0 is full speed.
func SpeedLimit(bytesPerSecond int64) Limiter {
	return Limiter{left: unlimited, perSecond: bytesPerSecond}
}

// admit returns how many of n bytes may pass now.
func (l *Limiter) admit(n int) int {
	if l.left <= 0 && n > 0 && l.then != nil {
		l.then()
	}
	limit := l.left
	if l.perSecond > 0 {
		limit = min(limit, max(1, l.perSecond/20)) // slices of 50 ms make an even flow
	}
	return int(min(int64(n), limit))
}

// pass counts n bytes that have passed and sleeps for the time that they should have taken.
func (l *Limiter) pass(n int) {
	l.left -= int64(n)
	if l.perSecond == 0 {
		return
	}
	if l.started.IsZero() {
		l.started = time.Now()
	}
	l.passed += int64(n)
	due := time.Duration(float64(l.passed) / float64(l.perSecond) * float64(time.Second))
	time.Sleep(time.Until(l.started.Add(due)))
}

// LimitedBody is a request's body behind a limiter.
type LimitedBody struct {
	io.ReadCloser
	Limiter
}

// Read reads no more than the limiter admits.
func (b *LimitedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:b.admit(len(p))])
	b.pass(n)
	return n, err
}

// LimitedWriter is a response behind a limiter.
type LimitedWriter struct {
	http.ResponseWriter
	Limiter
	headers func(http.Header) // changes the headers before they are sent; may be nil
	begun   bool
}

// WriteHeader sends the headers with the changes of the fault.
func (w *LimitedWriter) WriteHeader(status int) {
	if !w.begun && w.headers != nil {
		w.headers(w.Header())
	}
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write passes on what the limiter admits and reports that everything was written.
func (w *LimitedWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}

	for rest := p; len(rest) > 0; {
		if w.left <= 0 {
			_ = http.NewResponseController(w.ResponseWriter).Flush() // what passed must arrive before the limiter acts
		}

		n := w.admit(len(rest))
		if n == 0 {
			break
		}

		n, err := w.ResponseWriter.Write(rest[:n])
		w.pass(n)
		if err != nil {
			return 0, err
		}

		rest = rest[n:]
	}

	return len(p), nil
}

// nowhere is a response that is discarded.
type nowhere struct{ header http.Header }

// Header returns headers that are never sent.
func (n *nowhere) Header() http.Header { return n.header }

// Write drops the bytes.
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader drops the status.
func (n *nowhere) WriteHeader(int) {}

// Sleep waits for d. It returns false if ctx ended first.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
