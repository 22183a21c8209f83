package main

import (
	"fmt"
	"slices"
	"strings"

	"stagecoach/internal/config"
	"stagecoach/internal/lifecycle"
)

// inContainers are defaults that differ in containers: addresses and folders, and the names of the file's services.
var inContainers = map[string]string{
	"STAGECOACH_API_ADDR":             "0.0.0.0:8080",
	"STAGECOACH_API_METRICS_ADDR":     "0.0.0.0:9092",
	"STAGECOACH_WORKER_METRICS_ADDR":  "0.0.0.0:9090",
	"STAGECOACH_WORKER_STOP_TIMEOUT":  "30s",                                   // below stop_grace_period
	"STAGECOACH_WORKER_QUEUES":        "stagecoach,delivery,torrents,webhooks", // the service payments has the others
	"STAGECOACH_SPOOL_DIR":            "/spool",
	"STAGECOACH_TELEGRAM_SHARED_DIR":  "/spool",
	"STAGECOACH_TELEGRAM_API_URL":     "http://telegram-bot-api:8081",
	"STAGECOACH_QBITTORRENT_USERNAME": "admin",
	"STAGECOACH_PLAINTEXT_HOSTS":      "telegram-bot-api,qbittorrent", // within the file's networks
	"STAGECOACH_WEB_UI_URL":           "http://127.0.0.1:8233",
}

// composeSettings passes every setting that is not a secret on to the containers. An empty value is the setting's
// default.
func composeSettings() string {
	var b strings.Builder
	for _, s := range config.Settings() {
		if !s.Secret {
			fmt.Fprintf(&b, "%s=${%s:-%s}\n", s.Name, s.Name, inContainers[s.Name])
		}
	}
	return b.String()
}

// composePartitions gives the queues in which users take turns one partition each.
func composePartitions() string {
	var b strings.Builder
	for _, limit := range []string{"Read", "Write"} {
		fmt.Fprintf(&b, "matching.numTaskqueue%sPartitions:\n", limit)
		for _, queue := range lifecycle.FairQueues() {
			fmt.Fprintf(&b, "  - {value: 1, constraints: {taskQueueName: %s}}\n", queue)
		}
	}
	return b.String()
}

// inExample are settings that .env.example explains above the list.
var inExample = []string{
	"STAGECOACH_PAYLOAD_ENCRYPT", "STAGECOACH_WEB_UI_URL", "TEMPORAL_DEPLOYMENT_NAME", "TEMPORAL_WORKER_BUILD_ID", "STAGECOACH_ADMIN_IDS",
	"STAGECOACH_TELEGRAM_API_URL", "STAGECOACH_YANDEX_CLIENT_ID", "STAGECOACH_YANDEX_ROOT", "STAGECOACH_DELIVERY_MODE",
	"STAGECOACH_QBITTORRENT_URL", "STAGECOACH_QBITTORRENT_USERNAME", "STAGECOACH_QBITTORRENT_SAVE_PATH",
	"STAGECOACH_TX_ALLOW",
	"STAGECOACH_PLAINTEXT_HOSTS", "STAGECOACH_OIDC_ISSUER", "STAGECOACH_OIDC_CLIENT_ID", "STAGECOACH_OIDC_NAME", "STAGECOACH_OIDC_ADMIN_GROUP",
}

// exampleSettings lists every other setting, commented out, with its value in containers.
func exampleSettings() string {
	var b strings.Builder
	for _, s := range config.Settings() {
		if s.Secret || slices.Contains(inExample, s.Name) {
			continue
		}
		value, there := inContainers[s.Name]
		if !there {
			value = s.Default
		}
		fmt.Fprintf(&b, "# %s=%s\n", s.Name, value)
	}

	return b.String()
}
