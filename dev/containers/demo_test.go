package containers

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestContainersDemo starts the profile dev, lets it do one of each, and then kills, restarts, replaces and stops its parts
// while work is under way.
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

// with returns the checkout for a part of the test.
func (c *checkout) with(t testing.TB) *checkout {
	other := *c
	other.TB = t
	return &other
}

func (a *api) with(t testing.TB) *api {
	return &api{a.checkout.with(t), a.address, a.token}
}

// demoEnds waits for the service demo, which each `up` runs again, and whose log must say that all has gone well.
func (c *checkout) demoEnds() {
	c.Helper()
	if code, err := c.docker("wait", c.container("demo")); err != nil || strings.TrimSpace(code) != "0" {
		c.Fatalf("the demo ended with %s, %v", code, err)
	}
	if log := c.compose("logs", "demo"); !strings.Contains(log, "== all four have ended as they should") {
		c.Fatalf("the demo says\n%s", log)
	}
}

// reach says which containers reach which ports of others; all others must not. PostgreSQL and Temporal's server share a
// network, and the former holds what the latter knows.
var reach = map[string]struct {
	port string
	from []string
}{
	"postgres":    {"5432", []string{"api", "payments", "temporal", "worker"}},
	"temporal":    {"7233", []string{"api", "payments", "postgres", "temporal-ui", "worker"}},
	"temporal-ui": {"8080", []string{"temporal"}},
}

// wantNetworks tries each port that decides about money from inside of each container, by each of its addresses.
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

// wantSecrets looks which containers have the secrets of the money and of the administrator, as files and elsewhere.
func wantSecrets(c *checkout) {
	holders := map[string][]string{"ton_key": {"payments"}, "fragment_cookies": {"payments"}, "admin_token": {"api"}}
	for _, r := range c.containers() {
		if r.State != "running" {
			continue
		}
		files, _ := c.docker("exec", r.ID, "ls", "/run/secrets") // without secrets there is no such folder
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

// wantDoctor asks in the containers whether everything works, the provider with which people sign in too.
func wantDoctor(c *checkout) {
	for service, program := range map[string]string{"worker": "worker", "payments": "worker", "api": "api"} {
		report := c.compose("exec", "-T", service, "starter", "doctor", program)
		if signIn := regexp.MustCompile(`(?m)^oidc +works`).MatchString(report); signIn != (service == "api") {
			c.Errorf("%s:\n%s", service, report)
		}
	}
}

// wantOwnRole does with PostgreSQL what payments can: from beside it, with its address.
func wantOwnRole(c *checkout) {
	payments := c.container("payments")
	address, err := c.docker("exec", payments, "sh", "-c", `echo "$DATABASE_URL"`)
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

// wantMemory checks that each container that runs has a limit, and that a worker that takes more is stopped by it.
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
