package client

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestTheTokenFollowsNoRedirect neither to another host nor to another port; the error names the target.
func TestTheTokenFollowsNoRedirect(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("it was asked for %s with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	server := httptest.NewServer(http.RedirectHandler(elsewhere.URL+"/v1/me", http.StatusPermanentRedirect))
	defer server.Close()

	c := Client{Base: server.URL, Token: "planted"}
	_, _, err := c.Send(t.Context(), Call{Method: http.MethodGet, Path: "/v1/me"})
	_, streamed := c.Open(t.Context(), Call{Method: http.MethodGet, Path: "/v1/events"})
	for _, err := range []error{err, streamed} {
		if refusal, ok := errors.AsType[*Refusal](err); !ok || !strings.Contains(refusal.Detail, elsewhere.URL) {
			t.Errorf("%v", err)
		}
	}
}
