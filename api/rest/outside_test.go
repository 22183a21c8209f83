package rest_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"stagecoach/api/rest"
	"stagecoach/api/rest/server"
	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/fault"
	"stagecoach/internal/lifecycle"
	"stagecoach/internal/store"
)

func TestHealthAndReadiness(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.becomesReady(http.StatusOK)
	if a := w.send("", "GET", "/health", nil).ok(http.StatusOK); strings.TrimSpace(a.raw) != `{"ok":true}` {
		t.Errorf("health is %s", a.raw)
	}
	if a := w.send("", "GET", "/ready", nil).ok(http.StatusOK); a.body["postgres"] != true || a.body["temporal"] != true {
		t.Errorf("ready is %s", a.raw)
	}

	w.temporal.setDown(true)
	w.becomesReady(http.StatusServiceUnavailable)
	a := w.send("", "GET", "/ready", nil).refused(http.StatusServiceUnavailable, fault.TemporalUnavailable, "")
	if details := a.body["details"].(map[string]any); details["postgres"] != true || details["temporal"] != false {
		t.Errorf("details %v", details)
	}

	w.temporal.setDown(false)
	w.becomesReady(http.StatusOK)
	w.store.Close()
	w.becomesReady(http.StatusServiceUnavailable)
	w.send("", "GET", "/ready", nil).refused(http.StatusServiceUnavailable, fault.StoreUnavailable, "")
	w.send("", "GET", "/health", nil).ok(http.StatusOK)
}

// becomesReady waits until /ready responds with a status: results are cached for a second.
func (w *rig) becomesReady(status int) {
	w.t.Helper()
	wait.Eventually(w.t, fmt.Sprint("/ready becomes ", status), func() bool {
		return w.send("", "GET", "/ready", nil).status == status
	})
}

// TestAFloodOfReadyCostsNothing sends requests over many connections at once, without a token: both services are
// checked at most once a second.
func TestAFloodOfReadyCostsNothing(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	began := time.Now()
	var all sync.WaitGroup

	for range 20 {
		all.Go(func() {
			for range 20 {
				// A look that takes two seconds counts as a failure, which a busy machine may have.
				if a := w.send("", "GET", "/ready", nil); a.status != http.StatusServiceUnavailable {
					a.ok(http.StatusOK)
				}
			}
		})
	}

	all.Wait()
	w.becomesReady(http.StatusOK)

	most := int64(time.Since(began).Seconds()) + 1
	if n := w.temporal.looks.Load(); n < 1 || n > most {
		t.Errorf("Temporal was asked %d times within %s", n, time.Since(began))
	}
}

func TestWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	s, err := store.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none", testdb.Key)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(s.Close)
	server := httptest.NewServer(rest.New(rest.Options{Config: server.Config{Store: s}, Parts: allParts}))
	t.Cleanup(server.Close)
	w := &rig{t: t, url: server.URL}

	for _, e := range endpoints() {
		w.send(
			"sc_any", e.method, e.target, e.body, "Idempotency-Key", "k",
		).refused(http.StatusServiceUnavailable, fault.StoreUnavailable, "")
	}
}

