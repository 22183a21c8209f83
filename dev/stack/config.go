package stack

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	api "stagecoach/api/run"
	"stagecoach/dev/servers"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
	worker "stagecoach/worker/run"
)

// settings finds the value of a setting.
type settings func(name string) (value string, ok bool)

// environmentOver takes the services' settings from the environment, or else from dev's own values. So any STAGECOACH_…
// variable can be tried, even an empty one: it is the service's default. The databases and the Temporal of another
// installation have no effect.
func environmentOver(own map[string]string) settings {
	return func(name string) (string, bool) {
		if value, ok := own[name]; ok && !isGiven(name) && !isGiven(name+"_FILE") {
			return value, true
		}
		return os.LookupEnv(name)
	}
}

// isGiven reports whether the environment has one of our variables.
func isGiven(name string) bool {
	_, ok := os.LookupEnv(name)
	return ok && strings.HasPrefix(name, "STAGECOACH_")
}

// settings returns the settings of the services, and what dev prints about them.
func (s *Stack) settings() (settings, error) {
	port, err := servers.PreferPort(s.kept.Ports.API)
	if err != nil {
		return nil, err
	}
	s.kept.Ports.API = port

	metrics, err := servers.PreferPort(s.kept.Ports.Metrics)
	if err != nil {
		return nil, err
	}
	s.kept.Ports.Metrics = metrics

	library := s.ofRecord("library", "")
	if err := os.MkdirAll(library, 0o755); err != nil {
		return nil, err
	}

	own := s.Addresses()
	maps.Copy(own, shopSettings())
	maps.Copy(own, map[string]string{
		"STAGECOACH_API_ADDR":                 loopback(port),
		"STAGECOACH_API_METRICS_ADDR":         loopback(metrics),
		"STAGECOACH_WORKER_METRICS_ADDR":      "off", // the API's listener has those of one process; a cluster needs several
		"STAGECOACH_WEB_UI_URL":               s.Info.WebUI,
		"STAGECOACH_ADMIN_IDS":                strconv.Itoa(demoAdmin),
		"STAGECOACH_LIMIT_REQUESTS":           "1000", // the demonstration polls several times a second
		"STAGECOACH_YANDEX_REFRESH_TOKEN":     s.kept.RefreshToken,
		"STAGECOACH_YANDEX_ACCESS_TOKEN":      "", // the record has the current one
		"STAGECOACH_LIBRARY_DIR":              library,
		"STAGECOACH_LISTING_TTL":              "1s",
		"STAGECOACH_DOWNLOAD_POLL_INTERVAL":   "1s",
		"STAGECOACH_DOWNLOAD_NEXT_AFTER":      "15s",  // the first release that a search finds has no seeds
		"STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true", // the web seed is on this machine
		"STAGECOACH_WEBHOOK_PRIVATE":          "true", // and so are a developer's receivers
		"STAGECOACH_WORKER_STOP_TIMEOUT":      "3s",
		"STAGECOACH_SPOOL_DIR":                filepath.Join(s.State, "spool"),
	})

	of := environmentOver(own)
	c, err := config.Load(of)
	if err != nil {
		return nil, terminal.UsageError(err.Error())
	}
	s.describe(c)
	return of, nil
}

// describe records where the services are, and with which tokens they are used.
func (s *Stack) describe(c config.Config) {
	s.Info.API = "http://" + reachable(c.API.Addr)
	s.Info.Docs = s.Info.API + "/docs"
	if c.API.MetricsAddr != "" {
		s.Info.Metrics = "http://" + reachable(c.API.MetricsAddr) + "/metrics"
	}

	s.Info.AdminToken, s.Info.UserToken = cmp.Or(c.AdminToken, s.kept.AdminToken), s.kept.UserToken
	s.Info.DatabaseURL, s.Info.Temporal, s.Info.StandIns = s.DatabaseURL, s.Temporal, s.StandIns
	s.Library = c.Library.Dir

	given := slices.DeleteFunc(settingNames(), func(name string) bool { return !isGiven(name) })
	if len(given) > 0 {
		s.Screen.Say("  Settings     of the environment: %s", strings.Join(given, ", "))
	}
}

// settingNames are the variables of all settings; secrets may also come from files.
func settingNames() (names []string) {
	for _, setting := range config.Settings() {
		names = append(names, setting.Name)
		if setting.Secret {
			names = append(names, setting.Name+"_FILE")
		}
	}
	return names
}

// reachable is the address under which this machine reaches a listener, which may listen on all addresses.
func reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// startServices runs worker and API in this process.
func (s *Stack) startServices(of settings) error {
	c, err := config.Load(of)
	if err != nil {
		return terminal.UsageError(err.Error())
	}

	s.startService("worker", worker.Run, c)
	s.startService("api", api.Run, c)
	return nil
}

// startService runs one of our services in this process, as its own program does.
func (s *Stack) startService(
	name string, run func(context.Context, config.Config, *slog.Logger) error, c config.Config,
) {
	log := slog.New(slog.NewTextHandler(s.logs[name], &slog.HandlerOptions{Level: c.LogLevel}))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err := run(ctx, c, log)
		if ctx.Err() == nil {
			s.broken(fmt.Errorf("the %s has ended: %w (see %s)", name, err, s.Shown(s.logFile(name))))
		}
	}()

	s.started(name, func() error {
		cancel()
		<-ended
		return nil
	})
}
