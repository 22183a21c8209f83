package containers

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// filled is what an operator writes into .env, besides the secrets that a command generates. Simulators of the profile
// dev replace all external systems except qBittorrent, and provide the bot, the storage's application and the wallet.
var filled = map[string]string{
	"POSTGRES_PASSWORD":               "b0b1b2b3b4b5b6b7b8b9",
	"DATABASE_PASSWORD":               "c0c1c2c3c4c5c6c7c8c9",
	"WALLET_DATABASE_PASSWORD":        "f0f1f2f3f4f5f6f7f8f9",
	"MONITOR_DATABASE_PASSWORD":       "a0a1a2a3a4a5a6a7a8a9",
	"STAGECOACH_ENCRYPTION_KEY":       "bmlnaHQgbmlnaHQgbmlnaHQgbmlnaHQgbmlnaHQgbmk=",
	"STAGECOACH_ADMIN_TOKEN":          "sc_the-administrator-of-this-night-alone",
	"STAGECOACH_TELEGRAM_TOKEN":       "1000000:only-for-the-stand-in-and-its-tests",
	"STAGECOACH_YANDEX_CLIENT_ID":     "stand-in",
	"STAGECOACH_YANDEX_CLIENT_SECRET": "stand-in",
	"STAGECOACH_YANDEX_REFRESH_TOKEN": "stand-in-refresh",
	"STAGECOACH_ADMIN_IDS":            "1000",
	"STAGECOACH_DELIVERY_MODE":        "spool", // through files that the Bot API server reads
	"GRAFANA_PASSWORD":                "d0d1d2d3d4d5d6d7d8d9",
	"STAGECOACH_QBITTORRENT_URL":      "http://qbittorrent:8080",
	"STAGECOACH_QBITTORRENT_PASSWORD": "e0e1e2e3e4e5e6e7e8e9",
	"STAGECOACH_TON_KEY":              strings.Repeat("5e", 32),
	"STAGECOACH_TONCENTER_API_KEY":    "night",
	"STAGECOACH_FRAGMENT_COOKIES":     "stel_ssid=dev; stel_dt=0; stel_token=dev; stel_ton_token=dev",
	"STAGECOACH_TX_ALLOW":             "UQBe6n8T8EF_HGEMUefMRBoTHzvTNRMFJRljgBk1_ibh3Nlt",
	"STAGECOACH_TX_POLL_INTERVAL":     "1s",
	// None of this leaves the machine.
	"STAGECOACH_YANDEX_API_URL":   "http://standin-yandex:8082",
	"STAGECOACH_YANDEX_TOKEN_URL": "http://standin-yandex:8082/token",
	"STAGECOACH_TONCENTER_URL":    "http://standin-toncenter:8084",
	"STAGECOACH_FRAGMENT_URL":     "http://standin-fragment:8085",
	"STAGECOACH_PLAINTEXT_HOSTS":  "telegram-bot-api,qbittorrent,standin-yandex,standin-toncenter,standin-fragment",
	"COMPOSE_PROFILES":            "telegram,downloads,observability",
}

// fill writes .env from .env.example, with an operator's values.
func (c *checkout) fill(values map[string]string) {
	c.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, ".env.example"))
	c.must(err)
	lines := strings.Split(string(text), "\n")
	for i, line := range lines {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "# "), "=")
		if value, there := values[name]; there {
			lines[i] = name + "=" + value
		}
	}
	c.must(os.WriteFile(filepath.Join(c.dir, ".env"), []byte(strings.Join(lines, "\n")), 0o600))
}

// without returns the values except for some, which keep their samples.
func without(values map[string]string, names ...string) map[string]string {
	rest := map[string]string{}
	for name, value := range values {
		rest[name] = value
	}
	for _, name := range names {
		delete(rest, name)
	}
	return rest
}

