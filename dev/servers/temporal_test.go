package servers

import (
	"context"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"stagecoach/dev/night"
)

func startTemporal(t *testing.T, o TemporalOptions) *Temporal {
	t.Helper()
	o.Progress = func(s string) { t.Log(s) }
	begin := time.Now()
	s, err := StartTemporal(testContext(t), o)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})

	t.Logf("Temporal on %s after %v", s.Address, time.Since(begin).Round(time.Millisecond))
	return s
}

func dial(t *testing.T, s *Temporal) client.Client {
	t.Helper()
	c, err := client.DialContext(testContext(t), client.Options{HostPort: s.Address, Namespace: s.Namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func greet(_ workflow.Context, name string) (string, error) { return "hello " + name, nil }

func runGreeting(t *testing.T, c client.Client, id string) {
	t.Helper()
	w := worker.New(c, "greetings", worker.Options{})
	w.RegisterWorkflow(greet)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()

	run, err := c.ExecuteWorkflow(
		testContext(t), client.StartWorkflowOptions{ID: id, TaskQueue: "greetings"}, greet, "world",
	)
	if err != nil {
		t.Fatal(err)
	}

	var got string
	if err := run.Get(testContext(t), &got); err != nil || got != "hello world" {
		t.Fatalf("the workflow returned %q, %v", got, err)
	}
}

func TestLongTemporalKeepsItsFile(t *testing.T) {
	night.Only(t)
	t.Parallel()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()

	port := busy.Addr().(*net.TCPAddr).Port
	o := TemporalOptions{
		DBFile:    filepath.Join(t.TempDir(), "below", "temporal.db"),
		Namespace: "stage",
		Port:      port,
		UIPort:    port,
	}

	s := startTemporal(t, o)
	if s.port == port || s.uiPort == port {
		t.Errorf("the busy port %d was not replaced", port)
	}

	c := dial(t, s)
	runGreeting(t, c, "one")
	described, err := c.WorkflowService().DescribeNamespace(
		testContext(t), &workflowservice.DescribeNamespaceRequest{Namespace: "stage"},
	)
	if err != nil || described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration() != temporalRetention {
		t.Errorf("namespace: %v, %v; want a retention of %v", described.GetConfig(), err, temporalRetention)
	}
	if response, err := http.Get(s.WebUI + "/namespaces/stage/workflows"); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("Web UI: %v, %v", response, err)
	}
	if _, err := StartTemporal(testContext(t), o); err == nil || !strings.Contains(err.Error(), "already uses") {
		t.Errorf("a second server on the same file: %v", err)
	}

	address := s.Address
	for _, end := range []func(){func() { _ = s.Stop() }, s.Kill, func() {}} {
		end()
		if err := s.Restart(testContext(t)); err != nil {
			t.Fatal(err)
		}
		if s.Address != address {
			t.Errorf("Address changed from %s to %s", address, s.Address)
		}
		// The client made before the restart reconnects.
		if _, err := c.DescribeWorkflowExecution(testContext(t), "one", ""); err != nil {
			t.Errorf("after a restart: %v", err)
		}
	}

	runGreeting(t, c, "two")
}

func TestTemporalInMemory(t *testing.T) {
	t.Parallel()
	s := startTemporal(t, TemporalOptions{UIPort: -1})
	if s.WebUI != "" || s.Namespace != "default" {
		t.Errorf("WebUI %q, namespace %q", s.WebUI, s.Namespace)
	}

	runGreeting(t, dial(t, s), "one")
	if err := s.Stop(); err != nil {
		t.Fatal(err)
	}

	<-s.Done()
	if !portIsFree(s.port) {
		t.Error("the port is not free after Stop")
	}
}

// script writes a program that replaces another.
func script(t *testing.T, path, body string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFindTemporal(t *testing.T) {
	home := t.TempDir()
	path := filepath.Join(home, "bin")
	cache := filepath.Join(home, "cache")
	t.Setenv("HOME", home)
	t.Setenv("XDG_CACHE_HOME", cache)
	t.Setenv("PATH", path+":/bin:/usr/bin")
	var said []string
	find := func() (string, error) {
		said = nil
		return FindTemporal(testContext(t), func(s string) {
			if !strings.HasSuffix(s, " s") { // how long a slow step has taken
				said = append(said, s)
			}
		})
	}

	withoutInternet(t)
	script(t, filepath.Join(path, "go"), `echo "no network" >&2; exit 1`)
	_, err := find()
	if err == nil || !strings.Contains(err.Error(), "no network") || !strings.Contains(err.Error(), "install the Temporal CLI") {
		t.Errorf("a build that fails: %v", err)
	}

	// An old one in the PATH is skipped and ours is built, once.
	script(t, filepath.Join(path, "temporal"), `echo "temporal version 1.3.0 (Server 1.27.1, UI 2.36.0)"`)
	script(t, filepath.Join(path, "go"), `[ "$1" = build ] || exit 1
printf '#!/bin/sh\necho "temporal version 0.0.0-DEV (Server 1.32.0, UI 2.54.1)"\n' >"$4"
chmod +x "$4"`)
	built, err := find()
	if err != nil {
		t.Fatal(err)
	}

	dir := filepath.Dir(built)
	if !strings.HasPrefix(dir, home) || len(said) != 4 || !strings.Contains(said[0], "older than") || !strings.Contains(said[1], "fetching") || !strings.Contains(said[2], "cannot be fetched") || !strings.Contains(said[3], "building") {
		t.Errorf("found %s and said %q", built, said)
	}
	if entries, _ := os.ReadDir(filepath.Dir(dir)); len(entries) != 2 { // and the lock
		t.Errorf("left in the cache: %v", entries)
	}
	if again, err := find(); err != nil || again != built || len(said) != 1 {
		t.Errorf("second time: %s, %v, said %q", again, err, said)
	}

	// A good one in the PATH is used.
	script(t, filepath.Join(path, "temporal"), `echo "temporal version 1.9.1 (Server 1.32.2, UI 2.55.0)"`)
	if found, err := find(); err != nil || found != filepath.Join(path, "temporal") {
		t.Errorf("with one in the PATH: %s, %v", found, err)
	}
}

// TestCancelledRequests cancels requests at all moments. With an older SQLite driver a server was permanently broken
// after 2,000 to 26,000 of them.
func TestCancelledRequests(t *testing.T) {
	t.Parallel()
	s := startTemporal(t, TemporalOptions{DBFile: filepath.Join(t.TempDir(), "temporal.db"), UIPort: -1})
	c := dial(t, s)

	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 1500 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(6000))*time.Microsecond)
				_, _ = c.WorkflowService().ListNamespaces(ctx, &workflowservice.ListNamespacesRequest{})
				_, _ = c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{TaskQueue: "nobody"}, "nothing")
				cancel()
			}
		})
	}

	group.Wait()

	if _, err := c.WorkflowService().ListNamespaces(t.Context(), &workflowservice.ListNamespacesRequest{}); err != nil {
		t.Errorf("after requests that were cancelled: %v", err)
	}
}
