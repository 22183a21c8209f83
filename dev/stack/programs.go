package stack

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"stagecoach/dev/servers"
	"stagecoach/internal/config"
)

// Programs are those of this module, built into a folder: worker and api run from it as they do in production.
type Programs struct {
	Dir  string
	Race bool // with the race detector
}

// Build builds the programs with these names, such as worker. Without what only debuggers read, linking takes a third
// of the time.
func (p Programs) Build(ctx context.Context, names ...string) error {
	args := []string{"build", "-ldflags=-s -w", "-o", p.Dir + string(filepath.Separator)}
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

// Path is where the program of that name is.
func (p Programs) Path(name string) string { return filepath.Join(p.Dir, name) }

// Start runs a program that has nothing in its environment but settings.
func (p Programs) Start(name string, settings map[string]string, log io.Writer) (*Child, error) {
	command := exec.Command(p.Path(name))
	command.Env = []string{}
	for key, value := range settings {
		command.Env = append(command.Env, key+"="+value)
	}
	command.Stdout, command.Stderr = log, log
	return Launch(command)
}

// Child is a program that runs. It ends with this process, however that ends.
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

// Kill ends the process as a crash would.
func (p *Child) Kill() {
	_ = p.Process.Kill()
	<-p.done
}

// Stop asks the process to end, and waits until it has.
func (p *Child) Stop() {
	_ = p.Process.Signal(syscall.SIGTERM)
	<-p.done
}

// Ground is what worker and API of a test or a bench stand on.
type Ground struct {
	DatabaseURL         string
	Temporal, Namespace string // host:port; empty: the default one
	Key                 []byte // of the record
	AdminToken          string
	BotToken            string
	Telegram, Yandex    string // URLs of the stand-ins
}

// Settings are the variables of worker and API on that ground: they stop quickly, and one user may do what many do.
func (g Ground) Settings() map[string]string {
	settings := map[string]string{
		"DATABASE_URL":     g.DatabaseURL,
		"TEMPORAL_ADDRESS": g.Temporal, "TEMPORAL_NAMESPACE": g.Namespace,
		"STAGECOACH_ENCRYPTION_KEY":      base64.StdEncoding.EncodeToString(g.Key),
		"STAGECOACH_ADMIN_TOKEN":         g.AdminToken,
		"STAGECOACH_TELEGRAM_TOKEN":      g.BotToken,
		"STAGECOACH_TELEGRAM_API_URL":    g.Telegram,
		"STAGECOACH_YANDEX_API_URL":      g.Yandex,
		"STAGECOACH_YANDEX_TOKEN_URL":    g.Yandex + "/token",
		"STAGECOACH_WORKER_STOP_TIMEOUT": "1s",
		"STAGECOACH_TASK_LEAST_DEADLINE": "0s",
		"STAGECOACH_TASK_LEAST_RELEASE":  "0s",
	}

	if g.Namespace == "" {
		delete(settings, "TEMPORAL_NAMESPACE")
	}

	for _, setting := range config.Settings() {
		if strings.HasPrefix(setting.Name, "STAGECOACH_LIMIT_") {
			settings[setting.Name] = "0"
		}
	}
	return settings
}
