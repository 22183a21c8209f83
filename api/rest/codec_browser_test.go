package rest_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"go.temporal.io/sdk/converter"

	"stagecoach/api/rest"
	"stagecoach/api/rest/operators"
	"stagecoach/api/rest/server"
	"stagecoach/dev/night"
	"stagecoach/dev/wait"
)

// webUIPage requests payloads as the Web UI's pages do, and reports the response to its server. The page only finishes
// loading once that is reported.
const webUIPage = `<script>
fetch(%q, {method: "POST", credentials: "include", headers: {"Content-Type": "application/json", "X-Namespace": "default"}, body: %q})
  .then(answer => answer.text(), error => String(error))
  .then(text => fetch("/told", {method: "POST", body: text}))
</script><img src="/loaded">`

// TestNightCodecInABrowser has a real browser, where there is one, do what an administrator does: open /codec/ with the
// token as the password, then a page of the Web UI, which has another origin. The browser enforces its own policies.
func TestNightCodecInABrowser(t *testing.T) {
	night.Only(t)
	browser := chromium(t)
	t.Parallel()
	w := newRig(t)
	body := encryptedBody(t)
	api := httptest.NewUnstartedServer(nil)
	decode := "http://" + api.Listener.Addr().String() + "/codec/decode"
	told, loaded := make(chan string, 1), make(chan struct{})
	ui := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/told":
			text, _ := io.ReadAll(r.Body) // the test checks what arrived
			told <- string(text)
			close(loaded)
		case "/loaded":
			select {
			case <-loaded:
			case <-r.Context().Done():
			}
		default:
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, webUIPage, decode, body)
		}
	}))

	t.Cleanup(ui.Close)
	door := rest.New(rest.Options{Config: server.Config{Store: w.store}, Codec: operators.CodecOptions{
		Handler: converter.NewPayloadCodecHTTPHandler(payloads), Namespace: "default", Origin: ui.URL,
	}})

	// A person would go on to the Web UI by hand; here the browser is redirected.
	api.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, _, asked := r.BasicAuth(); asked && r.URL.Path == "/codec/" {
			answer := httptest.NewRecorder()
			if door.ServeHTTP(answer, r); answer.Code == http.StatusOK {
				http.Redirect(w, r, ui.URL, http.StatusFound)
				return
			}
		}
		door.ServeHTTP(w, r)
	})

	api.Start()
	t.Cleanup(api.Close)

	login, err := url.Parse(api.URL + "/codec/")
	if err != nil {
		t.Fatal(err)
	}

	login.User = url.UserPassword("anybody", w.adminToken)
	// a browser that asks its user for a password waits forever
	ctx, cancel := context.WithTimeout(t.Context(), wait.Patience)
	defer cancel()

	command := exec.CommandContext(
		ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir="+t.TempDir(), "--dump-dom",
		login.String(),
	)

	out, err := command.CombinedOutput()
	select {
	case text := <-told:
		if !strings.Contains(text, "InBsYW50ZWQi") { // "planted" in base64
			t.Errorf("the page got %s", text)
		}
	default:
		if err != nil && ctx.Err() == nil {
			t.Skipf("the browser does not start: %v", err)
		}
		t.Errorf("the page has told nothing; the browser says\n%s", out)
	}
}
