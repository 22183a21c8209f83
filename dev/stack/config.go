package stack

import (
	"maps"
	"os"
	"path/filepath"
	"strconv"

	"stagecoach/dev/servers"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// config makes the settings of the services: dev's own values, then the environment, then defaults for a developer. The
// environment can tune the services. The addresses and secrets of another installation in it have no effect.
func (s *Stack) config() (config.Config, error) {
	port, err := servers.PreferPort(s.kept.Ports.API)
	if err != nil {
		return config.Config{}, err
	}

	s.kept.Ports.API = port
	s.Info.API = "http://" + loopback(port)
	s.Info.Docs = s.Info.API + "/docs"

	metrics, err := servers.PreferPort(s.kept.Ports.Metrics)
	if err != nil {
		return config.Config{}, err
	}

	s.kept.Ports.Metrics = metrics
	s.Info.Metrics = "http://" + loopback(metrics) + "/metrics"
	s.Info.AdminToken, s.Info.UserToken = s.kept.AdminToken, s.kept.UserToken
	s.Info.DatabaseURL, s.Info.Temporal, s.Info.StandIns = s.DatabaseURL, s.Temporal, s.StandIns

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
		"STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true", // the web seed is on this machine
		"STAGECOACH_WEBHOOK_PRIVATE":          "true", // so are the receivers of a developer
		"STAGECOACH_TON_NETWORK":              "mainnet",
		"STAGECOACH_TONCENTER_API_KEY":        "",
		"STAGECOACH_TONCENTER_2_API_KEY":      "",
	})

	suggested := map[string]string{
		"STAGECOACH_ADMIN_IDS":              strconv.Itoa(demoAdmin),
		"STAGECOACH_DOWNLOAD_POLL_INTERVAL": "1s",
		"STAGECOACH_LISTING_TTL":            "1s",
		"STAGECOACH_EDIT_EVERY":             "1s",
		"STAGECOACH_WORKER_STOP_TIMEOUT":    "3s",
		"STAGECOACH_SPOOL_DIR":              filepath.Join(s.State, "spool"),
	}

	maps.Copy(suggested, shopSettings())
	c, err := config.Load(func(name string) (string, bool) {
		if value, ok := decided[name]; ok {
			return value, true
		}
		if value, ok := os.LookupEnv(name); ok {
			return value, true
		}
		value, ok := suggested[name]
		return value, ok
	})
	if err != nil {
		return c, terminal.UsageError(err.Error())
	}

	if _, wanted := os.LookupEnv("STAGECOACH_WORKER_METRICS_ADDR"); !wanted {
		c.Worker.MetricsAddr = "" // the API's listener serves the metrics of the whole process
	}
	return c, nil
}