// TestContainersInstall follows docs/first-day.md, and continues to the profile scale. Each sample secret prevents the
// start.
func TestContainersInstall(t *testing.T) {
	c := newCheckout(t)
	c.fill(nil)
	c.compose("--profile", "dev", "build")
	t.Run("sample values", func(t *testing.T) { wantRefusals(c.with(t)) })
	c.compose("down", "--volumes")
	c.must(os.Remove(filepath.Join(c.dir, ".env")))

	d := newDay(c)
	t.Run("first day", func(t *testing.T) { d.with(t).followed() })
	if t.Failed() {
		return
	}

	t.Run("backup", func(t *testing.T) {
		c := c.with(t)
		key, err := os.ReadFile(filepath.Join(c.dir, "backup.key"))
		c.must(err)
		d.values["BACKUP_TO"] = regexp.MustCompile(`age1\w+`).FindString(string(key))
		d.values["COMPOSE_PROFILES"] += ",backup"
		c.fill(d.values)
		c.compose("up", "-d")
		c.healthy()
		d.with(t).showing("docker compose exec backup find /backups -type f", "temporal_visibility-")
		d.with(t).showing("docker compose exec backup find /backups -type f", "stagecoach-")
		d.with(t).showing("starter status", "\nbackup ")
	})

	t.Run("scale", func(t *testing.T) {
		c := c.with(t)
		c.compose("up", "-d", "--scale", "worker=3")
		c.healthy()
		if workers := c.containers("worker"); len(workers) != 3 {
			t.Errorf("%d workers run, want 3", len(workers))
		}

		c.compose("stop", "temporal")
		d.values["COMPOSE_PROFILES"], d.values["TEMPORAL_SERVICES"] = "telegram,scale", "frontend"
		c.fill(d.values)
		c.compose("up", "-d")
		c.healthy()

		// The second API, and the workflow that a whole server started.
		second := &api{c, fmt.Sprintf("http://127.0.0.1:%d", c.ports["api-2"]), d.values["STAGECOACH_ADMIN_TOKEN"]}
		var task struct{ Status string }
		second.call("POST", "/v1/tasks/1/claim", "claim", map[string]any{"comment": "mine"}, &task)
		second.call("POST", "/v1/tasks/1/status", "done", map[string]any{"to": "DONE", "comment": "done"}, &task)
		if task.Status != "DONE" {
			t.Errorf("the task is %s", task.Status)
		}
	})
}

// wantRefusals starts with the sample value of each secret in turn: a message names the variable.
func wantRefusals(c *checkout) {
	for variable, service := range map[string]string{
		"POSTGRES_PASSWORD": "postgres", "DATABASE_PASSWORD": "postgres", "WALLET_DATABASE_PASSWORD": "postgres", "MONITOR_DATABASE_PASSWORD": "postgres", "GRAFANA_PASSWORD": "grafana",
		"STAGECOACH_ENCRYPTION_KEY": "worker", "STAGECOACH_TELEGRAM_TOKEN": "worker", "STAGECOACH_YANDEX_CLIENT_SECRET": "worker",
		"STAGECOACH_YANDEX_REFRESH_TOKEN": "worker", "STAGECOACH_ADMIN_TOKEN": "api",
	} {
		c.fill(without(filled, variable))
		if _, err := c.tryCompose("run", "--rm", "--no-deps", "-T", service); err == nil || !strings.Contains(err.Error(), variable) {
			c.Errorf("the sample value of %s: %v", variable, err)
		}
	}

	// The whole start reports which service it was.
	c.fill(without(filled, "POSTGRES_PASSWORD"))
	if _, err := c.tryCompose("up", "-d", "--build"); err == nil || !strings.Contains(err.Error(), "postgres") {
		c.Errorf("up with the sample value of POSTGRES_PASSWORD: %v", err)
	}
	if log := c.compose("logs", "postgres"); !strings.Contains(log, "POSTGRES_PASSWORD is empty or the sample value of .env.example") {
		c.Errorf("the log says\n%s", log)
	}
	c.fill(filled)
	c.compose("up", "-d", "--force-recreate", "--wait", "postgres") // as the log says

	// Docker compose itself refuses an empty one.
	for _, variable := range []string{"DATABASE_PASSWORD", "WALLET_DATABASE_PASSWORD"} {
		empty := without(filled)
		empty[variable] = ""
		c.fill(empty)
		if _, err := c.tryCompose("up", "-d"); err == nil || !strings.Contains(err.Error(), " "+variable) {
			c.Errorf("up without %s: %v", variable, err)
		}
	}
}
