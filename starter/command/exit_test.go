package command

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"stagecoach/internal/app"
)

func problemJSON(status int, code string) string {
	return fmt.Sprintf(`%d {"type":"/docs#%s","title":"A title","status":%d,"detail":"what is wrong","code":"%s","details":{},"errors":[{"field":"file_id","message":"is wrong"}]}`,
		status, code, status, code)
}

// TestRefusals expects what is wrong and what to do next, by the code of a refusal and the command.
func TestRefusals(t *testing.T) {
	t.Parallel()
	const off = "next: downloads are off until the API and the worker are configured: see docs/download.md"
	show, claim := "deliver show 7 = GET /v1/deliveries/7", "task claim 7 mine = POST /v1/tasks/7/claim"
	load, cancel := "download 4 magnet:?a = POST /v1/downloads", "download cancel 9 = POST /v1/downloads/9/cancel"
	retry := "tx retry " + txHash + " = POST /v1/transactions/" + txHash + "/retry"
	for _, test := range []struct {
		call    string
		status  int
		code    string
		details string
		next    string
	}{
		{show, 422, "FILE_TOO_BIG", `{}`, "next: choose another file"},
		{show, 404, "DELIVERY_NOT_FOUND", `{}`, "next: list them"},
		{show, 403, "INSUFFICIENT_ACCESS", `{}`, "next: use the owner's token"},
		{show, 401, "UNAUTHENTICATED", `{}`, "next: give a valid token"},
		{show, 409, "INVALID_TRANSITION", `{}`, "next: check its state"},
		{show, 503, "STORE_UNAVAILABLE", `{}`, "next: try again in a moment"},
		{claim, 409, "TASK_ALREADY_CLAIMED", `{"holder":"7"}`, "detail: holder: 7\nnext: choose another one: starter task ready"},
		{claim, 409, "UNRESOLVED_BLOCKERS", `{"blockers":["7","8"]}`, "detail: blockers: 7, 8\nnext: see what it waits for"},
		{claim, 422, "COMMENT_REQUIRED", `{}`, "next: say why"},
		{claim, 409, "SUBMISSION_NOT_CURRENT", `{"submission":null}`, "detail: submission: none\nnext: see the newest result"},
		{claim, 404, "TASK_NOT_FOUND", `{}`, "next: list them: starter task list"},
		{claim, 409, "CANNOT_TAKEOVER", `{}`, "next: it is already yours"},
		{claim, 409, "CANNOT_ESCALATE_OWN", `{}`, "next: block it yourself"},
		{load, 503, "PROVIDER_UNAVAILABLE", `{}`, off},
		{cancel, 404, "BOOK_NOT_FOUND", `{}`, "next: list the books: starter book list"},
		{cancel, 404, "DOWNLOAD_NOT_FOUND", `{}`, "next: list them: starter download list"},
		{cancel, 409, "INVALID_TRANSITION", `{}`, "starter download show ID"},
		{cancel, 503, "PROVIDER_UNAVAILABLE", `{}`, "next: check its state: starter download show ID"},
		{retry, 404, "TRANSACTION_NOT_FOUND", `{}`, "next: list them: starter tx list"},
		{retry, 409, "PAYMENT_UNDECIDED", `{}`, "next: wait for the result on the chain"},
		{retry, 409, "INVALID_TRANSITION", `{}`, "next: check its state: starter tx show HASH\n"},
		{retry, 503, "NOT_CONFIGURED", `{}`, "next: this is off until"},
		{retry, 503, "TEMPORAL_UNAVAILABLE", `{}`, "next: try again in a moment"},
	} {
		line, request, _ := strings.Cut(test.call, " = ")
		problem := strings.Replace(problemJSON(test.status, test.code), `"details":{}`, `"details":`+test.details, 1)
		api := newFakeAPI(t, map[string][]string{request: {problem, problem}})
		code, out, errs := api.starter(t, withFlags(strings.Fields(line), "--json")...)
		var told struct{ Code, Detail string }
		if err := json.Unmarshal([]byte(errs), &told); code != 1 || out != "" || err != nil || told.Code != test.code || told.Detail != "what is wrong" {
			t.Errorf("%s: as JSON: exit code %d, output %q, errors %q", line, code, out, errs)
		}
		code, out, errs = api.starter(t, strings.Fields(line)...)
		if code != 1 || out != "" {
			t.Errorf("%s: %s: exit code %d, output %q", line, test.code, code, out)
		}
		for _, want := range []string{test.code + ": what is wrong", "field: file_id: is wrong", test.next} {
			if !strings.Contains(errs, want) {
				t.Errorf("%s: %q is not in %q", line, want, errs)
			}
		}
	}
}

func TestEndsThatAreNotDelivered(t *testing.T) {
	t.Parallel()
	api := newFakeAPI(t, map[string][]string{
		"POST /v1/deliveries":  {`201 ` + job("QUEUED", "null")},
		"GET /v1/deliveries/7": {problemJSON(503, "STORE_UNAVAILABLE"), `200 ` + job("FAILED", `"TELEGRAM_FORBIDDEN"`)},
	})
	code, out, errs := api.starter(t, "deliver", "42", "--json")
	if code != 1 || !strings.Contains(out, `"state":"FAILED"`) || !strings.Contains(errs, "delivery 7 ended FAILED: TELEGRAM_FORBIDDEN") {
		t.Errorf("exit code %d, output %q, errors %q", code, out, errs)
	}
}

