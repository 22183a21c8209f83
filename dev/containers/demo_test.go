package containers

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"stagecoach/dev/smalldisk"
)

// TestContainersDemo starts the profile dev, lets it do one of each, and then kills, restarts, replaces and stops its
// parts during work.
func TestContainersDemo(t *testing.T) {
	c := newCheckout(t, "--env-file", ".env.dev", "--profile", "dev")
	c.compose("up", "--build", "--detach")
	c.demoEnds()
	c.compose("up", "--detach", "demo")
	c.demoEnds()

	t.Run("networks", func(t *testing.T) { wantNetworks(c.with(t)) })
	t.Run("secrets", func(t *testing.T) { wantSecrets(c.with(t)) })
	t.Run("doctor", func(t *testing.T) { wantDoctor(c.with(t)) })
	t.Run("role of payments", func(t *testing.T) { wantOwnRole(c.with(t)) })
	t.Run("memory", func(t *testing.T) { wantMemory(c.with(t)) })

	user, admin := demoUser(c)
	c.compose("up", "--detach", "--scale", "worker=3")
	c.healthy()
	c.demoEnds()
	if workers := c.containers("worker"); len(workers) != 3 {
		t.Errorf("%d workers run, want 3", len(workers))
	}

	sold := c.purchases()
	for _, part := range []struct {
		name    string
		disturb func(*checkout)
	}{
		{"worker", func(c *checkout) { c.crash("worker") }},
		{"payments", func(c *checkout) { c.crash("payments") }},
		{"api", func(c *checkout) { c.crash("api") }},
		{"temporal", func(c *checkout) { c.crash("temporal") }},
		{"postgres", func(c *checkout) { c.crash("postgres") }},
		{"failover", func(c *checkout) {
			c.readOnly("on")
			c.becomesReady(false)
			time.Sleep(outage)
			c.readOnly("off")
		}},
		{"frozen-postgres", func(c *checkout) {
			c.compose("pause", "postgres")
			c.becomesReady(false)
			time.Sleep(outage)
			c.compose("kill", "postgres") // as docs/operate.md says
			c.compose("up", "-d", "--no-deps", "postgres")
		}},
		{"restart", func(c *checkout) { c.compose("restart", "temporal", "postgres") }},
		{"upgrade", func(c *checkout) {
			c.compose("up", "--detach", "--no-deps", "--force-recreate", "--scale", "worker=3", "worker", "payments")
		}},
	} {
		ok := t.Run(part.name, func(t *testing.T) {
			c := c.with(t)
			work := begin(user.with(t), admin.with(t), part.name)
			part.disturb(c)
			work.finish()
			c.healthy()
			sold += len(work.orders)
			if got := c.purchases(); got != sold {
				t.Errorf("the shop has sold %d times, want %d", got, sold)
			}
		})
		if !ok {
			return
		}
	}

	t.Run("down and up", func(t *testing.T) {
		c := c.with(t)
		work := begin(user.with(t), admin.with(t), "down-and-up")
		c.compose("down")
		if left := c.containers(); len(left) != 0 {
			t.Errorf("after down there are %v", left)
		}
		c.compose("up", "--detach")
		work.finish()
		c.demoEnds()
		c.healthy()
	})
}

// outage is longer than the timeouts of requests and connections.
const outage = 40 * time.Second

// TestContainersFullDisk fills the disk of PostgreSQL, which the record and Temporal share, during work.
func TestContainersFullDisk(t *testing.T) {
	c := newCheckout(t, "--env-file", ".env.dev", "--profile", "dev")
	disk := smalldisk.New(t, 1024)
	override, err := os.OpenFile(filepath.Join(c.dir, "override.yml"), os.O_APPEND|os.O_WRONLY, 0)
	c.must(err)
	_, err = fmt.Fprintf(override, "volumes: { postgres: { driver_opts: { type: none, o: bind, device: %q } } }\n", disk.Dir)
	c.must(errors.Join(err, override.Close()))
	t.Cleanup(c.remove) // before the disk is removed

	c.compose("up", "--build", "--detach")
	c.demoEnds()
	user, admin := demoUser(c)
	sold, work := c.purchases(), begin(user, admin, "full-disk")
	disk.Fill()
	c.becomesReady(false)
	time.Sleep(outage)
	disk.Free()
	work.finish()
	c.healthy()
	if got, want := c.purchases(), sold+len(work.orders); got != want {
		t.Errorf("the shop has sold %d times, want %d", got, want)
	}
}

// readOnly makes PostgreSQL refuse writes, like a demoted one, or accept them again.
func (c *checkout) readOnly(is string) {
	c.Helper()
	c.compose("exec", "-T", "postgres", "psql", "-U", "temporal", "-d", "postgres",
		"-c", "ALTER SYSTEM SET default_transaction_read_only = "+is, "-c", "SELECT pg_reload_conf()")
}

// becomesReady waits until /ready reports that the API is ready, or is not.
func (c *checkout) becomesReady(want bool) {
	c.Helper()
	for range 120 {
		response, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/ready", c.ports["api"]))
		if err == nil {
			_ = response.Body.Close()
			if (response.StatusCode == http.StatusOK) == want {
				return
			}
		}
		time.Sleep(time.Second)
	}
	c.Fatalf("/ready does not become %t", want)
}

// with returns the checkout for a part of the test.
func (c *checkout) with(t testing.TB) *checkout {
	other := *c
	other.TB = t
	return &other
}

func (a *api) with(t testing.TB) *api {
	return &api{a.checkout.with(t), a.address, a.token}
}

