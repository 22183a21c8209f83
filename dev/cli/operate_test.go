package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/wait"
	"stagecoach/internal/devinfo"
)

// answer is a command of the operator's documents, and what it shows or which test runs it. Its question is the heading above.
var answer = regexp.MustCompile("```sh\n([^\n]+)\n```\n<!-- (shows|tested): ([^\n]*) -->")

// heading is the start of a chapter of any level.
var heading = regexp.MustCompile("(?m)^##+ (.+)$")

// TestLongHandbook runs every command of the operator's documents on a running stack with data for each.
func TestLongHandbook(t *testing.T) {
	night.Only(t)
	skipInShort(t)
	text := ""
	for _, document := range []string{"operate.md", "backup.md", "upgrade.md", "install.md"} {
		part, err := os.ReadFile(filepath.Join("..", "..", "docs", document))
		if err != nil {
			t.Fatal(err)
		}
		text += string(part)
	}

	answers := answer.FindAllStringSubmatchIndex(text, -1)
	if commands := strings.Count(text, "```sh\n"); len(answers) < 20 || len(answers) != commands {
		t.Fatalf("%d commands are shown or tested, want 20 and more; there are %d", len(answers), commands)
	}

	h := newHandbook(t)
	for _, at := range answers {
		part := func(i int) string { return text[at[2*i]:at[2*i+1]] }
		headings := heading.FindAllStringSubmatch(text[:at[0]], -1)
		what, command, want := headings[len(headings)-1][1], part(1), strings.TrimSpace(os.Expand(part(3), h.variable))
		if part(2) == "tested" { // by another test, which TestNamedTests in dev/docs checks
			continue
		}

		shows(t, what+"\n  "+command, func() ([]byte, error) { return h.shell(command) }, want)
		if after := h.after[what]; after != nil {
			after()
		}
	}

	for what := range h.after {
		if !strings.Contains(text, "### "+what+"\n") {
			t.Errorf("no document has the heading %q", what)
		}
	}
}

// handbook is a running stack with data for each command.
type handbook struct {
	*testing.T
	info   devinfo.Info
	db     *pgx.Conn
	values map[string]string
	env    []string
	after  map[string]func()
}

func newHandbook(t *testing.T) *handbook {
	t.Helper()
	// The API has a key, so that it decrypts for administrators. Nothing is encrypted, so that the other commands produce
	// readable output.
	readable := []string{
		"STAGECOACH_PAYLOAD_KEYS=night:" + base64.StdEncoding.EncodeToString(make([]byte, 32)),
		"STAGECOACH_PAYLOAD_ENCRYPT=false",
		"STAGECOACH_TX_RETRY_FOR=0s",
	}

	state := newState(t)
	for _, name := range []string{"done", "a", "b", "c", "d", "e", "f"} {
		put(t, filepath.Join(state, "yandex", name), bytes.Repeat([]byte(name), 64<<20/len(name)))
	}

	h := &handbook{
		T: t, info: launchWith(t, readable, "--no-demo", "--state", state).running(state), values: map[string]string{},
	}

	wait.Eventually(t, "the API is ready", func() bool {
		response, err := http.Get(h.info.API + "/ready")
		if err == nil {
			response.Body.Close()
		}
		return err == nil && response.StatusCode == http.StatusOK
	})

	var err error
	if h.db, err = pgx.Connect(t.Context(), h.info.DatabaseURL); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = h.db.Close(t.Context()) })

	t.Cleanup(func() {
		if !t.Failed() {
			return
		}

		logs, _ := filepath.Glob(filepath.Join(state, "log", "*"))
		for _, name := range logs {
			text, _ := os.ReadFile(name)
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, "WARN") || strings.Contains(line, "ERROR") || strings.Contains(line, "reconciled") {
					t.Log(filepath.Base(name), line)
				}
			}
		}
	})

	h.fill(state)
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}

	temporal, err := servers.FindTemporal(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	h.env = []string{
		"DATABASE_URL=" + h.info.DatabaseURL,
		"PATH=" + strings.Join([]string{programs, filepath.Dir(temporal), os.Getenv("PATH")}, string(os.PathListSeparator)),
		"HOME=" + t.TempDir(),
		"TEMPORAL_ADDRESS=" + h.info.Temporal, "STAGECOACH_API_URL=" + h.info.API, "STAGECOACH_TOKEN=" + h.info.AdminToken,
	}

	for name, value := range h.values {
		h.env = append(h.env, name+"="+value)
	}

	h.steps()
	return h
}

