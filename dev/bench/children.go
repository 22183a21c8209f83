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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"stagecoach/dev/stack"
)

// childCommand starts this program as a child: "child <kind> <settings>".
const childCommand = "child"

// bareKind is the child that runs the worker of a baseline; all others are stand-ins, those of tlsKind behind TLS.
const bareKind = "bare"

// beChild runs one stand-in, or the baseline's worker, in a process of its own. It ends with its standard input, which
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

	if kind == tlsKind {
		var child tlsChild
		if err := json.Unmarshal(settings, &child); err != nil {
			return err
		}
		return child.serve(ctx, out)
	}

	standIn, err := stack.DecodeStandIn(kind, settings)
	if err != nil {
		return err
	}
	served, err := stack.Serve("127.0.0.1:0", standIn)
	if err != nil {
		return errors.Join(err, standIn.Close())
	}

	fmt.Fprintln(out, served.URL)
	<-ctx.Done()
	return served.Close()
}

// process is a child that runs.
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
	if _, err := command.StdinPipe(); err != nil { // open as long as this process lives
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

// startApart starts a stand-in in a process of its own.
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

// stop asks the process to end, and kills it when it does not.
func (p *process) stop() {
	_ = p.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Done():
	case <-time.After(5 * time.Second):
		p.Kill()
	}
}

// memory reads a value of the process's status in bytes: VmRSS, its present memory, or VmHWM, the peak.
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

// cpu is the processor time that groups of processes have used, in milliseconds.
type cpu map[string]float64

// The groups: this process makes the requests as an API does; the baseline's worker is a child of it as the stand-ins
// are.
const (
	cpuPostgres = "PostgreSQL"
	cpuTemporal = "Temporal"
	cpuWorker   = "worker and stand-ins"
	cpuCaller   = "caller"

	clockTick = 10 // milliseconds, in /proc of Linux
)

var cpuGroups = []string{cpuTemporal, cpuPostgres, cpuWorker, cpuCaller}

// cpuNow reads what this process and those below it have used, with children that have ended.
func cpuNow() (cpu, error) {
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}

	type process struct {
		parent int
		name   string
		used   float64
	}
	all := map[int]process{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		// "pid (name) state ppid …": the name may contain anything
		open, end := strings.IndexByte(string(text), '('), strings.LastIndexByte(string(text), ')')
		fields := strings.Fields(string(text[end+1:]))
		pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:open])))
		p := process{name: string(text[open+1 : end])}
		p.parent, _ = strconv.Atoi(fields[1])
		for _, ticks := range fields[11:15] { // user and system time, its own and of children that have ended
			n, err := strconv.ParseFloat(ticks, 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			p.used += n * clockTick
		}
		all[pid] = p
	}

	now, self := cpu{}, os.Getpid()
	for pid, p := range all {
		below := pid
		for below != self && below != 0 {
			below = all[below].parent
		}
		switch {
		case below != self:
		case pid == self:
			now[cpuCaller] += p.used
		case p.name == "postgres":
			now[cpuPostgres] += p.used
		case strings.HasPrefix(p.name, "temporal"):
			now[cpuTemporal] += p.used
		default:
			now[cpuWorker] += p.used
		}
	}

	return now, nil
}

// since is what was used from before until now, for each of so many jobs.
func (c cpu) since(before cpu, jobs int) cpu {
	each := cpu{}
	for group := range c {
		each[group] = (c[group] - before[group]) / float64(jobs)
	}
	return each
}

// cpuRows compares where the processor time of a job goes with where it goes in the baseline.
func cpuRows(name string, ours []cpu, baseline string, bare []cpu) (rows []row) {
	of := func(used []cpu, group string) (samples []float64) {
		for _, u := range used {
			samples = append(samples, u[group])
		}
		return samples
	}
	for _, group := range cpuGroups {
		rows = append(rows, measured(name+", CPU of "+group, "ms", of(ours, group)...).against(baseline, of(bare, group)...))
	}
	return rows
}
