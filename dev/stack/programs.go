package stack

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"stagecoach/dev/servers"
)

// Programs are those of this module, built into a folder: worker and api run from it as in production.
type Programs struct {
	Dir  string
	Race bool // with the race detector
}

// Tags are the build tags of the programs. With stdjson the Telegram library uses Go's own JSON encoder. The one that
// it uses without the tag reserves 3.6 MB in every process at its start.
const Tags = "stdjson"

// Build builds the programs with these names, such as worker. Without debugging information linking takes a third of
// the time.
func (p Programs) Build(ctx context.Context, names ...string) error {
	args := []string{"build", "-tags=" + Tags, "-ldflags=-s -w", "-o", p.Dir + string(filepath.Separator)}
	if p.Race {
		args = append(args, "-race")
	}

	for _, name := range names {
		args = append(args, "stagecoach/"+name)
	}

	if out, err := exec.CommandContext(ctx, "go", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("%s cannot be built: %w\n%s", strings.Join(names, ", "), err, out)
	}
	return nil
}

// Path is the path of the program with that name.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, name) }

// Start runs a program with settings as its only environment.
func (p Programs) Start(name string, settings map[string]string, log io.Writer) (*Child, error) {
	command := exec.Command(p.Path(name))
	command.Env = []string{}
	for key, value := range settings {
		command.Env = append(command.Env, key+"="+value)
	}
	command.Stdout, command.Stderr = log, log
	return Launch(command)
}

// Child is a running program. It ends with this process, however that ends.
type Child struct {
	*exec.Cmd
	done chan struct{}
}

// Launch starts a command.
func Launch(command *exec.Cmd) (*Child, error) {
	if err := servers.StartTied(command); err != nil {
		return nil, err
	}

	p := &Child{Cmd: command, done: make(chan struct{})}
	go func() {
		_ = command.Wait()
		close(p.done)
	}()
	return p, nil
}

// Done is closed when the process has ended.
func (p *Child) Done() <-chan struct{} { return p.done }

// Kill ends the process as a crash does.
func (p *Child) Kill() {
	_ = p.Process.Kill()
	<-p.done
}

// Stop asks the process to end and waits until it has ended.
func (p *Child) Stop() {
	_ = p.Process.Signal(syscall.SIGTERM)
	<-p.done
}
