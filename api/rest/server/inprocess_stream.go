package server

import (
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// InProcessStream is InProcess for responses without an end. The handler ends with the request's context.
type InProcessStream struct {
	Handler http.Handler
	Log     *slog.Logger
}

// RoundTrip implements http.RoundTripper.
func (t InProcessStream) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}

	r.RemoteAddr = RemoteOf(r.Context())

	body, writer := io.Pipe()
	w := &flowing{header: http.Header{}, body: writer, begun: make(chan struct{})}
	go func() {
		defer writer.Close()
		defer w.WriteHeader(http.StatusOK)
		defer func() {
			if cause := recover(); cause != nil { // net/http's signal to drop a connection: there is none here
				t.Log.Warn("stream aborted", "cause", cause)
			}
		}()
		t.Handler.ServeHTTP(w, r)
	}()

	select {
	case <-w.begun:
	case <-r.Context().Done():
		_ = body.Close()
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Header: w.sent, Body: body, Request: r,
	}, nil
}

// flowing passes on a handler's response as it is written. When the reader has left, writes fail.
type flowing struct {
	header http.Header
	body   *io.PipeWriter

	once   sync.Once
	begun  chan struct{} // closed when the two fields below are set
	status int
	sent   http.Header
}

func (w *flowing) Header() http.Header { return w.header }

func (w *flowing) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *flowing) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(b)
}

// Flush implements http.Flusher: nothing is buffered.
func (w *flowing) Flush() {}

// SetWriteDeadline is for http.ResponseController. A reader that stops reading closes the stream, which ends the write.
func (w *flowing) SetWriteDeadline(time.Time) error { return nil }