// demoEnds waits for the service demo, which each `up` runs again, and whose log must report success.
func (c *checkout) demoEnds() {
	c.Helper()
	if code, err := c.docker("wait", c.container("demo")); err != nil || strings.TrimSpace(code) != "0" {
		c.Fatalf("the demo ended with %s, %v", code, err)
	}
	if log := c.compose("logs", "demo"); !strings.Contains(log, "== all four ended as expected") {
		c.Fatalf("the demo says\n%s", log)
	}
}

// reach says which containers can reach which ports of others; all others must not. PostgreSQL and Temporal's server
// share a network, and the former stores what the latter knows.
var reach = map[string]struct {
	port string
	from []string
}{
	"postgres":    {"5432", []string{"api", "payments", "temporal", "worker"}},
	"temporal":    {"7233", []string{"api", "payments", "postgres", "temporal-ui", "worker"}},
	"temporal-ui": {"8080", []string{"temporal"}},
}

// wantNetworks tries each port that gives control of money from inside each container, at each of its addresses.
func wantNetworks(c *checkout) {
	script := &strings.Builder{}
	for target, want := range reach {
		addresses := c.inspect(c.container(target), "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}")
		for _, address := range strings.Fields(addresses) {
			fmt.Fprintf(script, "/usr/local/bin/nc -z %s %s && echo %s & ", address, want.port, target)
		}
	}
	script.WriteString("wait")

	for _, from := range c.containers() {
		if from.State != "running" {
			continue
		}
		reached, err := c.beside(from.ID, "sh", "-c", script.String())
		c.must(err)
		for target, want := range reach {
			may := slices.Contains(want.from, from.Service)
			if got := slices.Contains(strings.Fields(reached), target); got != may && from.Service != target {
				c.Errorf("%s reaches %s: %t", from.Service, target, got)
			}
		}
	}

	for _, network := range []string{"record", "temporal", "web-ui", "metrics"} {
		if internal := c.inspect(c.project+"_"+network, "{{.Internal}}"); internal != "true" {
			c.Errorf("the network %s leads outside", network)
		}
	}
}

// wantSecrets checks which containers have the secrets of the money and of the administrator, as files and elsewhere.
func wantSecrets(c *checkout) {
	holders := map[string][]string{"ton_key": {"payments"}, "fragment_cookies": {"payments"}, "admin_token": {"api"}}
	for _, r := range c.containers() {
		if r.State != "running" {
			continue
		}
		files, _ := c.docker("exec", r.ID, "ls", "/run/secrets") // without secrets this folder does not exist
		for secret, want := range holders {
			if has := slices.Contains(strings.Fields(files), secret); has != slices.Contains(want, r.Service) {
				c.Errorf("%s has %s: %t", r.Service, secret, has)
			}
		}
		known := c.inspect(r.ID, "{{json .Config}}")
		for _, value := range []string{strings.Repeat("5e", 32), "stel_ssid", "sc_dev-administrator"} {
			if strings.Contains(known, value) {
				c.Errorf("the engine shows a secret of %s to everybody who may inspect it: %s", r.Service, value)
			}
		}
	}
}

// wantDoctor checks in the containers whether everything works, including the sign-in provider.
func wantDoctor(c *checkout) {
	for service, program := range map[string]string{"worker": "worker", "payments": "worker", "api": "api"} {
		report := c.compose("exec", "-T", service, "starter", "doctor", program)
		if signIn := regexp.MustCompile(`(?m)^oidc +works`).MatchString(report); signIn != (service == "api") {
			c.Errorf("%s:\n%s", service, report)
		}
	}
}

// wantOwnRole does with PostgreSQL what payments can do: from their network, with their credentials.
func wantOwnRole(c *checkout) {
	payments := c.container("payments")
	address, err := c.docker("exec", payments, "cat", "/run/secrets/database_url")
	c.must(err)
	address = strings.TrimSpace(address)
	query := func(address, statement string) error {
		_, err := c.docker(
			"run", "--rm", "--network", "container:"+payments, "--entrypoint", "psql", "stagecoach-standin/postgres", address, "-c", statement,
		)
		return err
	}

	if err := query(address, "SELECT id, telegram_id, username FROM users; SELECT * FROM payments"); err != nil {
		c.Errorf("what payments need: %v", err)
	}
	temporals, _, _ := strings.Cut(address, "/stagecoach?")
	for _, refused := range [][2]string{
		{address, "SELECT * FROM users"},
		{address, "SELECT * FROM tokens"},
		{address, "SELECT * FROM sessions"},
		{address, "SELECT * FROM sign_in_links"},
		{address, "SELECT * FROM oauth_tokens"},
		{address, "SELECT * FROM webhooks"},
		{address, "SELECT * FROM jobs"},
		{address, "DELETE FROM payments"},
		{address, "SET ROLE stagecoach"},
		{temporals + "/temporal", "SELECT * FROM executions"},
	} {
		if err := query(refused[0], refused[1]); err == nil || !strings.Contains(err.Error(), "permission denied") {
			c.Errorf("payments: %s: %v", refused[1], err)
		}
	}
}

// wantMemory checks that each running container has a limit, and that a worker that exceeds it is stopped.
func wantMemory(c *checkout) {
	for _, r := range c.containers() {
		if r.State == "running" && c.inspect(r.ID, "{{.HostConfig.Memory}}") == "0" {
			c.Errorf("%s has no limit of memory", r.Service)
		}
	}

	worker := c.container("worker")
	began := c.inspect(worker, "{{.State.StartedAt}}")
	if _, err := c.docker("exec", worker, "dd", "if=/dev/zero", "of=/dev/null", "bs=1500M", "count=1"); err == nil || !strings.Contains(err.Error(), "137") {
		c.Errorf("1.5 GB in a worker: %v", err)
	}
	if now := c.inspect(worker, "{{.State.StartedAt}}"); now != began {
		c.Errorf("the worker was killed for what another process took")
	}
}
