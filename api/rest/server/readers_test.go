package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSlowReaderIsDisconnected requests a response that exceeds a connection's buffers and reads none of it: the response
// ends anyway, and so does the connection. Without a deadline this test never ends.
func TestSlowReaderIsDisconnected(t *testing.T) {
	t.Parallel()
	s := New(Config{WriteTime: time.Second})
	Register(Group{Server: s, Tag: "Large"}, Operation{Id: "get-large", Route: "GET /v1/large", Summary: "Get"},
		func(context.Context, *struct{}) (string, error) { return strings.Repeat("x", 64<<20), nil })

	ended := make(chan struct{}, 1)
	served := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.ServeHTTP(w, r)
		ended <- struct{}{}
	}))
	t.Cleanup(served.Close)

	client, err := net.Dial("tcp", served.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := io.WriteString(client, "GET /v1/large HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}

	<-ended
	got, _ := io.Copy(io.Discard, client) // the buffers' content, if any, then the end of the connection
	if got >= 64<<20 {
		t.Errorf("a client that did not read has %d bytes of 64 MiB", got)
	}

	whole, err := http.Get(served.URL + "/v1/small")
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Body.Close()
	if whole.StatusCode != http.StatusNotFound {
		t.Errorf("the next client gets %d", whole.StatusCode)
	}
}
