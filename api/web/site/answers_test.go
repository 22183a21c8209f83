package site_test

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

// TestNoSuchPage expects a page for browsers and JSON for programs, where there is neither a page nor an operation.
func TestNoSuchPage(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	const browser = "text/html,application/xhtml+xml,*/*;q=0.8"
	w.send("GET", "/nowhere", nil, "Accept", browser).want(http.StatusNotFound, "There is no such page", "<h1>", `lang="en"`)
	w.send("GET", "/nowhere", nil, "Accept", browser, "Accept-Language", "ru").want(http.StatusNotFound, "Такой страницы нет")

	w.signIn()
	w.send("GET", "/nowhere", nil, "Accept", browser).want(http.StatusNotFound, `href="/notes"`)
	page := w.send("GET", "/money", nil, "Accept", browser).want(http.StatusMethodNotAllowed, "cannot be opened directly")
	if page.Header.Get("Allow") != "POST" || !strings.Contains(page.Header.Get("Content-Security-Policy"), "script-src") {
		t.Errorf("%v", page.Header)
	}

	for _, path := range []string{"/v1/nowhere", "/v1", "/docs/x", "/mcp", "/codec/x"} {
		w.send("GET", path, nil, "Accept", browser).want(http.StatusNotFound, `"code":"NOT_FOUND"`)
	}
	for _, accept := range []string{"", "*/*", "application/json"} {
		w.send("GET", "/nowhere", nil, "Accept", accept).want(http.StatusNotFound, `"code":"NOT_FOUND"`)
		w.send("GET", "/money", nil, "Accept", accept).want(http.StatusMethodNotAllowed, `"code":"METHOD_NOT_ALLOWED"`)
	}
}

// TestCompression expects compressed files for all clients that accept them, and compressed pages only if no other site
// can have chosen the words in their URL.
func TestCompression(t *testing.T) {
	t.Parallel()
	w := newRig(t, "")
	_, script, _ := strings.Cut(w.send("GET", "/sign-in", nil).text, `script src="`)
	script, _, _ = strings.Cut(script, `"`)

	for _, c := range []struct {
		path, site, mode, takes string
		want                    bool
	}{
		{script, "", "", "gzip, br", true},
		{script, "", "", "identity", false},
		{"/sign-in", "none", "navigate", "gzip, br", true},
		{"/sign-in", "same-origin", "navigate", "gzip", true},
		{"/sign-in", "same-origin", "navigate", "identity", false},
		{"/sign-in", "same-origin", "cors", "gzip", false},
		{"/sign-in", "same-site", "navigate", "gzip", false},
		{"/sign-in", "cross-site", "navigate", "gzip", false},
		{"/sign-in", "", "", "gzip", false},
		{"/v1/notes", "none", "navigate", "gzip", false},
		{"/live", "same-origin", "cors", "gzip", false},
	} {
		got := w.send("GET", c.path, nil, "Sec-Fetch-Site", c.site, "Sec-Fetch-Mode", c.mode, "Accept-Encoding", c.takes)
		if packed := got.Header.Get("Content-Encoding") == "gzip"; packed != c.want {
			t.Errorf("%+v: compressed %t", c, packed)
		}
		if c.want {
			unpacked, err := gzip.NewReader(strings.NewReader(got.text))
			w.must(err)
			content, err := io.ReadAll(unpacked)
			w.must(err)
			if len(content) <= len(got.text) {
				t.Errorf("%s has %d bytes, and %d compressed", c.path, len(content), len(got.text))
			}
		}
	}
}

// TestGuessesBehindAProxy expects guesses to be counted for the client that a trusted proxy reports, whatever the
// client claims, and for an untrusted proxy itself.
func TestGuessesBehindAProxy(t *testing.T) {
	t.Parallel()
	for _, trusted := range []bool{true, false} {
		for _, try := range []string{"/sign-in", "/sign-in/abc"} {
			w := newRig(t, "")
			if trusted {
				w.api.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
			}

			guess := func(i int, forwarded string) int {
				form := url.Values{"token": {fmt.Sprint("sc_", i)}}
				return w.send("POST", try, form, "X-Forwarded-For", forwarded).StatusCode
			}
			began, limited := time.Now(), 0
			for i := range 20 {
				if guess(i, fmt.Sprintf("198.51.100.%d, 203.0.113.9", i)) == http.StatusTooManyRequests {
					limited++
				}
			}

			if limited < 5-int(time.Since(began).Seconds()) { // one more a second is let through
				t.Errorf("%s, trusted %t: %d of 20 guesses with forged addresses were refused", try, trusted, limited)
			}
			refused := 0
			for i := range 3 {
				if guess(20+i, "203.0.113.10") == http.StatusTooManyRequests {
					refused++
				}
			}
			if trusted && refused > 0 || !trusted && refused == 0 {
				t.Errorf("%s, trusted %t: %d of 3 guesses of another client were refused", try, trusted, refused)
			}
		}
	}
}
