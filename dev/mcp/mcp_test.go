package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"stagecoach/api/client"
	"stagecoach/api/shape"
	"stagecoach/dev/stack"
	"stagecoach/internal/lifecycle"
	"stagecoach/starter/terminal"
)

// running is the stack, which all tests share.
var running *stack.Stack

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		fmt.Println("needs the whole stack")
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	state, err := os.MkdirTemp("", "mcp")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)

	ctx, broken := context.WithCancelCause(context.Background())
	defer broken(nil)

	running = stack.New(state, terminal.NewScreen(io.Discard), broken)
	defer running.Stop()

	if err := running.Start(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

// node returns the Node.js that `make test-deps` fetches, and the folder with its modules. Without them the test is
// skipped; .ci/run makes sure that they exist.
func node(t *testing.T) (program, folder string) {
	t.Helper()
	want, err := os.ReadFile("node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}

	ready, _ := filepath.Glob("../../bin/tools/mcp-*/ready")
	at := slices.IndexFunc(ready, func(path string) bool {
		have, err := os.ReadFile(filepath.Join(filepath.Dir(path), "package-lock.json"))
		return err == nil && bytes.Equal(want, have)
	})
	if at < 0 {
		t.Skip("needs Node.js and the modules of node/package-lock.json: make test-deps fetches them")
	}

	if folder, err = filepath.Abs(filepath.Dir(ready[at])); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "node"), folder
}

// copied puts a file of ours beside the modules that it imports.
func copied(t *testing.T, folder, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("node", name))
	if err != nil {
		t.Fatal(err)
	}

	path := filepath.Join(folder, fmt.Sprintf("%d-%s", os.Getpid(), name))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = os.Remove(path) })
	return path
}

// TestAnotherClientWorksOffAGraph has the TypeScript SDK's client explore the service, create a graph and work through
// it.
func TestAnotherClientWorksOffAGraph(t *testing.T) {
	program, folder := node(t)
	script := copied(t, folder, "life.mjs")
	api := &client.Client{Base: running.Info.API, Token: running.Info.UserToken}
	_, err := client.Ask[shape.Workspace](t.Context(), api, client.Call{
		Method: http.MethodPost, Path: "/v1/workspaces", Body: map[string]any{"name": "House"},
	})
	if err != nil {
		t.Fatal(err)
	}

	life := exec.CommandContext(t.Context(), program, script)
	life.Env = append(os.Environ(), "STAGECOACH_API_URL="+running.Info.API, "STAGECOACH_TOKEN="+running.Info.UserToken)
	var said, failed bytes.Buffer
	life.Stdout, life.Stderr = &said, &failed
	if err := life.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, said.String(), failed.String())
	}

	var told struct {
		Made []string `json:"made"`
	}
	if err := json.Unmarshal(said.Bytes(), &told); err != nil || len(told.Made) != 3 {
		t.Fatalf("the client says %s: %v", said.String(), err)
	}

	for _, id := range told.Made {
		done, err := client.Ask[shape.Task](t.Context(), api, client.Call{Method: http.MethodGet, Path: "/v1/tasks/" + id})
		if err != nil || done.Status != lifecycle.TaskDone {
			t.Errorf("task %s is %s: %v", id, done.Status, err)
		}
	}
}

// TestConformance runs the protocol's own suite. What it expects of its fixtures, and of parts of the protocol that are
// not served, is listed in node/expected-failures.yaml with the reasons; both a new failure and one that no longer
// occurs fail the test when a second run has it too: scenarios have time limits of their own, which a busy machine may
// exceed.
func TestConformance(t *testing.T) {
	program, folder := node(t)
	target, err := url.Parse(running.Info.API)
	if err != nil {
		t.Fatal(err)
	}

	// The suite sends no token: this adds the administrator's, who has no rate limit.
	withToken := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Authorization", "Bearer "+running.Info.AdminToken)
	}})
	defer withToken.Close()

	expected, err := filepath.Abs(filepath.Join("node", "expected-failures.yaml"))
	if err != nil {
		t.Fatal(err)
	}

	var first []string
	for run := range 2 {
		suite := exec.CommandContext(t.Context(), program,
			filepath.Join(folder, "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js"), "server",
			"--url", withToken.URL+"/mcp", "--suite", "all", "--expected-failures", expected)

		said, err := suite.CombinedOutput()
		if err == nil {
			return
		}

		found := differences(string(said))
		lines := slices.Collect(bytes.Lines(said))
		end := bytes.Join(lines[max(0, len(lines)-120):], nil)
		if run == 0 && len(found) > 0 {
			t.Logf("%v\n%s", err, end)
			first = found
			continue
		}
		if again := slices.DeleteFunc(found, func(one string) bool { return !slices.Contains(first, one) }); len(again) > 0 || len(found) == 0 {
			t.Errorf("%v\n%s", err, end)
		}
	}
}

// differences lists what a report of the suite has against the expected failures.
func differences(report string) (found []string) {
	heading := ""
	for line := range strings.Lines(report) {
		line = strings.TrimSpace(ansi.ReplaceAllString(line, ""))
		switch {
		case strings.HasPrefix(line, "Stale baseline entries"), strings.HasPrefix(line, "Unexpected failures ("):
			heading = line
		case line == "":
			heading = ""
		case heading != "":
			found = append(found, line)
		}
	}
	return found
}

// ansi is what makes a terminal change its colours.
var ansi = regexp.MustCompile(`\x1b\[[0-9;]*m`)
