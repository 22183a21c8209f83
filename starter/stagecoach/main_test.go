package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"stagecoach/dev/servers"
	"stagecoach/dev/testdb"
	"stagecoach/dev/wait"
	"stagecoach/internal/app"
	"stagecoach/internal/config"
	worker "stagecoach/worker/run"

	api "stagecoach/api/run"
)

// runAs names the program that this test program is instead.
const runAs = "STAGECOACH_TEST_RUN_AS"

func TestMain(m *testing.M) {
	switch program := config.Program(os.Getenv(runAs)); program {
	case config.ForServe:
		os.Exit(app.Main(program, serve))
	case config.ForWorker:
		os.Exit(app.Main(program, worker.Run))
	case config.ForAPI:
		os.Exit(app.Main(program, api.Run))
	default:
		testdb.Main(m)
	}
}

// TestStopDuringTheStart asks a program to stop during each step of its start, and once it runs. It ends with exit code 0.
func TestStopDuringTheStart(t *testing.T) {
	t.Parallel()
	const nowhere = "127.0.0.1:1" // refuses connections
	for name, c := range map[string]struct {
		program  config.Program
		call     string // to Temporal, which does not answer it; a client that cannot give it up gets its answer after the signal
		table    string // is locked, so that statements on it wait
		database string // address of a database that cannot be reached
		temporal string // address of a Temporal that cannot be reached
		log      string // the step has begun when the log has this
	}{
		"the database is away":         {program: config.ForServe, database: "postgres://" + nowhere + "/x", log: `"for":"the database"`},
		"migrations":                   {program: config.ForServe, table: "goose_db_version"},
		"Temporal is away":             {program: config.ForServe, temporal: nowhere, log: `"for":"Temporal"`},
		"connection to Temporal":       {program: config.ForServe, call: "GetSystemInfo"},
		"search attributes":            {program: config.ForServe, call: "ListSearchAttributes"},
		"new search attributes":        {program: config.ForServe, call: "AddSearchAttributes"},
		"tokens of the storage":        {program: config.ForServe, table: "oauth_tokens"},
		"administrators":               {program: config.ForServe, table: "users"},
		"start of the task queues":     {program: config.ForServe, call: "DescribeNamespace"},
		"watcher of downloads":         {program: config.ForServe, call: "StartWorkflowExecution"},
		"schedules":                    {program: config.ForServe, call: "CreateSchedule"},
		"after the start":              {program: config.ForServe, log: `"msg":"worker started"`},
		"watcher, in a worker":         {program: config.ForWorker, call: "StartWorkflowExecution"},
		"after a worker's start":       {program: config.ForWorker, log: `"msg":"worker started"`},
		"search attributes, in an API": {program: config.ForAPI, call: "ListSearchAttributes"},
		"after an API's start":         {program: config.ForAPI, log: `"msg":"API listening"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temporal := startTemporal(t, c.call)
			p := newProgram(t, c.program, temporal.address)
			if c.database != "" {
				p.env["DATABASE_URL"] = c.database
			}
			if c.temporal != "" {
				p.env["TEMPORAL_ADDRESS"] = c.temporal
			}

			waits := func() bool { return strings.Contains(p.log(), c.log) }
			switch {
			case c.call != "":
				waits = temporal.holds
			case c.table != "":
				waits = lock(t, p.env["DATABASE_URL"], c.table)
			}

			p.start()
			wait.Eventually(t, "the step has begun", func() bool { return waits() || p.ended() })
			p.stop()
			temporal.release()
			p.endsWith(0)
		})
	}
}

// TestFailureDuringTheStart lets one half of the program fail while the other one waits for Temporal.
func TestFailureDuringTheStart(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()

	p := newProgram(t, config.ForServe, startTemporal(t, "CreateSchedule").address)
	p.env["STAGECOACH_API_ADDR"] = taken.Addr().String()
	p.start()
	p.endsWith(1)
	if !strings.Contains(p.log(), "address already in use") {
		t.Error("the log does not have the reason")
	}
}

// TestFailureDespiteAStop lets one half end for a requested stop before the other one fails for another reason.
func TestFailureDespiteAStop(t *testing.T) {
	t.Parallel()
	failure := errors.New("the port is taken")
	for name, c := range map[string]struct{ second, want error }{
		"both stop":          {second: context.Canceled},
		"neither":            {},
		"one fails":          {second: failure, want: failure},
		"one is out of time": {second: context.DeadlineExceeded, want: context.DeadlineExceeded},
	} {
		ctx, stop := context.WithCancel(t.Context())
		first := make(chan struct{})
		err := together(ctx,
			func(ctx context.Context) error {
				defer close(first)
				stop()
				return ctx.Err()
			},
			func(context.Context) error { <-first; return c.second },
		)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// program is a process of one of the programs.
type program struct {
	t   *testing.T
	env map[string]string
	cmd *exec.Cmd

	done chan struct{}
	mu   sync.Mutex
	out  bytes.Buffer
}

// newProgram prepares a program with a database of its own.
func newProgram(t *testing.T, as config.Program, temporal string) *program {
	t.Helper()
	return &program{t: t, done: make(chan struct{}), env: map[string]string{
		runAs:          string(as),
		"DATABASE_URL": testdb.URL(t), "TEMPORAL_ADDRESS": temporal, "TEMPORAL_CONFIG_FILE": os.DevNull,
		"STAGECOACH_ENCRYPTION_KEY": "BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc=",
		"STAGECOACH_TELEGRAM_TOKEN": "1000000:" + strings.Repeat("x", 35), "STAGECOACH_TELEGRAM_API_URL": "http://127.0.0.1:1",
		"STAGECOACH_ADMIN_TOKEN": "planted-token-of-an-administrator", "STAGECOACH_QBITTORRENT_URL": "http://127.0.0.1:1",
		"STAGECOACH_API_ADDR": "127.0.0.1:0", "STAGECOACH_API_METRICS_ADDR": "off", "STAGECOACH_WORKER_METRICS_ADDR": "off",
		"STAGECOACH_WORKER_STOP_TIMEOUT": "1s",
	}}
}

func (p *program) start() {
	p.t.Helper()
	self, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}

	p.cmd = exec.Command(self)
	p.cmd.Stdout, p.cmd.Stderr = p, p
	for name, value := range p.env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	if err := servers.StartTied(p.cmd); err != nil {
		p.t.Fatal(err)
	}

	go func() {
		_ = p.cmd.Wait()
		close(p.done)
	}()
	p.t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.done
		if p.t.Failed() {
			p.t.Logf("its log:\n%s", p.log())
		}
	})
}

// stop asks it to end, as systemd does.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
}

func (p *program) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func (p *program) endsWith(want int) {
	p.t.Helper()
	wait.Eventually(p.t, "the program has ended", p.ended)
	if code := p.cmd.ProcessState.ExitCode(); code != want {
		p.t.Errorf("exit code %d, want %d", code, want)
	}
}

// Write implements io.Writer for the program's output.
func (p *program) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *program) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// lock locks a table until the test ends, and gives what reports whether a statement waits for it.
func lock(t *testing.T, url, table string) (waits func() bool) {
	t.Helper()
	db := testdb.Connect(t, url)
	if _, err := db.Exec(t.Context(), "BEGIN; LOCK TABLE "+table); err != nil {
		t.Fatal(err)
	}
	return func() (waits bool) {
		err := db.QueryRow(t.Context(), "SELECT EXISTS (SELECT FROM pg_locks WHERE NOT granted AND relation = $1::regclass)", table).Scan(&waits)
		return err == nil && waits
	}
}
