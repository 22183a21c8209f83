package stack

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strconv"

	api "stagecoach/api/run"
	"stagecoach/dev/servers"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
	worker "stagecoach/worker/run"
)

// settings finds the value of a setting.
type settings func(name string) (value string, ok bool)

// settings makes the settings of the services: dev's own values, then the environment, then defaults for a developer.
// The environment can tune the services. The addresses and secrets of another installation in it have no effect.
func (s *Stack) settings() (settings, error) {
	port, err := servers.PreferPort(s.kept.Ports.API)
	if err != nil {
		return nil, err
	}

	s.kept.Ports.API = port
	s.Info.API = "http://" + loopback(port)
	s.Info.Docs = s.Info.API + "/docs"

	metrics, err := servers.PreferPort(s.kept.Ports.Metrics)
	if err != nil {
		return nil, err
	}

	s.kept.Ports.Metrics = metrics
	s.Info.Metrics = "http://" + loopback(metrics) + "/metrics"
	s.Info.AdminToken, s.Info.UserToken = s.kept.AdminToken, s.kept.UserToken
	s.Info.DatabaseURL, s.Info.Temporal, s.Info.StandIns = s.DatabaseURL, s.Temporal, s.StandIns

	if err := os.MkdirAll(s.Library(), 0o755); err != nil {
		return nil, err
	}

	decided := s.Addresses()
	maps.Copy(decided, map[string]string{
		"STAGECOACH_API_ADDR":                 loopback(port),
		"STAGECOACH_API_METRICS_ADDR":         loopback(metrics),
		"STAGECOACH_WEB_UI_URL":               s.Info.WebUI,
		"STAGECOACH_LIMIT_REQUESTS":           "1000", // the demonstration polls several times a second
		"STAGECOACH_TELEGRAM_SHARED_DIR":      "",
		"STAGECOACH_YANDEX_ACCESS_TOKEN":      "",
		"STAGECOACH_YANDEX_REFRESH_TOKEN":     s.kept.RefreshToken,
		"STAGECOACH_YANDEX_ROOT":              "disk:/",
		"STAGECOACH_QBITTORRENT_SAVE_PATH":    "",
		"STAGECOACH_LIBRARY_DIR":              s.Library(),
		"STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true", // the web seed is on this machine
		"STAGECOACH_WEBHOOK_PRIVATE":          "true", // so are the receivers of a developer
		"STAGECOACH_TON_NETWORK":              "mainnet",
		"STAGECOACH_TONCENTER_API_KEY":        "",
	})

	suggested := map[string]string{
		"STAGECOACH_ADMIN_IDS":              strconv.Itoa(demoAdmin),
		"STAGECOACH_DOWNLOAD_POLL_INTERVAL": "1s",
		"STAGECOACH_DOWNLOAD_NEXT_AFTER":    "15s", // nobody shares the first release that a search finds
		"STAGECOACH_LISTING_TTL":            "1s",
		"STAGECOACH_WORKER_STOP_TIMEOUT":    "3s",
		"STAGECOACH_SPOOL_DIR":              filepath.Join(s.State, "spool"),
	}

	maps.Copy(suggested, shopSettings())
	return func(name string) (string, bool) {
		if value, ok := decided[name]; ok {
			return value, true
		}
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := suggested[name]
		return value, ok
	}, nil
}

// startServices runs worker and API in this process.
func (s *Stack) startServices(of settings) error {
	c, err := config.Load(of)
	if err != nil {
		return terminal.UsageError(err.Error())
	}

	if _, wanted := os.LookupEnv("STAGECOACH_WORKER_METRICS_ADDR"); !wanted {
		c.Worker.MetricsAddr = "" // the API's listener serves the metrics of the whole process
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