func TestInternalErrorsStayInternal(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.exec(`ALTER TABLE users RENAME TO people`) // a statement fails: our own fault
	a := w.send(w.adaToken, "GET", "/v1/deliveries", nil).refused(http.StatusInternalServerError, fault.Internal, "")
	if log := w.log.String(); !strings.Contains(log, a.header.Get("X-Request-Id")) || !strings.Contains(log, "SQLSTATE") {
		t.Errorf("the log does not tell why:\n%s", log)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.deliver(w.adaToken, w.file("/a", 1), "k").ok(http.StatusCreated)
	w.download(w.adaToken, w.book("A book"), "text").ok(http.StatusCreated)
	if err := w.store.Downloads.NotePollFailure(t.Context(), string(fault.ProviderUnavailable)); err != nil {
		t.Fatal(err)
	}

	testdb.Recount(t, w.store)
	got := w.send(w.adminToken, "GET", "/v1/status", nil).ok(http.StatusOK).body
	states, _ := got["jobs_in_state"].(map[string]any)
	if len(states) != len(lifecycle.Delivery.States) || states["QUEUED"] != 1.0 || states["EXPIRED"] != 0.0 {
		t.Errorf("states %v", states)
	}

	for _, name := range []string{"queue_depth", "worker_heartbeat_age_seconds", "oauth_token_expires_in_seconds", "top_errors", "stuck", "stuck_jobs"} {
		if _, ok := got[name]; !ok {
			t.Errorf("no %s in %v", name, got)
		}
	}

	downloads, _ := got["downloads_in_status"].(map[string]any)
	if len(downloads) != len(lifecycle.Download.States) || downloads["queued"] != 1.0 || downloads["failed"] != 0.0 {
		t.Errorf("downloads %v", downloads)
	}
	if q := fmt.Sprint(got["qbittorrent"]); q != "map[answers:false error:PROVIDER_UNAVAILABLE last_answer_age_seconds:<nil>]" {
		t.Errorf("qBittorrent %s", q)
	}

	metrics := w.metrics()
	for _, line := range []string{`jobs_enqueued_total{source="api"} 1`, `jobs_in_state_current{state="QUEUED"} 1`, `downloads_in_status_current{status="queued"} 1`, "queue_depth_current 0"} {
		if !strings.Contains(metrics, line+"\n") {
			t.Errorf("no %s in the metrics", line)
		}
	}
}

func TestPathsAndMethodsThatAreNotThere(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	for _, path := range []string{"/", "/v1", "/v2/files", "/v1/deliveries/", "/v1/deliveries/1/nothing", "/openapi.yaml", "/docs/", "/schemas/User.json", "/%00", "/..%2f"} {
		w.send(w.adminToken, "GET", path, nil).refused(http.StatusNotFound, fault.NotFound, "")
	}

	for path, allow := range map[string]string{"/v1/deliveries": "GET, HEAD, POST", "/v1/users/1": "GET, HEAD, PATCH", "/v1/deliveries/1/cancel": "POST", "/health": "GET, HEAD"} {
		for _, method := range []string{"DELETE", "PUT", "OPTIONS", "BREW"} {
			a := w.send("", method, path, nil).refused(http.StatusMethodNotAllowed, fault.MethodNotAllowed, "")
			if a.header.Get("Allow") != allow {
				t.Errorf("%s %s allows %q, want %q", method, path, a.header.Get("Allow"), allow)
			}
		}
	}

	if a := w.send(w.adaToken, "HEAD", "/v1/events", nil); a.status != http.StatusOK {
		t.Errorf("HEAD of the stream answers %d", a.status)
	}
}

func TestAPanicIsAnAnswer(t *testing.T) {
	t.Parallel()
	log := &logs{}
	handler := rest.New(rest.Options{Config: server.Config{Log: logger(log)}, Parts: allParts}) // every operation panics
	answer := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/v1/deliveries", nil)
	r.Header.Set("Authorization", "Bearer secret")
	handler.ServeHTTP(answer, r)
	if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), `"code":"INTERNAL"`) || strings.Contains(answer.Body.String(), "nil pointer") {
		t.Errorf("answered %d: %s", answer.Code, answer.Body)
	}
	if !strings.Contains(log.String(), "nil pointer") || strings.Contains(log.String(), "secret") {
		t.Errorf("logged\n%s", log)
	}
}

func TestTheAccessLogTellsNothingPrivate(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.disk.put("/private/diary.txt", 1)
	w.send(w.adaToken, "GET", "/v1/files?path=/private", nil).ok(http.StatusOK)
	w.send(
		w.adaToken, "GET", "/v1/files?path=/private/other", nil,
	).refused(http.StatusNotFound, fault.FileNotFound, "path")
	w.send(w.adminToken, "POST", "/v1/users", `{"name":"Nobody Special","telegram_id":987654321}`).ok(http.StatusCreated)
	w.send("", "GET", "/private/else", nil).refused(http.StatusNotFound, fault.NotFound, "")
	log := w.log.String()

	for _, word := range []string{"private", "diary", w.adaToken, w.adminToken, "Special", "987654321", "other"} {
		if strings.Contains(log, word) {
			t.Errorf("the log holds %q:\n%s", word, log)
		}
	}

	for _, word := range []string{`"route":"GET /v1/files"`, `"status":200`, `"route":"none"`, `"user":"`} {
		if !strings.Contains(log, word) {
			t.Errorf("the log lacks %s:\n%s", word, log)
		}
	}
}

func TestTheDocument(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	document := w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body
	if version, _ := document["openapi"].(string); !strings.HasPrefix(version, "3.1") {
		t.Errorf("version %q", version)
	}

	refs(t, document, document)
	for path, item := range document["paths"].(map[string]any) {
		for method, o := range item.(map[string]any) {
			operation := o.(map[string]any)
			responses := operation["responses"].(map[string]any)
			open := slices.Contains([]string{"/health", "/ready", "/v1/receipts/{key}"}, path)
			if security, ok := operation["security"].([]any); !ok || (len(security) == 0) != open {
				t.Errorf("%s %s: security %v", method, path, operation["security"])
			}

			good := 0
			for status, r := range responses {
				content, _ := r.(map[string]any)["content"].(map[string]any)
				if status < "400" {
					good++
					continue
				}
				if _, ok := content["application/problem+json"]; !ok || len(content) != 1 {
					t.Errorf("%s %s: %s is %v", method, path, status, content)
				}
			}

			if needed := []string{"422", "500", "503"}; good == 0 || slices.ContainsFunc(needed, func(s string) bool { return responses[s] == nil }) {
				t.Errorf("%s %s answers %v", method, path, responses)
			}
		}
	}
}

// refs checks that every reference resolves.
func refs(t *testing.T, document map[string]any, value any) {
	t.Helper()
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			refs(t, document, one)
		}
	case map[string]any:
		if ref, ok := v["$ref"].(string); ok {
			var at any = document
			for _, part := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
				object, _ := at.(map[string]any)
				at = object[part]
			}
			if at == nil {
				t.Errorf("%s points nowhere", ref)
			}
		}

		for _, one := range v {
			refs(t, document, one)
		}
	}
}

