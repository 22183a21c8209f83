package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/stack"
	"stagecoach/dev/wait"
	"stagecoach/internal/devinfo"
	"stagecoach/starter/command"
)

func TestMain(m *testing.M) {
	// The developer's own settings must not affect the tests.
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "STAGECOACH_") && name != night.Wanted || name == "DATABASE_URL" {
			_ = os.Unsetenv(name)
		}
	}
	code := m.Run()
	if dir := builtIn.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	os.Exit(code)
}

// runStarter runs a command of the command line.
func runStarter(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr strings.Builder
	code = command.Run(t.Context(), append([]string{"starter"}, args...), &stdout, &stderr)
	return code, stdout.String(), stderr.String()
}

// process is dev, or one of its commands, in its own process.
type process struct {
	t     *testing.T
	cmd   *exec.Cmd
	began time.Time
	ended chan struct{}

	mu  sync.Mutex
	out bytes.Buffer
}

// Write implements io.Writer for the program's output.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.String()
}

// launch starts the built program, and kills it at the end of the test if it still runs.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	return launchWith(t, nil, args...)
}

// launchWith adds variables to the program's environment.
func launchWith(t *testing.T, env []string, args ...string) *process {
	t.Helper()
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}

	p := &process{t: t, cmd: exec.Command(filepath.Join(programs, "dev"), args...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.began = p, p, time.Now()
	p.cmd.Env = append(os.Environ(), env...)
	if err := servers.StartTied(p.cmd); err != nil {
		t.Fatal(err)
	}

	go func() {
		_ = p.cmd.Wait()
		close(p.ended)
	}()

	t.Cleanup(func() {
		_ = p.cmd.Process.Kill()
		<-p.ended
		if t.Failed() {
			t.Logf("output of dev %v:\n%s", args, p.output())
		}
	})

	return p
}

// wait returns the exit code.
func (p *process) wait(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(within):
		p.t.Fatalf("still running after %v", within)
		return 0
	}
}

// running waits for the dev.json of a dev that keeps running.
func (p *process) running(state string) devinfo.Info {
	p.t.Helper()
	var info devinfo.Info
	wait.Eventually(p.t, "dev.json is there", func() bool {
		select {
		case <-p.ended:
			p.t.Fatal("it has ended")
		default:
		}
		written, err := os.Stat(filepath.Join(state, devinfo.File))
		if err != nil || written.ModTime().Before(p.began) { // of an earlier process
			return false
		}
		info, err = devinfo.Read(state)
		return err == nil
	})

	return info
}

// children lists the child processes of a process, as far as the system shows them.
func children(pid int) (all []int) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}

		// The program's name, in brackets, may contain any characters.
		_, rest, _ := strings.Cut(string(data[bytes.LastIndexByte(data, ')'):]), " ")
		fields := strings.Fields(rest)
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) > 1 && fields[1] == strconv.Itoa(pid) {
			all = append(append(all, child), children(child)...)
		}
	}

	return all
}

// named returns the child process of a program.
func named(t *testing.T, children []int, program string) (pid int) {
	t.Helper()
	for _, pid := range children {
		if name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); err == nil && strings.TrimSpace(string(name)) == program {
			return pid
		}
	}
	t.Fatalf("none of the processes %v is %s", children, program)
	return 0
}

// allGone checks that all these processes end.
func allGone(t *testing.T, pids []int) {
	t.Helper()
	wait.Eventually(t, fmt.Sprintf("none of the processes %v is left", pids), func() bool {
		for _, pid := range pids {
			if syscall.Kill(pid, 0) == nil {
				return false
			}
		}
		return true
	})
}

var builtIn atomic.Pointer[string]

// built returns a folder with dev and starter, built once for all tests.
var built = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stagecoach-dev-")
	if err != nil {
		return "", err
	}
	builtIn.Store(&dir)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return dir, stack.Programs{Dir: dir}.Build(ctx, "dev", "starter")
})
