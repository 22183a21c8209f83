package containers

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
)

// checkout is a copy of the sources of images and containers, with its own compose project.
type checkout struct {
	testing.TB
	dir      string
	project  string
	options  []string          // of docker compose, before the command
	services map[string]listed // of the compose file
	ports    map[string]int    // free ports of this machine, by service
}

// listed is what is read of a service in the compose file.
type listed struct {
	Image    string
	Profiles []string
	Ports    []string
}

// newCheckout skips the test if no engine is running. Everything it creates is removed at the end, except images.
func newCheckout(t testing.TB, options ...string) *checkout {
	t.Helper()
	night.Only(t)
	if err := exec.Command("docker", "compose", "version").Run(); err != nil {
		t.Skip("Docker Compose is not installed: make night-compose")
	}
	if err := exec.Command("docker", "info").Run(); err != nil {
		t.Skip("no container engine runs: make night-compose")
	}

	c := &checkout{
		TB: t, dir: t.TempDir(), project: fmt.Sprintf("stagecoach-night-%d", os.Getpid()), options: options, ports: map[string]int{},
	}
	c.copySources()
	c.standIn()
	t.Cleanup(c.remove)
	return c
}

// copySources copies what .dockerignore lets into a build, and what compose reads.
func (c *checkout) copySources() {
	c.Helper()
	top := filepath.Join("..", "..")
	names := []string{".dockerignore", ".env.dev", ".env.example", "Dockerfile", "deploy", "docker-compose.yml"}
	ignore, err := os.ReadFile(filepath.Join(top, ".dockerignore"))
	c.must(err)
	for line := range strings.Lines(string(ignore)) {
		if name, let := strings.CutPrefix(strings.TrimSpace(line), "!"); let {
			names = append(names, name)
		}
	}

	for _, name := range names {
		from, to := filepath.Join(top, name), filepath.Join(c.dir, name)
		if info, err := os.Stat(from); err == nil && info.IsDir() {
			c.must(os.CopyFS(to, os.DirFS(from)))
			continue
		}
		text, err := os.ReadFile(from)
		c.must(err)
		c.must(os.WriteFile(to, text, 0o644))
	}
}

var fromOthers = regexp.MustCompile(`(?m)^FROM ([\w./-]+):[^ ]+`)

// standIn selects replacements for third-party images, and free ports of this machine: in the copy of the Dockerfile,
// and in a file that is merged into docker-compose.yml.
func (c *checkout) standIn() {
	c.Helper()
	file := filepath.Join(c.dir, "Dockerfile")
	text, err := os.ReadFile(file)
	c.must(err)
	c.must(os.WriteFile(file, fromOthers.ReplaceAll(text, []byte("FROM stagecoach-standin/$1")), 0o644))

	text, err = os.ReadFile(filepath.Join(c.dir, "docker-compose.yml"))
	c.must(err)
	var composed struct{ Services map[string]listed }
	c.must(yaml.Unmarshal(text, &composed))
	c.services = composed.Services

	override := &strings.Builder{}
	override.WriteString("services:\n")
	for name, service := range c.services {
		fmt.Fprintf(override, "  %s:\n", name)
		if name == "telegram-bot-api" {
			override.WriteString(botAPI)
		} else {
			fmt.Fprintf(override, "    image: %s\n", standInOf(service.Image))
		}
		if len(service.Ports) > 0 {
			port, err := servers.FreePort()
			c.must(err)
			c.ports[name] = port
			_, inside, _ := strings.Cut(strings.TrimPrefix(service.Ports[0], "127.0.0.1:"), ":")
			fmt.Fprintf(override, "    ports: !override [\"127.0.0.1:%d:%s\"]\n", port, inside)
		}
	}
	c.must(os.WriteFile(filepath.Join(c.dir, "override.yml"), []byte(override.String()), 0o644))
}

// botAPI is the simulator of the profile dev, which speaks the protocol of the Local Bot API server: the real one
// cannot be built from what a module proxy or Debian has.
const botAPI = `    image: stagecoach-night:dev
    user: root
    entrypoint: [dev, standin, telegram, --addr, "0.0.0.0:8081", --dir, /var/lib/telegram-bot-api, --shared-dir, /spool]
`

// standInOf names the replacement for an image; replacements of our own images are named differently, so that a
// developer's are left alone.
func standInOf(image string) string {
	tag, _, _ := strings.Cut(image, "@")
	name, _, _ := strings.Cut(path.Base(tag), ":")
	switch name {
	case "stagecoach":
		return "stagecoach-night:production"
	case "stagecoach-dev":
		return "stagecoach-night:dev"
	}
	return "stagecoach-standin/" + name
}

