package stack

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// trial is a stack before its services start, in an environment with only these variables of ours.
func trial(t *testing.T, env map[string]string) (*Stack, settings, error) {
	t.Helper()
	for _, entry := range os.Environ() {
		if name, _, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "STAGECOACH_") {
			t.Setenv(name, "") // restores it
			_ = os.Unsetenv(name)
		}
	}
	for name, value := range env {
		t.Setenv(name, value)
	}

	s := New(t.TempDir(), terminal.NewScreen(io.Discard), func(error) {})
	s.kept = newKept()
	s.DatabaseURL, s.Temporal, s.AdminToken = "postgres://127.0.0.1:1/own", "127.0.0.1:2", s.kept.AdminToken
	s.Key, _ = s.kept.key()
	s.configure(map[string]string{
		"STAGECOACH_TELEGRAM_API_URL": "http://127.0.0.1:3", "STAGECOACH_TELEGRAM_TOKEN": "1:own", "STAGECOACH_TON_KEY": strings.Repeat("ab", 32),
	})
	of, err := s.settings()
	return s, of, err
}

// TestEnvironmentIsTried checks that every program sees a setting of the environment, whatever dev would set.
func TestEnvironmentIsTried(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(secret, []byte("1:from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	given := map[string]string{
		"STAGECOACH_LIMIT_REQUESTS":      "7",                  // dev has its own value
		"STAGECOACH_DELIVERY_PARALLEL":   "3",                  // dev has none
		"STAGECOACH_LISTING_TTL":         "",                   // empty: the service's default
		"STAGECOACH_WEBHOOK_PRIVATE":     "false",              // what dev needs can be tried too
		"STAGECOACH_TELEGRAM_API_URL":    "http://127.0.0.1:9", // so can an address
		"STAGECOACH_TELEGRAM_TOKEN_FILE": secret,               // so can a secret, from a file
		"STAGECOACH_ADMIN_TOKEN":         strings.Repeat("t", 40),
		"STAGECOACH_API_ADDR":            "0.0.0.0:4444",
		"STAGECOACH_API_METRICS_ADDR":    "off",
		"STAGECOACH_WORKER_METRICS_ADDR": "127.0.0.1:0",
		"STAGECOACH_LIBRARY_DIR":         "/srv/books",
		"DATABASE_URL":                   "postgres://127.0.0.1:9/other",
		"DATABASE_URL_FILE":              secret,
		"TEMPORAL_ADDRESS":               "127.0.0.1:9",
	}
	s, of, err := trial(t, given)
	if err != nil {
		t.Fatal(err)
	}

	for _, p := range Fleet() {
		env := p.With(s.common(of))
		for name, value := range given {
			if strings.HasPrefix(name, "STAGECOACH_") && env[name] != value {
				t.Errorf("%s has %s=%q, not %q", p.Name, name, env[name], value)
			}
		}
		if env["STAGECOACH_DOWNLOAD_POLL_INTERVAL"] != "1s" || env["DATABASE_URL"] != s.DatabaseURL || env["TEMPORAL_ADDRESS"] != s.Temporal {
			t.Errorf("%s has lost what nobody has changed: %v", p.Name, env)
		}

		program, lookup := config.Program(p.Program), func(name string) (string, bool) { value, ok := env[name]; return value, ok }
		c, err := config.LoadFor(program, lookup)
		if err != nil || c.Limits.Requests != 7 || p.Name != "payments" && c.Telegram.Token != "1:from-a-file" {
			t.Errorf("%s: %v, %+v, %+v", p.Name, err, c.Limits, c.Telegram)
		}
	}

	c, err := config.Load(of) // worker and API in one process
	if err != nil || c.Limits.Requests != 7 || c.Delivery.Parallel != 3 || c.Worker.MetricsAddr != "127.0.0.1:0" || c.Telegram.Token != "1:from-a-file" {
		t.Errorf("%v, %+v", err, c)
	}

	if s.Info.API != "http://127.0.0.1:4444" || s.Info.Metrics != "" || s.Info.AdminToken != given["STAGECOACH_ADMIN_TOKEN"] || s.Library != "/srv/books" {
		t.Errorf("dev.json would have %+v, and the library is %s", s.Info, s.Library)
	}
}

// TestProcessesStayApart keeps what distinguishes the processes of a cluster, whatever the environment has.
func TestProcessesStayApart(t *testing.T) {
	t.Setenv("STAGECOACH_TON_KEY_FILE", "/nowhere")
	t.Setenv("STAGECOACH_FRAGMENT_COOKIES", "a=b")
	t.Setenv("STAGECOACH_WORKER_QUEUES", "delivery,payments")
	t.Setenv("STAGECOACH_BOT", "true")

	of := environmentOver(map[string]string{"STAGECOACH_TON_KEY": strings.Repeat("ab", 32)})
	for _, p := range Fleet() {
		env := p.With((&Stack{}).common(of))
		hasKey := env["STAGECOACH_TON_KEY"]+env["STAGECOACH_TON_KEY_FILE"] != ""
		if pays := p.Name == "payments"; hasKey != pays || (env["STAGECOACH_FRAGMENT_COOKIES"] != "") != pays {
			t.Errorf("%s: has the wallet's key: %v", p.Name, hasKey)
		}
		if env["STAGECOACH_TON_KEY"] != "" {
			t.Errorf("%s has dev's own key beside the file of the environment", p.Name)
		}
		if p.Program == "worker" && env["STAGECOACH_WORKER_QUEUES"] != p.Differs["STAGECOACH_WORKER_QUEUES"] {
			t.Errorf("%s serves %s", p.Name, env["STAGECOACH_WORKER_QUEUES"])
		}
		if p.Program == "api" && (env["STAGECOACH_BOT"] == "true") != (p.Name == "api-1") {
			t.Errorf("%s: bot %s", p.Name, env["STAGECOACH_BOT"])
		}
	}
}

// TestWrongSettingIsRefused expects the variable to be named.
func TestWrongSettingIsRefused(t *testing.T) {
	_, _, err := trial(t, map[string]string{"STAGECOACH_LIMIT_REQUESTS": "many"})
	if err == nil || !strings.Contains(err.Error(), "STAGECOACH_LIMIT_REQUESTS") {
		t.Error(err)
	}
}
