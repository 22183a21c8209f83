package e2e

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"stagecoach/dev/night"
	"stagecoach/dev/servers"
	"stagecoach/dev/wait"
)

// TestComposeNetworks checks that only the services that need PostgreSQL, Temporal and qBittorrent can reach them.
func TestComposeNetworks(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	c := readCompose(t, values)
	ours := []string{"api", "api-2", "payments", "worker", "worker-2", "worker-3"}
	server := []string{"temporal", "temporal-history", "temporal-matching", "temporal-worker"}

	for center, want := range map[string][]string{
		"postgres":    slices.Concat(ours, server, []string{"migrate", "temporal-schema", "backup", "backup-temporal", "postgres-exporter"}),
		"temporal":    slices.Concat(ours, server, []string{"migrate", "postgres", "temporal-namespace", "temporal-schema", "temporal-ui", "backup", "backup-temporal", "postgres-exporter", "prometheus"}),
		"temporal-ui": server, // its pages can terminate and signal workflows that move money
		"qbittorrent": {"worker", "worker-2", "worker-3"},
	} {
		for name, service := range c.Services {
			if name != center && c.meet(c.Services[center], service) && !slices.Contains(want, name) {
				t.Errorf("%s reaches %s", name, center)
			}
		}
	}

	for _, name := range slices.Concat(ours, server) {
		for _, other := range []string{"postgres", "temporal"} {
			if !c.meet(c.Services[name], c.Services[other]) {
				t.Errorf("%s does not reach %s", name, other)
			}
		}
	}

	for _, name := range server {
		if !c.meet(c.Services[name], c.Services["temporal-ui"]) {
			t.Errorf("%s and temporal-ui have no network in common", name)
		}
	}

	for _, name := range []string{"record", "temporal", "web-ui"} {
		if !c.Networks[name].Internal {
			t.Errorf("the network %s leads to the outside", name)
		}
	}
}

// TestComposePublishesOnThisMachineOnly checks that no other machine can reach a published port.
func TestComposePublishesOnThisMachineOnly(t *testing.T) {
	t.Parallel()
	values, _ := readEnv(t, ".env.example")
	for name, service := range readCompose(t, values).Services {
		for _, port := range service.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s publishes %s", name, port)
			}
		}
	}
}

// meet reports whether two services have a network in common.
func (composed) meet(a, b composedService) bool {
	networks := func(s composedService) []string {
		if len(s.Networks) == 0 && s.NetworkMode == "" {
			return []string{"default"}
		}
		return slices.Sorted(maps.Keys(s.Networks))
	}
	return slices.ContainsFunc(networks(a), func(name string) bool { return slices.Contains(networks(b), name) })
}

// TestLongComposeQBittorrentPassword runs the compose file's preparation of qBittorrent on settings that admit
// everybody, and then the real qBittorrent: it only accepts the password.
func TestLongComposeQBittorrentPassword(t *testing.T) {
	night.Only(t)
	t.Parallel()
	for _, program := range []string{"python3", "qbittorrent-nox"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed: make test-deps", program)
		}
	}

	dir := t.TempDir()
	port, err := servers.FreePort()
	must(t, err)
	settings := filepath.Join(dir, "qBittorrent", "config", "qBittorrent.conf")
	must(t, os.MkdirAll(filepath.Dir(settings), 0o755))
	must(t, os.WriteFile(settings, []byte(strings.Join([]string{
		"[LegalNotice]", "Accepted=true", "[Preferences]", `WebUI\AuthSubnetWhitelistEnabled=true`,
		`WebUI\AuthSubnetWhitelist=0.0.0.0/0, ::/0`,
		`WebUI\Address=127.0.0.1`, `WebUI\Port=` + strconv.Itoa(port), "[BitTorrent]", `Session\Interface=lo`,
		`Session\DHTEnabled=false`, "",
	}, "\n")), 0o644))

	secret := filepath.Join(dir, "secret")

	prepare := func(password string) {
		must(t, os.WriteFile(secret, []byte(password+"\n"), 0o400))
		must(t, os.Chmod(secret, 0o600))
		script := strings.NewReplacer(
			"/config/qBittorrent/qBittorrent.conf", settings, "/run/secrets/qbittorrent_password", secret,
		).Replace(composeConfig(t, "qbittorrent_settings"))
		command := exec.Command("sh", "-euc", script)
		command.Env = append(os.Environ(), "QBITTORRENT_USERNAME=admin")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("the script fails: %v\n%s", err, out)
		}
	}

	prepare("an older password")
	prepare("the new password")

	text, err := os.ReadFile(settings)
	must(t, err)
	if strings.Contains(string(text), "Whitelist") || strings.Count(string(text), "Password_PBKDF2") != 1 {
		t.Errorf("the settings are\n%s", text)
	}

	server := exec.Command("qbittorrent-nox", "--profile="+dir)
	server.Env = append(os.Environ(), "HOME="+dir)
	must(t, servers.StartTied(server))
	t.Cleanup(func() { server.Process.Kill(); server.Wait() })
	base := "http://127.0.0.1:" + strconv.Itoa(port)

	version := func() int { return statusOf(t.Context(), base+"/api/v2/app/version") }
	wait.Eventually(t, "qBittorrent answers", func() bool { return version() != 0 })
	if got := version(); got != http.StatusForbidden {
		t.Errorf("without a password qBittorrent answers %d", got)
	}

	login := func(password string) bool {
		answer, err := http.PostForm(base+"/api/v2/auth/login", url.Values{"username": {"admin"}, "password": {password}})
		must(t, err)
		defer answer.Body.Close()
		return len(answer.Cookies()) > 0
	}
	if login("an older password") || !login("the new password") {
		t.Error("qBittorrent does not take the password of the file, or takes another one")
	}
}

// statusOf returns the status of the response from an address, 0 without a response.
func statusOf(ctx context.Context, address string) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return 0
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0
	}
	answer.Body.Close()
	return answer.StatusCode
}
