package rest_test

import (
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"stagecoach/api/rest"
	"stagecoach/api/rest/server"
	"stagecoach/internal/allowance"
	"stagecoach/internal/fault"
)

// TestDocsAreCompressedCachedAndCounted reads the documents that need no token: they are some hundred kilobytes, so a
// client that asks repeatedly must not get all of it each time.
func TestDocsAreCompressedCachedAndCounted(t *testing.T) {
	t.Parallel()
	const perSecond = 2 // ten at once
	handler := rest.New(rest.Options{
		Config: server.Config{Open: allowance.NewAddresses(allowance.LimitReceipts, perSecond)}, Parts: allParts,
	})

	ask := func(path, from string, headers ...string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.RemoteAddr = from
		for i := 0; i+1 < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return answer
	}

	for i, path := range []string{"/openapi.json", "/docs"} {
		from := []string{"192.0.2.1:1", "192.0.2.2:1"}[i]
		whole, packed := ask(path, from), ask(path, from, "Accept-Encoding", "br, gzip")
		if whole.Code != http.StatusOK || whole.Header().Get("Content-Encoding") != "" {
			t.Errorf("%s is %d, encoded %q", path, whole.Code, whole.Header().Get("Content-Encoding"))
		}
		if got := packed.Header().Get("Content-Encoding"); packed.Code != http.StatusOK || got != "gzip" {
			t.Fatalf("%s is %d, encoded %q for who takes gzip", path, packed.Code, got)
		}
		if packed.Body.Len()*3 > whole.Body.Len() {
			t.Errorf("%s has %d bytes, packed %d", path, whole.Body.Len(), packed.Body.Len())
		}

		unpacking, err := gzip.NewReader(packed.Body)
		if err != nil {
			t.Fatal(err)
		}
		if content, err := io.ReadAll(unpacking); err != nil || string(content) != whole.Body.String() {
			t.Errorf("%s packed has other content, %d bytes: %v", path, len(content), err)
		}

		tags := map[string]bool{}
		for _, answer := range []*httptest.ResponseRecorder{whole, packed} {
			h := answer.Header()
			if h.Get("Vary") != "Accept-Encoding" || h.Get("Cache-Control") != "public, max-age=300" {
				t.Errorf("%s: Vary %q, Cache-Control %q", path, h.Get("Vary"), h.Get("Cache-Control"))
			}

			tags[h.Get("ETag")] = true
			again := ask(path, from, "Accept-Encoding", h.Get("Content-Encoding"), "If-None-Match", h.Get("ETag"))
			if again.Code != http.StatusNotModified || again.Body.Len() != 0 {
				t.Errorf("%s that is known answers %d with %d bytes", path, again.Code, again.Body.Len())
			}
		}
		if len(tags) != 2 || tags[""] {
			t.Errorf("%s has the tags %v for two contents", path, tags)
		}

		if other := ask(path, from, "If-None-Match", `"other"`); other.Code != http.StatusOK {
			t.Errorf("%s that has changed answers %d", path, other.Code)
		}
		refusesTheNext(t, func() *httptest.ResponseRecorder { return ask(path, from, "If-None-Match", "*") })
	}

	if answer := ask("/docs", "192.0.2.3:1"); answer.Code != http.StatusOK {
		t.Errorf("another address gets %d", answer.Code)
	}
}

// refusesTheNext sends requests until the allowance of the address is used up.
func refusesTheNext(t *testing.T, ask func() *httptest.ResponseRecorder) {
	t.Helper()
	answer := ask()
	for range 1000 {
		if answer.Code == http.StatusTooManyRequests {
			break
		}
		answer = ask()
	}

	var problem struct{ Code fault.Code }
	err := json.Unmarshal(answer.Body.Bytes(), &problem)
	h := answer.Header()
	if answer.Code != http.StatusTooManyRequests || err != nil || problem.Code != fault.RateLimited || h.Get("Retry-After") == "" {
		t.Errorf("nobody limits who asks: %d %+v, Retry-After %q: %v", answer.Code, problem, h.Get("Retry-After"), err)
	}
	if h.Get("Cache-Control") != "no-store" || !strings.HasPrefix(h.Get("Content-Type"), "application/problem+json") {
		t.Errorf("the refusal is %q with Cache-Control %q", h.Get("Content-Type"), h.Get("Cache-Control"))
	}
}