// TestUsage points to the help for unknown commands.
func TestUsage(t *testing.T) {
	t.Parallel()
	local := regexp.MustCompile(`^(migrate|backup|restore|completion|help|bogus$)`) // they do not call the API
	noList := filepath.Join(t.TempDir(), "no-list")
	writeFile(t, noList, []byte(`{"tasks":[]}`))
	for _, line := range []string{
		"bogus", "help bogus", "help task bogus", "completion bogus", "completion bash x", "deliver", "deliver a b", "deliver 1 --bogus",
		"deliver 1 --wait --no-wait", "deliver show", "files a b", "status x",
		"user bogus", "user add", "user role 3", "user approve", "migrate", "migrate x", "backup", "backup x", "backup x --to /no/such", "restore x", "restore x --on y", "restore x --identity /no/such", "backup-key",
		"files --api nonsense", "deliver list --limit many",
		"task bogus", "task create", "task create a b --workspace 1", "task create title", "task batch", "task batch x",
		"task batch /no/such --workspace 1", "task batch " + noList + " --workspace 1",
		"task claim", "task status 1", "task status 1 GONE x", "task show", "task show 1 2", "task dep", "task events",
		"task list 1",
		"workspace bogus", "workspace create", "workspace member 1", "workspace create x --deadline NEW",
		"workspace create x --deadline NEW=soon",
		"workspace create x --deadline NEW=NaN", "workspace create x --release-stuck-after inf", "workspace change 1",
		"workspace members", "workspace remove 1",
		"stats bogus", "stats tasks",
		"book bogus", "book add", "book add a b", "book show", "book list x",
		"download", "download 4", "download 4 x --find y", "download 4 x --bogus", "download show", "download cancel",
		"download cancel 1 2", "download events", "download list x",
		"tx bogus", "tx show", "tx show a b", "tx list a", "tx retry", "tx retry --yes", "tx retry --given-up a",
		"tx retry --all --limit 0", "tx retry --all --since soon", "tx retry --all --since -1h", "tx resolve a", "tx resolve a maybe", "tx write-off",
		"tx queue a", "tx resume a", "tx ledger a",
		"tx reconcile a", "tx reconcile --purchases /no/such", "tx reconcile --purchases " + noList, "stats transactions a",
	} {
		args := strings.Fields(line)
		if !strings.Contains(line, "--api") && !local.MatchString(line) {
			args = withFlags(args, "--api", "http://127.0.0.1:1", "--token", "secret")
		}
		code, out, errs := starter(t, args...)
		if code != 2 || out != "" || !strings.Contains(errs, "--help") || strings.HasPrefix(line, "task batch "+noList) && !strings.Contains(errs, "not a list of tasks") {
			t.Errorf("%s: exit code %d, output %q, errors %q", line, code, out, errs)
		}
		if strings.Contains(errs, "strconv") || strings.Contains(errs, "time:") {
			t.Errorf("%s: errors %q", line, errs)
		}
	}
	if _, _, errs := starter(t, "delivery"); !strings.Contains(errs, "did you mean deliver?") {
		t.Errorf("errors %q", errs)
	}
	if code, out, _ := starter(t, "help", "task", "list"); code != 0 || !strings.Contains(out, "--ready") && !strings.Contains(out, "list") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	const nobody = "http://127.0.0.1:1"
	for _, args := range [][]string{
		{"status", "--api", nobody, "--token", "secret"},
		{"deliver", "/a", "--api", nobody, "--token", "secret"},
		{"status", "--state", t.TempDir()},
	} {
		code, out, errs := starter(t, args...)
		if code != 3 || out != "" || !strings.Contains(errs, "go run ./dev") || strings.Contains(errs, "secret") {
			t.Errorf("%v: exit code %d, output %q, errors %q", args, code, out, errs)
		}
	}
}

func TestNotThisAPI(t *testing.T) {
	t.Parallel()
	stranger := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/7") {
			http.Error(w, "<h1>no</h1>", http.StatusBadGateway)
			return
		}
		_, _ = w.Write([]byte("<h1>hello</h1>"))
	}))

	t.Cleanup(stranger.Close)
	for args, want := range map[string]string{"deliver show 7": "HTTP_502", "deliver list": "is the address right"} {
		code, _, errs := starter(t, append(strings.Fields(args), "--api", stranger.URL, "--token", "x")...)
		if code != 1 || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, errors %q", args, code, errs)
		}
	}
}

func TestStrangersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	nasty := strings.ReplaceAll(fileJSON, `"a b.pdf"`, `"\u001b[2Jevil\nsecond line\u202e"`)
	api := newFakeAPI(t, map[string][]string{"GET /v1/files?limit=50&path=%2F": {`200 ` + list(nasty)}})
	code, out, _ := api.starter(t, "files")
	if code != 0 || strings.ContainsAny(out, "\x1b\u202e") || strings.Count(out, "\n") != 2 {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

// TestVersion prints the same with the command and with the flag, and the parts as JSON, without an API.
func TestVersion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"version": "Stagecoach " + app.Version + ", commit ", "--version": "Stagecoach " + app.Version + ", commit ",
		"version --json": `{"version":"` + app.Version + `","commit":"`,
	} {
		var out, errs strings.Builder
		code := Run(t.Context(), append([]string{"starter"}, strings.Fields(line)...), &out, &errs)
		if code != 0 || !strings.HasPrefix(out.String(), want) || errs.String() != "" {
			t.Errorf("%s ended with %d, %q, %q", line, code, &out, &errs)
		}
	}
}
