package sim

import (
	"context"
	"io"
	"math"
	"net/http"
	"time"
)

// BufferSize is the size of the pieces in which files are moved.
const BufferSize = 256 << 10

const Unlimited = math.MaxInt64

// recorder notes what a handler answers.
type recorder struct {
	http.ResponseWriter
	status int
	sent   int64
}

// WriteHeader notes the status.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(p)
	w.sent += int64(n)
	return n, err
}

// ReadFrom keeps the kernel's way from file to socket open, which a plain Write would close.
func (w *recorder) ReadFrom(src io.Reader) (int64, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := io.Copy(w.ResponseWriter, src)
	w.sent += n
	return n, err
}

// Unwrap lets http.ResponseController find the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// countedBody notes how much of a request's body was read.
type countedBody struct {
	io.ReadCloser
	n int64
}

// Read counts the bytes.
func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	return n, err
}

// Gate lets a number of bytes through in one direction, at a given speed, and then acts.
type Gate struct {
	Left      int64  // bytes that may still pass
	then      func() // called when none may; does not return. nil: the rest is swallowed
	PerSecond int64  // 0: full speed
	started   time.Time
	passed    int64
}

// admit tells how many of n bytes may pass now.
func (g *Gate) admit(n int) int {
	if g.Left <= 0 && n > 0 && g.then != nil {
		g.then()
	}
	limit := g.Left
	if g.PerSecond > 0 {
		limit = min(limit, max(1, g.PerSecond/20)) // slices of 50 ms make an even flow
	}
	return int(min(int64(n), limit))
}

// pass accounts for n bytes that passed and sleeps as long as they should have taken.
func (g *Gate) pass(n int) {
	g.Left -= int64(n)
	if g.PerSecond == 0 {
		return
	}
	if g.started.IsZero() {
		g.started = time.Now()
	}
	g.passed += int64(n)
	due := time.Duration(float64(g.passed) / float64(g.PerSecond) * float64(time.Second))
	time.Sleep(time.Until(g.started.Add(due)))
}

// BentBody is a request's body behind a gate.
type BentBody struct {
	io.ReadCloser
	Gate
}

// Read reads no more than the gate admits.
func (b *BentBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:b.admit(len(p))])
	b.pass(n)
	return n, err
}

// BentWriter is an answer behind a gate.
type BentWriter struct {
	http.ResponseWriter
	Gate
	headers func(http.Header) // changes the headers before they are sent; may be nil
	begun   bool
}

// WriteHeader sends the headers as the fault wants them.
func (w *BentWriter) WriteHeader(status int) {
	if !w.begun && w.headers != nil {
		w.headers(w.Header())
	}
	w.begun = true
	w.ResponseWriter.WriteHeader(status)
}

// Write passes on what the gate admits and pretends that all of it went.
func (w *BentWriter) Write(p []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}

	for rest := p; len(rest) > 0; {
		if w.Left <= 0 {
			_ = http.NewResponseController(w.ResponseWriter).Flush() // what passed must arrive before the gate acts
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

// nowhere is an answer that nobody gets.
type nowhere struct{ header http.Header }

// Header returns headers that are never sent.
func (n *nowhere) Header() http.Header { return n.header }

// Write drops the bytes.
func (n *nowhere) Write(p []byte) (int, error) { return len(p), nil }

// WriteHeader drops the status.
func (n *nowhere) WriteHeader(int) {}

// Sleep waits for d; false when ctx ended before.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
