package stack

import (
	"os"
	"path/filepath"
	"strconv"

	"stagecoach/dev/servers"
	"stagecoach/internal/config"
	"stagecoach/starter/terminal"
)

// config makes the settings of the services: what dev itself decides, then the environment, then defaults that suit a
// developer. So a person can tune the services, but the addresses and secrets of another installation that happen to
// stand in the environment are not touched.
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

	decided := map[string]string{
		"DATABASE_URL":                    s.Info.DatabaseURL,
		"STAGECOACH_ENCRYPTION_KEY":       s.kept.EncryptionKey,
		"STAGECOACH_ADMIN_TOKEN":          s.kept.AdminToken,
		"STAGECOACH_API_ADDR":             loopback(port),
		"STAGECOACH_API_METRICS_ADDR":     loopback(metrics),
		"STAGECOACH_LIMIT_REQUESTS":       "1000", // the demonstration looks at its work many times a second
		"STAGECOACH_TELEGRAM_TOKEN":       s.kept.TelegramToken,
		"STAGECOACH_TELEGRAM_API_URL":     s.Info.StandIns.Telegram,
		"STAGECOACH_TELEGRAM_SHARED_DIR":  "",
		"STAGECOACH_YANDEX_API_URL":       s.Info.StandIns.Yandex,
		"STAGECOACH_YANDEX_TOKEN_URL":     s.Info.StandIns.Yandex + "/token",
		"STAGECOACH_YANDEX_CLIENT_ID":     s.kept.ClientID,
		"STAGECOACH_YANDEX_CLIENT_SECRET": s.kept.ClientSecret,
		"STAGECOACH_YANDEX_ACCESS_TOKEN":  "",
		"STAGECOACH_YANDEX_REFRESH_TOKEN": s.kept.RefreshToken,
		"STAGECOACH_YANDEX_ROOT":          "disk:/",

		"STAGECOACH_QBITTORRENT_URL":          s.Torrents.url,
		"STAGECOACH_QBITTORRENT_USERNAME":     s.Torrents.username,
		"STAGECOACH_QBITTORRENT_PASSWORD":     s.Torrents.password,
		"STAGECOACH_QBITTORRENT_SAVE_PATH":    "",
		"STAGECOACH_DOWNLOAD_PRIVATE_SOURCES": "true", // the web seed is on this machine
	}

	suggested := map[string]string{
		"STAGECOACH_ADMIN_IDS":              strconv.Itoa(demoAdmin),
		"STAGECOACH_DOWNLOAD_POLL_INTERVAL": "1s",
		"STAGECOACH_LISTING_TTL":            "1s",
		"STAGECOACH_EDIT_EVERY":             "1s",
		"STAGECOACH_WORKER_STOP_TIMEOUT":    "3s",
		"STAGECOACH_SPOOL_DIR":              filepath.Join(s.State, "spool"),
	}

	s.shopSettings(decided, suggested)
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
