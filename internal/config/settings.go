package config

import (
	"strings"
	"time"

	"stagecoach/internal/lifecycle"
)

// Setting is one variable of the environment.
type Setting struct {
	Name    string
	Default string
	Doc     string
	Secret  bool // also read from the file that <Name>_FILE names; never shown
	// Required settings have no default, and the program does not start without them.
	Required bool
	Only     Program // the one program that reads it; empty: all do
	set      func(string) error
	guarded  *string // a URL that secrets, or answers about money, travel to: https, unless the host may be spoken to in plain text
	file     *string // keeps the path of <Name>_FILE, for a reader that checks the file's rights
}

const day = 24 * time.Hour

// generalSettings are those of no workload, before theirs.
func (c *Config) generalSettings() []Setting {
	return []Setting{
		required(&c.DatabaseURL, "DATABASE_URL", "the URL of PostgreSQL"),
		{Name: "STAGECOACH_ENCRYPTION_KEY", Doc: "encrypts OAuth tokens and webhooks in the database: 32 bytes in base64, or several keys with commas; the first encrypts, all decrypt", Secret: true, Required: true, set: keysInto(&c.EncryptionKeys)},
		{Name: "STAGECOACH_PAYLOAD_KEYS", Doc: "encrypts what Temporal keeps: id:key pairs with commas, each key 32 bytes in base64; the first encrypts, all decrypt; empty: no encryption", Secret: true, set: payloadKeysInto(&c.Payloads.Keys)},
		boolean(&c.Payloads.Encrypt, "STAGECOACH_PAYLOAD_ENCRYPT", "true", "true: encrypt with the first payload key; false: only decrypt"),
		{Name: "STAGECOACH_ADMIN_TOKEN", Doc: "an administrator's API token, at least 32 characters; another value replaces it; empty: it stays", Secret: true, Only: ForAPI, set: adminTokenInto(&c.AdminToken)},
		integer(&c.Database.Connections, "STAGECOACH_DATABASE_CONNECTIONS", "0", 0, 10_000, "connections to PostgreSQL of each process; a fifth of them is for administrators, payments and the program's own checks; 0: 20 for an API, 12 for a worker"),
		duration(&c.Database.Statement, "STAGECOACH_DATABASE_STATEMENT_TIMEOUT", "30s", 0, day, "the longest time for a statement, except migrations, retention and restores; 0: no limit"),
		duration(&c.Database.Idle, "STAGECOACH_DATABASE_IDLE_TIMEOUT", "1m", 0, day, "the longest time that a database transaction may wait for its next statement; 0: no limit"),
		{Name: "STAGECOACH_LOG_LEVEL", Default: "info", Doc: "debug, info, warn or error", set: func(v string) error { return levelInto(&c.LogLevel, v) }},
		optionalAddress(&c.TracesURL, "OTEL_EXPORTER_OTLP_ENDPOINT", "the receiver of traces by OTLP over HTTP, such as http://localhost:4318; empty: no traces. OpenTelemetry's other variables, such as OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS, are read too"),

		words(&c.PlaintextHosts, "STAGECOACH_PLAINTEXT_HOSTS", "hosts, with commas, that may be reached by http instead of https, such as those of an internal network; this machine always may"),

		text(&c.API.Addr, "STAGECOACH_API_ADDR", "127.0.0.1:8080", "the address of the HTTP API"),
		listener(&c.API.MetricsAddr, "STAGECOACH_API_METRICS_ADDR", "127.0.0.1:9092", "the address of an API's /metrics; off: none"),
		boolean(&c.API.Bot, "STAGECOACH_BOT", "true", "run the Telegram bot in the API process"),
		origin(&c.API.PublicURL, "STAGECOACH_PUBLIC_URL", "the address at which browsers see the pages, such as https://stagecoach.example: it decides links, cookies and whose forms are taken; empty: http and STAGECOACH_API_ADDR"),
		networks(&c.API.TrustedProxies, "STAGECOACH_TRUSTED_PROXIES", "addresses and networks of proxies before the API, with commas, such as 10.0.0.0/8: whom their X-Forwarded-For names is counted by the limits of an address, and not the proxy; empty: the header counts for nothing"),
		boolean(&c.API.MCPReadOnly, "STAGECOACH_MCP_READ_ONLY", "false", "the tools of agents at /mcp change nothing; a client asks for the same by the header X-MCP-Readonly: true"),
		origin(&c.API.WebUIOrigin, "STAGECOACH_WEB_UI_URL", "the address of Temporal's Web UI as browsers see it: its pages may ask /codec to decrypt payloads for administrators; empty: no page may"),
		{Name: "STAGECOACH_ADMIN_IDS", Default: "", Doc: "Telegram ids of the first administrators, with commas", set: func(v string) error { return idsInto(&c.API.AdminIDs, v) }},
		boolean(&c.API.ActivateAtOnce, "STAGECOACH_ACTIVATE_AT_ONCE", "false", "new Telegram users are ACTIVE without approval"),
		duration(&c.API.EditEvery, "STAGECOACH_EDIT_EVERY", "3s", 0, day, "the shortest time between two edits of a live message"),
		integer(&c.API.StreamsPerUser, "STAGECOACH_LIMIT_STREAMS", "10", 0, 1_000_000, "event streams of one user, in each API process; 0: no limit"),
		integer(&c.API.Streams, "STAGECOACH_EVENT_STREAMS", "2000", 0, 1_000_000, "event streams of all users in each API process; administrators may open twenty more; 0: no limit"),
		integer(&c.API.CatchUp, "STAGECOACH_EVENTS_CATCH_UP", "100000", 0, 1<<40, "events that a stream may go back at its start; a client that is further behind is told where to begin; 0: no limit"),

		limit(&c.Limits.Requests, "STAGECOACH_LIMIT_REQUESTS", "20", "requests a second of one user with all their agents, over HTTP and in the bot together, in each API process; after a pause five times as many at once"),
		limit(&c.Limits.WrongTokens, "STAGECOACH_LIMIT_WRONG_TOKENS", "10", "requests a second with an unknown token or session from one network address, in each API process; after a pause five times as many at once"),
		limit(&c.Limits.Receipts, "STAGECOACH_LIMIT_RECEIPTS", "20", "receipts and documents (/docs, /openapi.json) a second that one network address may read without a token, in each API process; after a pause five times as many at once"),
		limit(&c.Limits.Strangers, "STAGECOACH_LIMIT_STRANGERS", "100", "new Telegram accounts an hour in the bot; others are asked to come back later"),
		c.quota("agents", "STAGECOACH_LIMIT_AGENTS", "10", "agents of one user that have not ended; each has the limits of a user"),
		c.quota("tokens", "STAGECOACH_LIMIT_TOKENS", "50", "valid tokens of one user"),

		listener(&c.Worker.MetricsAddr, "STAGECOACH_WORKER_METRICS_ADDR", "127.0.0.1:9090", "the address of a worker's /metrics; off: none"),
		{Name: "STAGECOACH_WORKER_VERSION", Doc: "deployment:build, for Temporal's worker versioning: workers get work only after an operator has made their version current; empty: unversioned", set: func(v string) error { return versionInto(&c.Worker.Version, v) }},
		deploymentName(&c.Worker.Controlled.Deployment, "TEMPORAL_DEPLOYMENT_NAME", "the deployment of this worker, which Temporal's worker controller sets together with TEMPORAL_WORKER_BUILD_ID; they are another form of STAGECOACH_WORKER_VERSION, which then stays empty"),
		buildID(&c.Worker.Controlled.Build, "TEMPORAL_WORKER_BUILD_ID", "the build of this worker, see TEMPORAL_DEPLOYMENT_NAME"),
		integer(&c.Worker.WorkflowSlots, "STAGECOACH_WORKER_WORKFLOW_SLOTS", "1000", 2, 10_000, "workflow tasks that a worker runs at once"),
		integer(&c.Worker.ActivitySlots, "STAGECOACH_WORKER_ACTIVITY_SLOTS", "1000", 10, 10_000, "short activities that a worker runs at once; deliveries have slots of their own"),
		integer(&c.Worker.MaxPollers, "STAGECOACH_WORKER_MAX_POLLERS", "100", 2, 1000, "the most polls that a worker keeps open for each queue; with little work it keeps few"),
		queues(&c.Worker.Queues, "STAGECOACH_WORKER_QUEUES", "task queues that this worker serves, with commas: "+strings.Join(lifecycle.Queues(), ", ")+"; empty: all. The last two are served only with the wallet's key"),
		duration(&c.Worker.StopTimeout, "STAGECOACH_WORKER_STOP_TIMEOUT", "30s", 0, day, "how long a stopping worker lets activities finish"),

		required(&c.Telegram.Token, "STAGECOACH_TELEGRAM_TOKEN", "the bot's token"),
		guarded(address(&c.Telegram.APIURL, "STAGECOACH_TELEGRAM_API_URL", "https://api.telegram.org", "the Bot API server, Telegram's or a local one"), &c.Telegram.APIURL),
		number(&c.Telegram.RequestsPerSecond, "STAGECOACH_TELEGRAM_RATE", "30", "requests per second of each process to Telegram; 0: the 30 that Telegram allows a bot"),
		integer(&c.Telegram.CacheChat, "STAGECOACH_TELEGRAM_CACHE_CHAT", "0", -1<<62, 1<<62, "a chat of the operator that gets files first, so that users do not see a repeated upload; 0: none"),
		text(&c.Telegram.SharedDir, "STAGECOACH_TELEGRAM_SHARED_DIR", "", "with spool: a folder shared with a Bot API server that runs with --local; empty: multipart uploads"),

		guarded(address(&c.Yandex.APIURL, "STAGECOACH_YANDEX_API_URL", "https://cloud-api.yandex.net", "the API of Yandex Disk"), &c.Yandex.APIURL),
		guarded(address(&c.Yandex.TokenURL, "STAGECOACH_YANDEX_TOKEN_URL", "https://oauth.yandex.ru/token", "the address that renews tokens of Yandex Disk"), &c.Yandex.TokenURL),
		text(&c.Yandex.ClientID, "STAGECOACH_YANDEX_CLIENT_ID", "", "OAuth client id for Yandex Disk"),
		secret(&c.Yandex.ClientSecret, "STAGECOACH_YANDEX_CLIENT_SECRET", "OAuth client secret for Yandex Disk"),
		secret(&c.Yandex.AccessToken, "STAGECOACH_YANDEX_ACCESS_TOKEN", "the first access token for Yandex Disk; may be empty with a refresh token"),
		secret(&c.Yandex.RefreshToken, "STAGECOACH_YANDEX_REFRESH_TOKEN", "the first refresh token for Yandex Disk; later ones are kept in the database until this setting changes"),
		text(&c.Yandex.Root, "STAGECOACH_YANDEX_ROOT", "disk:/", "the shared folder; nothing outside it can be reached"),
		duration(&c.Yandex.ListingTTL, "STAGECOACH_LISTING_TTL", "30s", 0, day, "how long a listing of the shared folder is served from the record"),
	}
}

// retentionSettings say how long rows are kept that are no workload's own.
func (c *Config) retentionSettings() []Setting {
	return []Setting{
		c.days("events", "STAGECOACH_RETENTION_EVENTS", "365", "events of deliveries, downloads and tasks that have ended; transactions keep theirs"),
		c.days("answers", "STAGECOACH_RETENTION_ANSWERS", "90", "first answers to each Idempotency-Key; after that the key is new"),
		c.days("news", "STAGECOACH_RETENTION_NEWS", "30", "records of notifications about events"),
		c.days("alerts", "STAGECOACH_RETENTION_ALERTS", "90", "alerts that are over"),
		c.days("audit", "STAGECOACH_RETENTION_AUDIT", "0", "the audit log"),
		c.days("findings", "STAGECOACH_RETENTION_FINDINGS", "90", "findings of the reconciler that are repaired"),
	}
}
