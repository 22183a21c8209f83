package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// command describes a child process to start.
type command struct {
	path  string
	args  []string
	dir   string         // working directory
	env   []string       // the complete environment
	files []*os.File     // file descriptors 3, 4, … of the child
	as    *account       // the account of the child; nil means ours
	death syscall.Signal // sent by the kernel when this process dies (Linux only)
	log   io.Writer      // a copy of its output; may be nil
}

// account is a user of the operating system.
type account struct{ uid, gid int }

// process is a child that is running or has ended.
type process struct {
	name   string
	cmd    *exec.Cmd
	output *tail
	done   chan struct{} // closed when it has ended
	err    error         // how it ended; read only after done
}

// exitError means that a child has ended by itself.
type exitError struct {
	name   string
	output string
	err    error
}

func (e *exitError) Error() string {
	how := "ended"
	if e.err != nil {
		how = "ended with " + e.err.Error()
	}
	if e.output == "" {
		return e.name + " " + how
	}
	return fmt.Sprintf("%s %s; its last output:\n%s", e.name, how, e.output)
}

func (e *exitError) Unwrap() error { return e.err }

// forker returns a queue of functions that all run on one operating system thread. The kernel's parent-death signal
// refers to the thread that started the child, and Go ends threads at any time. All children therefore come from a
// thread that lives as long as this process.
var forker = sync.OnceValue(func() chan<- func() {
	queue := make(chan func())
	go func() {
		runtime.LockOSThread()
		for f := range queue {
			f()
		}
	}()
	return queue
})

func fork(cmd *exec.Cmd) error {
	started := make(chan error)
	forker() <- func() { started <- cmd.Start() }
	return <-started
}

// StartTied starts cmd and makes the kernel kill it when this process dies for any reason (Linux only).
func StartTied(cmd *exec.Cmd) error {
	cmd.SysProcAttr = processAttributes(nil, syscall.SIGKILL)
	return fork(cmd)
}

func start(c command) (*process, error) {
	cmd := exec.Command(c.path, c.args...)
	cmd.Dir, cmd.Env, cmd.ExtraFiles = c.dir, c.env, c.files
	cmd.SysProcAttr = processAttributes(c.as, c.death)
	// A grandchild may keep the output open: the wait for it is limited.
	cmd.WaitDelay = 2 * time.Second
	p := &process{name: cmd.Path, cmd: cmd, output: &tail{copyTo: c.log}, done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = p.output, p.output

	if err := fork(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", c.path, err)
	}

	go func() {
		p.err = cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// run starts a child and waits until it has ended. If ctx ends first, the child and its own children are killed.
func run(ctx context.Context, c command) (output string, err error) {
	p, err := start(c)
	if err != nil {
		return "", err
	}

	select {
	case <-p.done:
	case <-ctx.Done():
		p.kill()
		return p.output.String(), ctx.Err()
	}

	if p.err != nil {
		return p.output.String(), p.exited()
	}
	return p.output.String(), nil
}

func (p *process) exited() error {
	return &exitError{name: p.name, output: p.output.String(), err: p.err}
}

// await calls ready until it returns nil, the child ends, ctx is over, or
// ready returns an error made by permanent.
func (p *process) await(ctx context.Context, every time.Duration, ready func(context.Context) error) error {
	alive, cancel := context.WithCancel(ctx) // interrupts ready when the child ends
	defer cancel()

	go func() {
		select {
		case <-p.done:
			cancel()
		case <-alive.Done():
		}
	}()

	for {
		err := ready(alive)
		var final permanentError
		if err == nil {
			return nil
		} else if errors.As(err, &final) {
			// Another process on this port may have answered; then the child ends soon.
			select {
			case <-p.done:
				return p.exited()
			case <-time.After(500 * time.Millisecond):
				return final.error
			}
		}

		select {
		case <-p.done:
			return p.exited()
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; its last output:\n%s", p.name, ctx.Err(), err, p.output)
		case <-time.After(every):
		}
	}
}

// awaitPort returns when the child accepts connections at an address.
func (p *process) awaitPort(ctx context.Context, address string) error {
	return p.await(ctx, 50*time.Millisecond, func(ctx context.Context) error {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err
	})
}

// permanentError is an error that waiting does not resolve.
type permanentError struct{ error }

// ask is a signal and the time that a child gets to end after it.
type ask struct {
	signal syscall.Signal
	grace  time.Duration
}

// stop sends one signal after the other until the child has ended, and kills it if none helps. It returns an error if
// the child had already ended by itself, or had to be killed.
func (p *process) stop(asks ...ask) error {
	select {
	case <-p.done:
		return p.exited()
	default:
	}

	for _, a := range asks {
		if err := p.cmd.Process.Signal(a.signal); err != nil {
			continue // it has just ended, or the system has no signals
		}
		select {
		case <-p.done:
			return nil
		case <-time.After(a.grace):
		}
	}

	p.kill()
	return fmt.Errorf("%s did not stop when asked and was killed", p.name)
}

// kill ends the child and its process group immediately and waits for their end.
func (p *process) kill() {
	select {
	case <-p.done:
		return
	default:
	}
	killGroup(p.cmd.Process)
	<-p.done
}

// tail keeps the end of a child's output for error messages and passes on all of it.
type tail struct {
	mu     sync.Mutex
	kept   []byte
	copyTo io.Writer
}

const tailSize = 4096

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if len(t.kept) > 2*tailSize {
		t.kept = append([]byte(nil), t.kept[len(t.kept)-tailSize:]...)
	}
	if t.copyTo != nil {
		_, _ = t.copyTo.Write(b) // a failing log must not stop the child
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.kept))
}

// environment returns this process's variables without those that begin with one of the prefixes, plus the given ones.
func environment(without []string, with ...string) []string {
	var env []string
next:
	for _, entry := range os.Environ() {
		for _, prefix := range without {
			if strings.HasPrefix(entry, prefix) {
				continue next
			}
		}
		env = append(env, entry)
	}

	return append(env, with...)
}