// shell runs a command as an operator does.
func (h *handbook) shell(command string) ([]byte, error) {
	shell := exec.Command("sh", "-c", command)
	shell.Dir = "../.."
	shell.Env = h.env
	return shell.CombinedOutput()
}

func (h *handbook) variable(name string) string { return h.values[name] }

// call calls the API, or controls a simulator.
func (h *handbook) call(method, url, token string, body any) map[string]any {
	h.Helper()
	status, answer := h.try(method, url, token, body)
	if status == 0 || status >= 300 {
		h.Fatalf("%s %s: %d %v", method, url, status, answer)
	}
	return answer
}

// try is call; status is 0 when nobody answers.
func (h *handbook) try(method, url, token string, body any) (status int, answer map[string]any) {
	h.Helper()
	encoded, err := json.Marshal(body)
	if err != nil {
		h.Fatal(err)
	}

	request, err := http.NewRequestWithContext(h.Context(), method, url, bytes.NewReader(encoded))
	if err != nil {
		h.Fatal(err)
	}

	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Idempotency-Key", rand.Text())
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, map[string]any{"error": err.Error()}
	}
	defer response.Body.Close()

	_ = json.NewDecoder(response.Body).Decode(&answer)
	return response.StatusCode, answer
}

// becomes waits until a field of the API's response at a path has a value.
func (h *handbook) becomes(path, name string, want any) {
	h.Helper()
	var got any
	defer func() {
		if got != want {
			h.Logf("%s: %s is %v", path, name, got)
		}
	}()
	wait.Eventually(h.T, fmt.Sprintf("%s: %s is %v", path, name, want), func() bool {
		_, answer := h.try("GET", h.info.API+path, h.info.AdminToken, nil)
		got = answer[name]
		return got == want
	})
}

