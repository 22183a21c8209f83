package servers

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"stagecoach/dev/wait"
)

func shell(script string) command {
	return command{path: "/bin/sh", args: []string{"-c", script}, env: environment(nil)}
}

func TestRun(t *testing.T) {
	t.Parallel()
	var log logBuffer
	c := shell("echo out; echo err >&2")
	c.log = &log
	out, err := run(t.Context(), c)
	if err != nil || !strings.Contains(out, "out") || !strings.Contains(out, "err") || strings.TrimSpace(log.String()) != out {
		t.Errorf("run = %q, %v; log %q", out, err, log.String())
	}

	_, err = run(t.Context(), shell("echo why >&2; exit 3"))
	if err == nil || !strings.Contains(err.Error(), "exit status 3") || !strings.Contains(err.Error(), "why") {
		t.Errorf("run of a failing program: %v; want the exit status and its output", err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()

	begin := time.Now()
	_, err = run(ctx, shell("sleep 600 & sleep 600"))
	if !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) > wait.Patience {
		t.Errorf("run over its time: %v after %v", err, time.Since(begin))
	}
}

func TestStopKillsUnresponsiveProcess(t *testing.T) {
	t.Parallel()
	p, err := start(shell("trap '' TERM; echo ready; while :; do sleep 0.1; done"))
	if err != nil {
		t.Fatal(err)
	}

	wait.Eventually(t, "the script runs", func() bool { return p.output.String() == "ready" })
	if err := p.stop(ask{syscall.SIGTERM, 200 * time.Millisecond}); err == nil {
		t.Error("stop of a deaf process: no error")
	}

	select {
	case <-p.done:
	default:
		t.Error("the process still runs")
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	t.Parallel()
	var out tail
	for i := range 10000 {
		fmt.Fprintln(&out, i)
	}
	got := out.String()
	if len(got) > 2*tailSize || !strings.HasSuffix(got, "\n9999") {
		t.Errorf("%d bytes are kept, ending in %q", len(got), got[len(got)-20:])
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	release, err := lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(path); err != errLocked {
		t.Errorf("second lock: %v; want errLocked", err)
	}

	waited := false
	again, err := waitLock(testContext(t), path, func() {
		if !waited {
			release()
		}
		waited = true
	})
	if err != nil || !waited {
		t.Fatalf("waitLock: %v, waited %v", err, waited)
	}

	again()
}

// The complete program is killed, so that it cannot clean up.
func TestServersDieWithTheirOwner(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child that its parent died")
	}

	dir := t.TempDir()
	owner := exec.Command(os.Args[0])
	owner.Env = append(os.Environ(), helperDir+"="+dir)
	out, err := owner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := owner.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = owner.Process.Kill() }()

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}

	var postgres, temporal, torrents int
	if _, err := fmt.Sscanf(line, "started %d %d %d", &postgres, &temporal, &torrents); err != nil {
		t.Fatal(line)
	}
	if pids, _ := serversIn(filepath.Join(dir, "data")); len(pids) < 2 {
		t.Fatalf("found only the processes %v of a running server", pids)
	}

	if err := owner.Process.Kill(); err != nil {
		t.Fatal(err)
	}

	_ = owner.Wait()
	wait.Eventually(t, "all servers are gone", func() bool {
		pids, _ := serversIn(filepath.Join(dir, "data"))
		return len(pids) == 0 && !running(postgres) && !running(temporal) && !running(torrents)
	})
	p, err := StartPostgres(testContext(t), PostgresOptions{Dir: dir, Fast: true})
	if err != nil {
		t.Fatal("start on the data left behind:", err)
	}
	if err := p.Stop(); err != nil {
		t.Error(err)
	}
}

// running treats a process that has ended, and for which its parent has not waited, as not running.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}