// compose runs docker compose with a command, and returns its standard output.
func (c *checkout) compose(args ...string) string {
	c.Helper()
	out, err := c.tryCompose(args...)
	if err != nil {
		c.Fatalf("docker compose %s: %v", strings.Join(args, " "), err)
	}
	return out
}

// tryCompose is compose for a command that may fail; the error contains the output.
func (c *checkout) tryCompose(args ...string) (string, error) {
	return c.docker(append(append([]string{"compose"}, c.options...), args...)...)
}

func (c *checkout) docker(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, "docker", args...)
	command.Dir = c.dir
	command.Env = c.environment()
	var out, said bytes.Buffer
	command.Stdout, command.Stderr = &out, &said
	if err := command.Run(); err != nil {
		lines := strings.Split(strings.TrimSpace(out.String()+said.String()), "\n")
		return out.String(), fmt.Errorf("%w\n%s", err, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
	return out.String(), nil
}

// environment points the docker compose commands at this checkout.
func (c *checkout) environment() []string {
	return append(os.Environ(), "COMPOSE_PROJECT_NAME="+c.project, "COMPOSE_FILE=docker-compose.yml:override.yml", "COMPOSE_ANSI=never")
}

// remove removes the project's containers, networks and volumes, and fails the test if some are left.
func (c *checkout) remove() {
	if c.Failed() {
		out, _ := c.tryCompose("--profile", "*", "ps", "--all")
		c.Logf("%s", out)
		out, _ = c.tryCompose("--profile", "*", "logs", "--tail", "5")
		c.Logf("%s", out)
		out, _ = c.docker("network", "inspect", c.project+"_default") // once it kept an endpoint of a container that was gone
		c.Logf("%s", out)
	}
	if _, err := c.tryCompose("--profile", "*", "down", "--volumes", "--remove-orphans", "--timeout", "5"); err != nil {
		c.Errorf("down: %v", err)
	}
	for _, kind := range []string{"container", "network", "volume"} {
		all := []string{kind, "ls", "--quiet", "--filter", "label=com.docker.compose.project=" + c.project}
		if out, err := c.docker(all...); err != nil || out != "" {
			c.Errorf("left behind, %s: %s %v", kind, out, err)
		}
	}
}

func (c *checkout) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// running is a container as `docker compose ps` lists it.
type running struct{ ID, Name, Service, State, Health string }

func (c *checkout) containers(services ...string) (found []running) {
	c.Helper()
	for line := range strings.Lines(c.compose(append([]string{"--profile", "*", "ps", "--all", "--format", "json"}, services...)...)) {
		var r running
		c.must(json.Unmarshal([]byte(line), &r))
		found = append(found, r)
	}
	return found
}

// healthy waits until each permanent container is running and its health check, if any, passes.
func (c *checkout) healthy(services ...string) {
	c.Helper()
	var ill []running
	for range 300 {
		ill = slices.DeleteFunc(c.containers(services...), func(r running) bool {
			ended := r.State == "exited" && slices.Contains(once, r.Service)
			return ended || r.State == "running" && (r.Health == "healthy" || r.Health == "")
		})
		if len(ill) == 0 {
			return
		}
		time.Sleep(time.Second)
	}
	c.Fatalf("not healthy: %v", ill)
}

// once are services that end when they have done their work.
var once = []string{"migrate", "temporal-schema", "temporal-namespace", "spool-owner", "demo"}

// container returns the id of a container of a service.
func (c *checkout) container(service string) string {
	c.Helper()
	found := c.containers(service)
	if len(found) == 0 {
		c.Fatalf("%s has no container", service)
	}
	return found[0].ID
}

// inspect formats what the engine knows about a container.
func (c *checkout) inspect(id, format string) string {
	c.Helper()
	out, err := c.docker("inspect", "--format", format, id)
	c.must(err)
	return strings.TrimSpace(out)
}

// beside runs a command of the Alpine replacement image in the network of a container.
func (c *checkout) beside(id string, command ...string) (string, error) {
	return c.docker(append([]string{"run", "--rm", "--network", "container:" + id, "stagecoach-standin/alpine"}, command...)...)
}

// crash kills the first process of a container from outside, as the kernel does when it runs out of memory: the engine
// restarts it. (`docker kill` counts as an operator's request.)
func (c *checkout) crash(service string) {
	c.Helper()
	id := c.container(service)
	_, err := c.docker(
		"run", "--rm", "--pid", "host", "stagecoach-standin/alpine", "kill", "-9", c.inspect(id, "{{.State.Pid}}"),
	)
	c.must(err)
}
