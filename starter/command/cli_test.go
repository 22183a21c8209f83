package command

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"stagecoach/internal/devinfo"
)

func TestMain(m *testing.M) {
	// The developer's own environment must not affect tests.
	for _, name := range []string{"STAGECOACH_API_URL", "STAGECOACH_TOKEN", "DATABASE_URL"} {
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

func writeFile(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// fakeAPI returns scripted responses and records the requests.
type fakeAPI struct {
	*httptest.Server
	answers map[string][]string // by "METHOD /path?query"; the last one is repeated

	mu    sync.Mutex
	asked []asked
}

type asked struct {
	what, body, token, key string
}

// newFakeAPI takes responses as "201 {…}"; a status of 4xx or 5xx is a problem.
func newFakeAPI(t *testing.T, answers map[string][]string) *fakeAPI {
	api := &fakeAPI{answers: answers}
	api.Server = httptest.NewServer(api)
	t.Cleanup(api.Close)
	return api
}

func (f *fakeAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	what := r.Method + " " + r.URL.RequestURI()
	f.mu.Lock()
	defer f.mu.Unlock()

	f.asked = append(
		f.asked,
		asked{
			what, string(body), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), r.Header.Get("Idempotency-Key"),
		},
	)

	script := f.answers[what]
	if len(script) == 0 {
		http.Error(w, "nobody told me what to answer to "+what, http.StatusTeapot)
		return
	}

	if len(script) > 1 {
		f.answers[what] = script[1:]
	}

	status, document, _ := strings.Cut(script[0], " ")
	code := map[string]int{
		"200": 200, "201": 201, "204": 204, "401": 401, "403": 403, "404": 404, "409": 409, "422": 422, "503": 503,
	}[status]

	w.Header().Set("Content-Type", "application/json")
	if code >= 400 {
		w.Header().Set("Content-Type", "application/problem+json")
	}

	w.WriteHeader(code)
	_, _ = io.WriteString(w, document)
}

// starter runs a command line against the API and returns exit code, output and errors.
func (f *fakeAPI) starter(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return starter(t, withFlags(args, "--api", f.URL, "--token", "secret")...)
}

// withFlags inserts flags after the name of the command: after its arguments they may be text.
func withFlags(args []string, flags ...string) []string {
	_, rest, _ := newRoot("starter").Find(args)
	return slices.Insert(slices.Clone(args), len(args)-len(rest), flags...)
}

func starter(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = Run(t.Context(), append([]string{"starter"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

const (
	fileJSON        = `{"file_id":"42","name":"a b.pdf","kind":"file","path":"/docs/a b.pdf","size":2097152,"modified_at":"2026-03-01T12:00:00Z"}`
	folderJSON      = `{"file_id":"41","name":"docs","kind":"folder","path":"/docs","size":0,"modified_at":"2026-03-01T12:00:00Z"}`
	jobJSON         = `{"id":"7","state":"STATE","attempt":0,"file_id":"42","file_name":"a b.pdf","size":2097152,"bytes_sent":1048576,"place_in_line":null,"last_error":ERROR,"created_at":"2026-03-01T12:00:00Z","updated_at":"2026-03-01T12:00:03Z","workflow_id":"delivery/ab"}`
	userJSON        = `{"id":"3","name":"Ada","telegram_id":"77","role":"USER","status":"ACTIVE","created_at":"2026-03-01T12:00:00Z"}`
	newUserJSON     = `{"id":"3","name":"Ada","telegram_id":"77","role":"USER","status":"ACTIVE","token":"sc_abc","created_at":"2026-03-01T12:00:00Z"}`
	tokenJSON       = `{"id":"12","name":"import","scopes":["read","files"],"expires_at":null,"last_used_at":"2026-03-01T12:00:00Z","current":true,"created_at":"2026-03-01T12:00:00Z"}`
	descendantsJSON = `{"tokens":1,"agents":0,"webhooks":0,"users":1,"items":[{"kind":"token","id":"14","name":"nightly import","user_id":"3"},{"kind":"user","id":"5","name":"Somebody","user_id":"5"}]}`
	linkJSON        = `{"url":"http://127.0.0.1/sign-in/ABC","expires_at":"2026-03-01T12:05:00Z"}`
	newTokenJSON    = `{"id":"12","name":"import","scopes":["read","files"],"expires_at":null,"last_used_at":null,"current":false,"created_at":"2026-03-01T12:00:00Z","token":"sc_abc"}`
	statusJSON      = `{"queue_depth":4,"jobs_in_state":{"QUEUED":4,"DELIVERED":9},"worker_heartbeat_age_seconds":3.2,"oauth_token_expires_in_seconds":null,"top_errors":[{"code":"TELEGRAM_UNAVAILABLE","count":2}],"stuck":true,"stuck_jobs":["5"],"downloads_in_status":{"queued":0,"completed":8},"qbittorrent":{"answers":false,"last_answer_age_seconds":90,"error":"PROVIDER_UNAUTHORIZED"},"tasks_in_status":{"STUCK":2},"transactions_in_status":{"processing":1},"transactions_needing_review":1,"queues":[{"name":"delivery","kind":"activity","depth":4,"oldest_age_seconds":12.5,"workers":1}],"workers":[{"identity":"4711@a-host-with-a-long-name@worker","version":"0.1.0","build":null,"last_heard_seconds":1.2,"carries":3,"queues":["delivery","payments","stagecoach"]},{"identity":"4712@a-host-with-a-long-name@worker","version":"0.1.0","build":null,"last_heard_seconds":1.2,"carries":3,"queues":["payments","stagecoach","wallet","notices"]}],"outside_systems":[{"name":"yandex","answers":false,"last_success_age_seconds":90,"last_error":"YANDEX_TIMEOUT","failing_for_seconds":60}],"errors":[{"workload":"delivery","code":"TELEGRAM_UNAVAILABLE","count":2}],"open_alerts":[{"kind":"storage_unreachable","opened_at":"2026-03-01T12:00:00Z"}],"payments_stopped_by":[{"name":"pause","reason":"the wallet is moved"}],"open_findings":1,"last_findings":[` + findingJSON + `]}`
	findingJSON     = `{"id":"5","found_at":"2026-03-01T12:00:00Z","workload":"transaction","entity_id":"9f2c6d1e0b7a4c3d8e5f60718293a4b5c6d7e8f90a1b2c3d4e5f60718293a4b5","workflow_id":"transaction/9f","run_id":null,"finding":"not_started","done":null,"done_at":null}`
)

func job(state, lastError string) string {
	return strings.NewReplacer("STATE", state, "ERROR", lastError).Replace(jobJSON)
}

func list(items ...string) string {
	return `{"items":[` + strings.Join(items, ",") + `],"next_cursor":null}`
}

func TestCommands(t *testing.T) {
	t.Parallel()
	answers := map[string][]string{
		"GET /v1/files?limit=50&path=%2F":                  {`200 ` + list(folderJSON, fileJSON)},
		"GET /v1/files?cursor=c1&limit=1&path=%2Fdocs":     {`200 {"items":[` + fileJSON + `],"next_cursor":"c2"}`},
		"GET /v1/files?limit=200&path=%2Fdocs":             {`200 {"items":[],"next_cursor":"more"}`},
		"GET /v1/files?cursor=more&limit=200&path=%2Fdocs": {`200 ` + list(fileJSON)},
		"GET /v1/files?limit=50&path=%2Fempty":             {`200 ` + list()},
		"POST /v1/deliveries":                              {`201 ` + job("QUEUED", "null")},
		"GET /v1/deliveries/7":                             {`200 ` + job("STREAMING", "null"), `200 ` + job("DELIVERED", "null")},
		"GET /v1/deliveries?limit=50&state=FAILED":         {`200 ` + list(job("FAILED", `"FILE_TOO_BIG"`))},
		"POST /v1/deliveries/7/cancel":                     {`200 ` + job("CANCELLED", `"cancelled_by_user"`)},
		"GET /v1/status":                                   {`200 ` + statusJSON},

		"GET /v1/findings?limit=50&since=2026-03-01T00%3A00%3A00Z&workload=transaction": {`200 ` + list(findingJSON)},

		"POST /v1/users":                        {`201 ` + newUserJSON},
		"GET /v1/users?limit=50&status=PENDING": {`200 ` + list(userJSON)},
		"PATCH /v1/users/3":                     {`200 ` + userJSON},
		"POST /v1/users/3/forget":               {`200 ` + userJSON},
		"POST /v1/users/3/token":                {`200 ` + newUserJSON},
		"GET /v1/users/3/tokens?limit=50":       {`200 ` + list(tokenJSON)},
		"DELETE /v1/users/3/tokens/12":          {`204 `},
		"GET /v1/tokens?limit=50":               {`200 ` + list(tokenJSON)},
		"GET /v1/tokens/12/descendants":         {`200 ` + descendantsJSON},
		"POST /v1/tokens":                       {`201 ` + newTokenJSON},
		"POST /v1/tokens/12/rotate":             {`200 ` + newTokenJSON},
		"DELETE /v1/tokens/12":                  {`204 `},
		"POST /v1/sign-in-links":                {`201 ` + linkJSON},
	}

	runCommands(t, answers, []commandTest{
		{line: "files", want: []string{"docs/", "a b.pdf", "2.0 MB"}, json: list(folderJSON, fileJSON)},
		{line: "files docs/ --limit 1 --cursor c1", want: []string{"a b.pdf", "--cursor c2"}},
		{line: "files /empty", want: []string{"/empty is empty"}},
		{line: "deliver 42", want: []string{"delivery 7 of a b.pdf (2.0 MB) is requested", "STREAMING", "DELIVERED", "in 3.0 s"}},
		{line: "deliver 42 --json", want: nil, json: job("DELIVERED", "null")},
		{line: "deliver 42 --no-wait", want: []string{"starter deliver show 7"}, json: job("QUEUED", "null"), body: `{"file_id":"42"}`},
		{line: "deliver list --in-state failed", want: []string{"7", "FAILED", "FILE_TOO_BIG"}, json: list(job("FAILED", `"FILE_TOO_BIG"`))},
		{line: "deliver show 7", want: []string{"delivery/ab", "1.0 MB of 2.0 MB"}},
		{line: "deliver cancel 7", want: []string{"CANCELLED", "cancelled_by_user"}, json: job("CANCELLED", `"cancelled_by_user"`)},
		{line: "status", want: []string{"3.2 s ago", "expiry unknown", "QUEUED 4, DELIVERED 9", "TELEGRAM_UNAVAILABLE", "stuck", "completed 8", "STUCK 2", "12.5 s", "0.1.0", "no, for 1 min 00 s", "ALERT", "pause: the wallet is moved", "not_started", "does not answer PROVIDER_UNAUTHORIZED, last 1 min 30 s ago"}, json: statusJSON},
		{line: "findings --workload transaction --since 2026-03-01T00:00:00Z", want: []string{"9f2c6d1e0b7a4c3…", "not_started", "nothing yet"}, json: list(findingJSON)},
		{line: "user add Ada --telegram-id 77", want: []string{"Ada", "sc_abc"}, json: newUserJSON, body: `{"name":"Ada","role":"USER","telegram_id":"77"}`},
		{line: "user list --status pending", want: []string{"Ada", "77"}, json: list(userJSON)},
		{line: "user approve 3", want: []string{"Ada"}, json: userJSON, body: `{"status":"ACTIVE"}`},
		{line: "user block 3", want: []string{"Ada"}, json: userJSON, body: `{"status":"BLOCKED"}`},
		{line: "user forget 3", want: []string{"Ada"}, json: userJSON},
		{line: "user role 3 admin", want: []string{"Ada"}, json: userJSON, body: `{"role":"ADMIN"}`},
		{line: "user token 3", want: []string{"sc_abc"}, json: newUserJSON},
		{line: "user tokens 3", want: []string{"import", "read,files"}, json: list(tokenJSON)},
		{line: "user revoke 3 12", want: []string{"token 12 is revoked"}},
		{line: "token list", want: []string{"import", "read,files", "this one"}, json: list(tokenJSON)},
		{line: "token create import --scope read,files", want: []string{"import", "sc_abc"}, json: newTokenJSON, body: `{"name":"import","scopes":["read","files"]}`},
		{line: "token rotate 12 --grace 1h", want: []string{"sc_abc"}, json: newTokenJSON, body: `{"grace_seconds":3600}`},
		{line: "web", want: []string{"http://127.0.0.1/sign-in/ABC", "1 Mar 2026 12:05"}, json: linkJSON},
		{line: "token made 12", want: []string{"tokens: 1, agents: 0", "users: 1; they stay", "nightly import"}, json: descendantsJSON},
		{line: "token revoke 12", want: []string{"token 12 is revoked"}},
	})
}

// commandTest is a command line and its expected result.
type commandTest struct {
	line string
	want []string // in the output
	json string   // the complete output with --json
	body string   // of the last request
}

// runCommands runs each command line against its own API with these responses.
func runCommands(t *testing.T, answers map[string][]string, tests []commandTest) {
	for _, test := range tests {
		t.Run(test.line, func(t *testing.T) {
			t.Parallel()
			check := func(args []string) (out string, last asked) {
				api := newFakeAPI(t, cloneAnswers(answers))
				code, out, errs := api.starter(t, args...)
				if code != 0 || errs != "" {
					t.Fatalf("exit code %d, errors %q, output %q", code, errs, out)
				}

				for _, a := range api.asked {
					if a.token != "secret" {
						t.Errorf("%s came with token %q", a.what, a.token)
					}
				}
				return out, api.asked[len(api.asked)-1]
			}

			args := strings.Fields(test.line)
			out, last := check(args)
			for _, want := range test.want {
				if !strings.Contains(out, want) {
					t.Errorf("%q is not in the output:\n%s", want, out)
				}
			}

			if test.body != "" && last.body != test.body {
				t.Errorf("sent %s, not %s", last.body, test.body)
			}
			if test.json == "" {
				return
			}
			if out, _ = check(withFlags(args, "--json")); out != test.json+"\n" {
				t.Errorf("--json gave\n%s\nnot the API's\n%s", out, test.json)
			}
		})
	}
}

func cloneAnswers(answers map[string][]string) map[string][]string {
	clone := map[string][]string{}
	for what, script := range answers {
		clone[what] = script
	}
	return clone
}

func TestDeliverByPathAndKey(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{
		"GET /v1/files?limit=200&path=%2Fdocs":             {`200 {"items":[` + folderJSON + `],"next_cursor":"more"}`},
		"GET /v1/files?cursor=more&limit=200&path=%2Fdocs": {`200 ` + list(fileJSON)},
		"POST /v1/deliveries":                              {`200 ` + job("DELIVERED", "null")},
	})

	code, out, errs := api.starter(t, "deliver", "docs/a b.pdf", "--no-wait", "--idempotency-key", "k1")
	if code != 0 || !strings.Contains(out, "already requested") {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
	if last := api.asked[len(api.asked)-1]; last.key != "k1" || last.body != `{"file_id":"42"}` {
		t.Errorf("asked %+v", last)
	}
}

func TestEachDeliverHasItsOwnKey(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{"POST /v1/deliveries": {`201 ` + job("QUEUED", "null")}})
	for range 2 {
		if code, _, errs := api.starter(t, "deliver", "42", "--no-wait"); code != 0 {
			t.Fatal(errs)
		}
	}
	if a, b := api.asked[0].key, api.asked[1].key; a == "" || a == b {
		t.Errorf("keys %q and %q", a, b)
	}
}

func TestTokensOfDevStayWithDev(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(
		t,
		map[string][]string{
			"GET /v1/status": {"200 " + statusJSON}, "GET /v1/deliveries/7": {"200 " + job("QUEUED", "null")},
		},
	)

	state := t.TempDir()
	data, err := json.Marshal(devinfo.Info{API: api.URL, AdminToken: "admin", UserToken: "user"})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(state, devinfo.File), data, 0o600); err != nil {
		t.Fatal(err)
	}

	for _, args := range [][]string{{"status", "--state", state}, {"deliver", "show", "7", "--state", state}} {
		if code, _, errs := starter(t, args...); code != 0 {
			t.Fatalf("%v: %s", args, errs)
		}
	}

	if api.asked[0].token != "admin" || api.asked[1].token != "user" {
		t.Errorf("asked %+v", api.asked)
	}

	other := newFakeAPI(t, nil)
	if code, _, _ := starter(t, "status", "--state", state, "--api", other.URL); code != 2 || len(other.asked) > 0 {
		t.Errorf("exit code %d; the other API was asked %+v", code, other.asked)
	}
}

func TestStatusFitsTheScreen(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{"GET /v1/status": {"200 " + statusJSON}})
	_, out, _ := api.starter(t, "status")
	for line := range strings.Lines(out) {
		if width := len([]rune(strings.TrimRight(line, " \n"))); width > 80 {
			t.Errorf("%d columns: %s", width, line)
		}
	}
}