// fill creates the data: a completed delivery, some that hang and some that wait, a stuck task, a failed purchase, old
// rows.
func (h *handbook) fill(state string) {
	h.Helper()
	api, user, admin := h.info.API, h.info.UserToken, h.info.AdminToken
	files := map[string]string{}
	for _, item := range h.call("GET", api+"/v1/files", user, nil)["items"].([]any) {
		file := item.(map[string]any)
		files[file["name"].(string)] = file["file_id"].(string)
	}

	deliver := func(name string) map[string]any {
		return h.call("POST", api+"/v1/deliveries", user, map[string]string{"file_id": files[name]})
	}

	done := deliver("done")
	h.becomes("/v1/deliveries/"+done["id"].(string), "state", "DELIVERED")
	h.values["DONE"] = done["workflow_id"].(string)
	h.call(
		"POST", h.info.StandIns.Telegram+"/_/faults", "",
		map[string]any{"match": "sendDocument", "kind": "lost_answer", "times": 1},
	)
	unknown := deliver("a")
	h.becomes("/v1/deliveries/"+unknown["id"].(string), "last_error", "outcome_unknown")
	h.values["UNKNOWN"] = unknown["workflow_id"].(string)
	// A quarter of an hour for each file. A much slower rate would look like a connection that accepts no byte, because
	// the kernel reports free buffer space to the sender in steps of many kilobytes.
	h.call(
		"POST", h.info.StandIns.Telegram+"/_/faults", "",
		map[string]any{"match": "sendDocument", "kind": "throttle", "bytes_per_second": 64 << 10},
	)
	first := deliver("a")
	h.becomes("/v1/deliveries/"+first["id"].(string), "state", "STREAMING")
	for _, name := range []string{"b", "c", "d"} {
		h.becomes("/v1/deliveries/"+deliver(name)["id"].(string), "state", "STREAMING")
	}

	deliver("e")
	queued := deliver("f")
	h.values["QUEUED"], h.values["WAITING"] = queued["id"].(string), queued["workflow_id"].(string)
	h.values["JOB"], h.values["JOB_ID"] = first["workflow_id"].(string), first["id"].(string)

	space := h.call(
		"POST", api+"/v1/workspaces", user,
		map[string]any{"name": "Night shift", "status_deadlines": map[string]any{"NEW": 1. / 60}},
	)["id"]

	task := h.call("POST", api+"/v1/tasks", user, map[string]any{"workspace_id": space, "title": "Nobody takes it"})
	h.values["OWNER"], h.values["TASK_ID"] = task["creator_id"].(string), task["id"].(string)
	h.values["TASK"] = "task/" + h.values["TASK_ID"]
	h.values["STUCK"] = h.values["TASK"]
	h.becomes("/v1/tasks/"+h.values["TASK_ID"], "status", "STUCK")
	h.values["USER_ID"] = h.call("POST", api+"/v1/users", admin, map[string]any{"name": "Somebody"})["id"].(string)
	tokens := h.call("GET", api+"/v1/users/"+h.values["USER_ID"]+"/tokens", admin, nil)["items"].([]any)
	h.values["TOKEN_ID"] = tokens[0].(map[string]any)["id"].(string)

	h.call("POST", h.info.StandIns.Fragment+"/_/faults", "", map[string]any{"kind": "not_giftable", "match": "searchStarsRecipient", "times": 1000})
	h.values["HASH"] = h.call(
		"POST", h.info.StandIns.TonCenter+"/_/deposits", "",
		map[string]any{"amount_nano": 2_000_000_000, "comment": "durov 50"},
	)["hash"].(string)

	wait.Eventually(h.T, "the purchase is given up", func() bool {
		var status string
		err := h.db.QueryRow(h.Context(), `SELECT status FROM transactions WHERE hash = $1`, h.values["HASH"]).Scan(&status)
		return err == nil && status == "failed"
	})

	h.call("DELETE", h.info.StandIns.Fragment+"/_/faults", "", nil)

	for _, statement := range []string{
		`INSERT INTO answers (user_id, key, request, answer, created_at) SELECT min(id), 'old', '', '{}', now() - interval '91 days' FROM users`,
		`INSERT INTO answers (user_id, key, request, answer, created_at) SELECT min(id), 'young', '', '{}', now() - interval '89 days' FROM users`,
	} {
		if _, err := h.db.Exec(h.Context(), statement); err != nil {
			h.Fatal(err)
		}
	}
}

// steps are conditions after some commands.
func (h *handbook) steps() {
	h.after = map[string]func(){
		"Cancel all queued deliveries of one user": func() { h.becomes("/v1/deliveries/"+h.values["QUEUED"], "state", "CANCELLED") },
		"Stop one job at once":                     func() { h.becomes("/v1/deliveries/"+h.values["JOB_ID"], "state", "FAILED") },
		"Retry a failed transaction":               func() { h.becomes("/v1/transactions/"+h.values["HASH"], "status", "processed") },
		"Pause retention": func() {
			describe := func() ([]byte, error) {
				return h.shell("temporal schedule describe --schedule-id retention --output json")
			}
			shows(h.T, "the schedule is paused", describe, "the auditors are here")
		},
		"Delete old rows now": func() {
			wait.Eventually(h.T, "the old answer is gone, the young one stays", func() bool {
				var keys []string
				err := h.db.QueryRow(h.Context(), `SELECT array_agg(key) FROM answers WHERE key IN ('old', 'young')`).Scan(&keys)
				return err == nil && len(keys) == 1 && keys[0] == "young"
			})
		},
	}
}