func TestThePageOfTheDocument(t *testing.T) {
	t.Parallel()
	handler := rest.New(rest.Options{Config: server.Config{Version: "<1>"}, Parts: allParts})
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, httptest.NewRequest("GET", "/docs", nil))
	page := answer.Body.String()
	if answer.Code != http.StatusOK || !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
		t.Fatalf("answered %d", answer.Code)
	}

	for _, word := range []string{"/v1/deliveries/{id}/cancel", "Idempotency-Key", "FILE_NOT_FOUND", `id="INVALID_TRANSITION"`, `id="schema-Problem"`, "&lt;1&gt;"} {
		if !strings.Contains(page, word) {
			t.Errorf("the page lacks %s", word)
		}
	}

	for _, word := range []string{"http://", "https://", "<script", "<link"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %s", word)
		}
	}

	if policy := answer.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "style-src 'sha256-") {
		t.Errorf("policy %q", policy)
	}
}

// chromium returns the path of the browser; without one the test is skipped.
func chromium(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, err := servers.Chromium()
	if err != nil {
		t.Skip("no browser here")
	}
	return browser
}

// TestThePageInABrowser checks in a real browser, where there is one, that the content security policy allows the
// style.
func TestThePageInABrowser(t *testing.T) {
	browser := chromium(t)
	t.Parallel()
	server := httptest.NewServer(rest.New(rest.Options{Parts: allParts}))
	t.Cleanup(server.Close)
	picture := filepath.Join(t.TempDir(), "docs.png")
	out, err := exec.CommandContext(t.Context(), browser, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1200,900",
		"--enable-logging=stderr", "--user-data-dir="+t.TempDir(), "--screenshot="+picture, server.URL+"/docs").CombinedOutput()
	if err != nil {
		t.Skipf("the browser does not start: %v", err)
	}

	if strings.Contains(string(out), "Content Security Policy") {
		t.Errorf("the browser says\n%s", out)
	}
	if info, err := os.Stat(picture); err != nil || info.Size() < 20_000 {
		t.Errorf("the page looks empty: %v", err)
	}
}

func TestExamplesInTheDocumentAreValid(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	document := w.send("", "GET", "/openapi.json", nil).ok(http.StatusOK).body
	schemas := document["components"].(map[string]any)["schemas"].(map[string]any)

	for _, name := range []string{"Delivery", "File", "User", "Problem", "Event", "Status", "DeliveryRequest", "UserRequest"} {
		schema, ok := schemas[name].(map[string]any)
		if !ok {
			t.Errorf("no schema %s", name)
			continue
		}
		if strict := strings.HasSuffix(name, "Request"); (schema["additionalProperties"] == false) != strict {
			t.Errorf("%s: additionalProperties is %v", name, schema["additionalProperties"])
		}
	}

	text, _ := json.Marshal(document)
	if strings.Contains(string(text), "$schema") {
		t.Error("the document links to schemas that are not served")
	}
	if got := fmt.Sprint(document["info"].(map[string]any)["version"]); got != "1.2.3" {
		t.Errorf("version %s", got)
	}
}

// TestLogsNameUsersByAKeyedHash expects a pseudonym in the log that cannot be derived from the user's id, and that
// equals the one administrators see.
func TestLogsNameUsersByAKeyedHash(t *testing.T) {
	t.Parallel()
	w := newRig(t)
	w.send(w.adaToken, "GET", "/v1/files?path=/", nil).ok(http.StatusOK)
	shown := w.send(w.adminToken, "GET", "/v1/users/"+fmt.Sprint(w.ada.ID), nil).ok(http.StatusOK).body
	name, _ := shown["log_name"].(string)
	if log := w.log.String(); len(name) < 16 || !strings.Contains(log, `"user":"`+name+`"`) {
		t.Errorf("administrators are shown %q", name)
	}

	for _, guess := range []string{"user %d", "user/%d", "telegram/%d", "%d"} {
		for _, id := range []int64{w.ada.ID, *w.ada.TelegramID} {
			sum := sha256.Sum256(fmt.Appendf(nil, guess, id))
			if strings.Contains(w.log.String(), hex.EncodeToString(sum[:4])) {
				t.Errorf("the log names a user by a hash of "+guess, id)
			}
		}
	}
}

// TestRequestsAreLoggedAtDebugAlone checks that callers cannot fill a service's log at its usual level.
func TestRequestsAreLoggedAtDebugAlone(t *testing.T) {
	t.Parallel()
	for level, lines := range map[slog.Level]bool{slog.LevelInfo: false, slog.LevelDebug: true} {
		var log logs
		w := newRigWith(t, func(o *rest.Options) {
			o.Log = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: level}))
		})
		w.send("", "GET", "/v1/tasks", nil).refused(http.StatusUnauthorized, fault.Unauthenticated, "")
		w.send(w.adaToken, "GET", "/v1/workspaces", nil).ok(http.StatusOK)
		if strings.Contains(log.String(), `"msg":"request"`) != lines {
			t.Errorf("at %s the log says %s", level, log.String())
		}
	}
}
