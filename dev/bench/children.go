package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stagecoach/dev/stack"
)

// childCommand starts this program as a child: "child <kind> <settings>".
const childCommand = "child"

// bareKind is the child that runs the worker of a baseline; all others are simulators.
const bareKind = "bare"

// beChild runs one simulator, or the baseline's worker, in its own process. It ends with its standard input, which
// closes when the parent dies.
func beChild(ctx context.Context, kind string, args []string, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		stop()
	}()

	settings := []byte(strings.Join(args, " "))
	if kind == bareKind {
		var address string
		if err := json.Unmarshal(settings, &address); err != nil {
			return err
		}
		return runBareWorker(ctx, address, out)
	}

	kind, overTLS := strings.CutPrefix(kind, behindTLS)
	standIn, err := stack.DecodeStandIn(kind, settings)
	if err != nil {
		return err
	}
	if overTLS {
		return serveTLS(ctx, standIn, out)
	}

	served, err := stack.Serve("127.0.0.1:0", standIn)
	if err != nil {
		return errors.Join(err, standIn.Close())
	}

	fmt.Fprintln(out, served.URL)
	<-ctx.Done()
	return served.Close()
}

// process is a running child.
type process struct {
	*stack.Child
	log *logTail
}

// startChild starts this program as a child of the kind and returns the line that it prints when it is ready.
func startChild(kind string, settings any) (p *process, ready string, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, "", err
	}

	text, err := json.Marshal(settings)
	if err != nil {
		return nil, "", err
	}

	command := exec.Command(self, childCommand, kind, string(text))
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if _, err := command.StdinPipe(); err != nil { // open for as long as this process lives
		return nil, "", err
	}
	if p, err = startProcess(command); err != nil {
		return nil, "", err
	}

	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.stop()
		return nil, "", fmt.Errorf("%s did not start: %s", kind, p.log)
	}

	return p, strings.TrimSpace(line), nil
}

// startApart starts a simulator in its own process.
func startApart(kind string, options any) (url string, stop func() error, err error) {
	child, url, err := startChild(kind, options)
	if err != nil {
		return "", nil, err
	}
	return url, func() error { child.stop(); return nil }, nil
}

func startProcess(command *exec.Cmd) (*process, error) {
	p := &process{log: &logTail{}}
	command.Stderr = p.log

	var err error
	p.Child, err = stack.Launch(command)
	return p, err
}

// awaitLog waits until the process has logged a text.
func (p *process) awaitLog(ctx context.Context, text string) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()

	for !strings.Contains(p.log.String(), text) {
		select {
		case <-p.Done():
			return fmt.Errorf("%s has ended", p.Path)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w", p.Path, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}

	return nil
}

// stop asks the process to end, and kills it if it does not.
func (p *process) stop() {
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

// killTree kills a process and all its descendants with SIGKILL, and waits until they have ended.
func killTree(pid int) error {
	_ = syscall.Kill(pid, syscall.SIGSTOP) // it must neither notice that its children end nor start others
	below := descendants(pid)
	tree := append(below, pid)
	for _, pid := range tree {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}

	for _, pid := range tree {
		for !ended(pid) {
			time.Sleep(5 * time.Millisecond)
		}
	}

	if len(below) == 0 {
		return errors.New("the system does not tell the children of a process")
	}
	return nil
}

// descendants lists the descendants of a process, each before its own children.
func descendants(pid int) (all []int) {
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, list := range lists {
		text, _ := os.ReadFile(list)
		for field := range strings.FieldsSeq(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				all = append(append(all, child), descendants(child)...)
			}
		}
	}
	return all
}

// ended reports whether each thread of a process is gone, or a zombie, which no longer holds anything open.
func ended(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
	return !slices.ContainsFunc(threads, func(thread string) bool {
		stat, err := os.ReadFile(thread)
		return err == nil && !strings.Contains(string(stat), ") Z ")
	})
}

// memory reads a value of the process's status in bytes: VmRSS, its current memory, or VmHWM, the peak.
func (p *process) memory(name string) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		return 0, err
	}

	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
			return kib * 1024, err
		}
	}
	return 0, fmt.Errorf("the system does not tell %s", name)
}

// logTail keeps the end of a process's output, for error messages.
type logTail struct {
	mu   sync.Mutex
	text []byte
}

func (l *logTail) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	l.text = l.text[max(0, len(l.text)-4000):]
	return len(p), nil
}

func (l *logTail) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.text)
}
