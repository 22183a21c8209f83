package server

import (
	"bytes"
	"io"
	"net/http"
)

// InProcess is an http.Client Transport that passes requests to a handler in this process.
type InProcess struct{ Handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	r.RemoteAddr = RemoteOf(r.Context())
	w := &kept{header: http.Header{}, status: http.StatusOK}
	t.Handler.ServeHTTP(w, r)
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Header: w.header, Body: io.NopCloser(&w.body), Request: r,
	}, nil
}

// kept buffers a handler's response.
type kept struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (w *kept) Header() http.Header         { return w.header }
func (w *kept) Write(b []byte) (int, error) { return w.body.Write(b) }
func (w *kept) WriteHeader(status int)      { w.status = status }
