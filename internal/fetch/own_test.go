package fetch

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"stagecoach/internal/fault"
)

// TestOwnServer fetches from the operator's own server, which is not on the Internet, with its key. Nothing else that
// is private is reachable through it, nor is it reachable from elsewhere.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	other, askedOther := source(t, func(http.ResponseWriter, *http.Request) {})
	var keys []string
	address, asked := source(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.URL.Query().Get("key"))
		switch r.URL.Path {
		case "/file":
			_, _ = w.Write([]byte("content"))
		case "/again":
			http.Redirect(w, r, "/file", http.StatusFound)
		case "/away":
			http.Redirect(w, r, other, http.StatusFound)
		case "/magnet":
			w.Header().Set("Location", "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=a+b")
			w.WriteHeader(http.StatusFound)
		case "/closed":
			w.WriteHeader(http.StatusForbidden)
		}
	})

	f := New(Options{Timeout: 5 * time.Second, Complete: func(link string) (string, string) {
		if u, err := url.Parse(link); err == nil && "http://"+u.Host == address && u.Path != "/elsewhere" {
			return link + "?key=secret", u.Host
		}
		return link, ""
	}})

	if content, err := f.Fetch(t.Context(), address+"/file"); err != nil || string(content) != "content" {
		t.Errorf("%q, %v", content, err)
	}
	if strings.Join(keys, ",") != "secret" {
		t.Errorf("keys %q", keys)
	}

	before := asked.Load()
	for link, want := range map[string]fault.Code{
		address + "/away": fault.SourceForbidden, address + "/closed": fault.SourceRefused,
		address + "/again":     fault.SourceForbidden, // a redirect is treated like any other link, even to the same server
		address + "/elsewhere": fault.SourceForbidden, other: fault.SourceForbidden,
		strings.Replace(address, "127.0.0.1", "127.0.0.2", 1) + "/file": fault.SourceForbidden,
	} {
		if _, err := f.Fetch(t.Context(), link); fault.CodeOf(err) != want || told(err, "secret") {
			t.Errorf("%s: %v, want %s", link, err, want)
		}
	}
	if askedOther.Load() > 0 || asked.Load() != before+3 {
		t.Errorf("%d and %d requests", askedOther.Load(), asked.Load()-before)
	}

	_, err := f.Fetch(t.Context(), address+"/magnet")
	magnet, leads := errors.AsType[ToMagnet](err)
	if !leads || magnet.Link != "magnet:?xt=urn:btih:c12fe1c06bba254a9dc9f519b335aa7c1367a88a&dn=a+b" || strings.Contains(err.Error(), "btih") {
		t.Errorf("a magnet link: %v", err)
	}
}
