package config

import (
	"errors"
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
)

// Setting is one variable of the environment.
type Setting struct {
	Name    string
	Default string
	Doc     string
	Secret  bool // also read from the file named by <Name>_FILE; never shown
	// Required settings have no default, and the program does not start without them.
	Required bool
	Only     []Program // the programs that read it; empty: all do
	set      func(string) error
	guarded  *string         // a URL for secrets or answers about money: https, unless its host may use plain text
	carries  func() []string // more such URLs, from a list; nil: none
	file     *string         // keeps the path of <Name>_FILE, for a reader that checks the file's permissions
}

const (
	day          = 24 * time.Hour
	workerQueues = "STAGECOACH_WORKER_QUEUES"
)

// generalSettings are those that belong to no workload, before the workloads'.
func (c *Config) generalSettings() []Setting {
	return []Setting{
		required(&c.DatabaseURL, "DATABASE_URL", "the URL of PostgreSQL"),
		{Name: "STAGECOACH_ENCRYPTION_KEY", Doc: "encrypts OAuth tokens and webhooks in the database: 32 bytes in base64, or several keys separated by commas; the first encrypts, all decrypt", Secret: true, Required: true, Only: withoutWallet, set: keysInto(&c.EncryptionKeys)},
		{Name: "STAGECOACH_PAYLOAD_KEYS", Doc: "encrypts what Temporal keeps: id:key pairs separated by commas, each key 32 bytes in base64; the first encrypts, all decrypt; empty: no encryption", Secret: true, set: payloadKeysInto(&c.Payloads.Keys)},
		boolean(&c.Payloads.Encrypt, "STAGECOACH_PAYLOAD_ENCRYPT", "true", "true: encrypt with the first payload key; false: only decrypt"),
		{Name: "STAGECOACH_ADMIN_TOKEN", Doc: "an administrator's API token of at least 32 characters; a new value replaces the old token, an empty one keeps it", Secret: true, Only: toPeople, set: adminTokenInto(&c.AdminToken)},
		integer(&c.Connections, "STAGECOACH_DATABASE_CONNECTIONS", "0", 0, 10_000, "PostgreSQL connections of each process; a fifth is reserved for administrators, payments and the service's own monitoring; 0: 20 for an API, 12 for a worker"),
		{Name: "STAGECOACH_LOG_LEVEL", Default: "info", Doc: "debug, info, warn or error", set: func(v string) error {
			if c.LogLevel.UnmarshalText([]byte(v)) != nil {
				return errors.New("must be debug, info, warn or error")
			}
			return nil
		}},
		optionalAddress(&c.TracesURL, "OTEL_EXPORTER_OTLP_ENDPOINT", "the OTLP/HTTP endpoint for traces, such as http://localhost:4318; empty: no traces. OpenTelemetry's other variables, such as OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS, also work"),

		words(&c.PlaintextHosts, "STAGECOACH_PLAINTEXT_HOSTS", "hosts that may be reached by http instead of https, such as those of an internal network, separated by commas; this machine always may"),

		text(&c.API.Addr, "STAGECOACH_API_ADDR", "127.0.0.1:8080", "the address of the HTTP API"),
		listener(&c.API.MetricsAddr, "STAGECOACH_API_METRICS_ADDR", "127.0.0.1:9092", "the address of an API's /metrics; off: none"),
		boolean(&c.API.Bot, "STAGECOACH_BOT", "true", "run the Telegram bot in the API process"),
		origin(&c.API.PublicURL, "STAGECOACH_PUBLIC_URL", "the public address of the pages, such as https://stagecoach.example, used for links, cookies and the origin check of forms; empty: http and STAGECOACH_API_ADDR"),
		networks(&c.API.TrustedProxies, "STAGECOACH_TRUSTED_PROXIES", "addresses and networks of proxies in front of the API, such as 10.0.0.0/8, separated by commas: rate limits use the client address from their X-Forwarded-For; empty: the header is ignored"),
		origin(&c.API.WebUIOrigin, "STAGECOACH_WEB_UI_URL", "the public address of Temporal's Web UI, which may ask /codec to decrypt payloads for administrators; empty: nothing may"),
		{Name: "STAGECOACH_ADMIN_IDS", Default: "", Doc: "Telegram ids of the first administrators, separated by commas", set: func(v string) error { return idsInto(&c.API.AdminIDs, v) }},
		boolean(&c.API.ActivateAtOnce, "STAGECOACH_ACTIVATE_AT_ONCE", "false", "new Telegram users are ACTIVE without approval"),

		limit(&c.Limits.Requests, "STAGECOACH_LIMIT_REQUESTS", "20", "requests per second of one user and their agents, over HTTP and in the bot together, in each API process; bursts of five times as many"),

		listener(&c.Worker.MetricsAddr, "STAGECOACH_WORKER_METRICS_ADDR", "127.0.0.1:9090", "the address of a worker's /metrics; off: none"),
		versionPart(&c.Worker.Version.Deployment, "TEMPORAL_DEPLOYMENT_NAME", isDeploymentName, "must have no dots, colons or spaces", "the deployment of this worker, for Temporal's Worker Versioning: workers get work only once an operator or Temporal's worker controller has made their version current; empty, with TEMPORAL_WORKER_BUILD_ID: unversioned"),
		versionPart(&c.Worker.Version.Build, "TEMPORAL_WORKER_BUILD_ID", isBuildID, "must have no colons or spaces", "the build of this worker, see TEMPORAL_DEPLOYMENT_NAME"),
		queues(&c.Worker.Queues, workerQueues, "task queues of this worker, separated by commas: "+strings.Join(lifecycle.Queues(), ", ")+"; empty: all. The last three are served only with the wallet's key"),
		duration(&c.Worker.StopTimeout, "STAGECOACH_WORKER_STOP_TIMEOUT", "30s", 0, day, "how long a stopping worker waits for its activities"),

		only(withoutWallet, required(&c.Telegram.Token, "STAGECOACH_TELEGRAM_TOKEN", "the bot's token")),
		guarded(address(&c.Telegram.APIURL, "STAGECOACH_TELEGRAM_API_URL", "https://api.telegram.org", "the Bot API server, Telegram's or a local one"), &c.Telegram.APIURL),
		number(&c.Telegram.RequestsPerSecond, "STAGECOACH_TELEGRAM_RATE", "30", "requests per second of each process to Telegram; 0: the 30 that Telegram allows a bot"),
		integer(&c.Telegram.CacheChat, "STAGECOACH_TELEGRAM_CACHE_CHAT", "0", -1<<62, 1<<62, "a chat of the operator that receives files first, so that users never see a repeated upload; 0: none"),
		text(&c.Telegram.SharedDir, "STAGECOACH_TELEGRAM_SHARED_DIR", "", "with spool: a folder shared with a Bot API server that runs with --local; empty: multipart uploads"),

		guarded(address(&c.Yandex.APIURL, "STAGECOACH_YANDEX_API_URL", "https://cloud-api.yandex.net", "the API of Yandex Disk"), &c.Yandex.APIURL),
		guarded(address(&c.Yandex.TokenURL, "STAGECOACH_YANDEX_TOKEN_URL", "https://oauth.yandex.ru/token", "the address that refreshes Yandex Disk tokens"), &c.Yandex.TokenURL),
		text(&c.Yandex.ClientID, "STAGECOACH_YANDEX_CLIENT_ID", "", "OAuth client id for Yandex Disk"),
		only(withoutWallet, secret(&c.Yandex.ClientSecret, "STAGECOACH_YANDEX_CLIENT_SECRET", "OAuth client secret for Yandex Disk")),
		only(withoutWallet, secret(&c.Yandex.AccessToken, "STAGECOACH_YANDEX_ACCESS_TOKEN", "the first access token for Yandex Disk; may be empty with a refresh token")),
		only(withoutWallet, secret(&c.Yandex.RefreshToken, "STAGECOACH_YANDEX_REFRESH_TOKEN", "the first refresh token for Yandex Disk; later ones are kept in the database until this setting changes")),
		text(&c.Yandex.Root, "STAGECOACH_YANDEX_ROOT", "disk:/", "the shared folder; nothing outside it can be reached"),
		duration(&c.Yandex.ListingTTL, "STAGECOACH_LISTING_TTL", "30s", 0, day, "how long a listing of the shared folder is served from the record"),
	}
}

// retentionSettings are the retentions of rows that belong to no workload.
func (c *Config) retentionSettings() []Setting {
	return []Setting{
		c.days("events", "STAGECOACH_RETENTION_EVENTS", "365", "events of deliveries, downloads and tasks that have ended; transactions keep theirs"),
		c.days("audit", "STAGECOACH_RETENTION_AUDIT", "0", "the audit log; refusals at most 90 days"),
	}
}
