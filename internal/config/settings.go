package config

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Setting is one variable of the environment.
type Setting struct {
	Name    string
	Default string
	Doc     string
	Secret  bool // also read from the file that <Name>_FILE names; never shown
	// Required settings have no default, and the program does not start without them.
	Required bool
	set      func(string) error
	guarded  *string // a URL that secrets, or answers about money, travel to: https, unless the host may be spoken to in plain text
	file     *string // keeps what <Name>_FILE names, for one who reads it with more care
}

// Settings lists every variable, for the documentation.
func Settings() []Setting { return new(Config).settings() }

func (c *Config) settings() []Setting {
	second, day := time.Second, 24*time.Hour
	return []Setting{
		required(&c.DatabaseURL, "DATABASE_URL", "the URL of PostgreSQL"),
		{Name: "STAGECOACH_ENCRYPTION_KEY", Doc: "encrypts OAuth tokens in the database: 32 bytes in base64, or several keys with commas; the first encrypts, all decrypt", Secret: true, Required: true, set: keysInto(&c.EncryptionKeys)},
		{Name: "STAGECOACH_PAYLOAD_KEYS", Doc: "encrypts what Temporal keeps: id:key pairs with commas, each key 32 bytes in base64; the first encrypts, all decrypt; empty: no encryption", Secret: true, set: payloadKeysInto(&c.Payloads.Keys)},
		boolean(&c.Payloads.Encrypt, "STAGECOACH_PAYLOAD_ENCRYPT", "true", "true: encrypt with the first payload key; false: only decrypt"),
		{Name: "STAGECOACH_ADMIN_TOKEN", Doc: "an administrator's API token, at least 32 characters; another value replaces it; empty: it stays", Secret: true, set: adminTokenInto(&c.AdminToken)},
		integer(&c.Database.Connections, "STAGECOACH_DATABASE_CONNECTIONS", "0", 0, 10_000, "connections to PostgreSQL of each process; a fifth of them is for administrators, payments and the program's own checks; 0: 20 for an API, 12 for a worker"),
		duration(&c.Database.Statement, "STAGECOACH_DATABASE_STATEMENT_TIMEOUT", "30s", 0, day, "the longest time for a statement, except migrations, retention and restores; 0: no limit"),
		duration(&c.Database.Idle, "STAGECOACH_DATABASE_IDLE_TIMEOUT", "1m", 0, day, "the longest time that a database transaction may wait for its next statement; 0: no limit"),
		{Name: "STAGECOACH_LOG_LEVEL", Default: "info", Doc: "debug, info, warn or error", set: func(v string) error { return levelInto(&c.LogLevel, v) }},
		optionalAddress(&c.TracesURL, "OTEL_EXPORTER_OTLP_ENDPOINT", "the receiver of traces by OTLP over HTTP, such as http://localhost:4318; empty: no traces. OpenTelemetry's other variables, such as OTEL_TRACES_SAMPLER and OTEL_EXPORTER_OTLP_HEADERS, are read too"),

		words(&c.PlaintextHosts, "STAGECOACH_PLAINTEXT_HOSTS", "hosts, with commas, that may be reached by http instead of https, such as those of an internal network; this machine always may"),

		text(&c.API.Addr, "STAGECOACH_API_ADDR", "127.0.0.1:8080", "the address of the HTTP API"),
		listener(&c.API.MetricsAddr, "STAGECOACH_API_METRICS_ADDR", "127.0.0.1:9092", "the address of an API's /metrics; off: none"),
		boolean(&c.API.Bot, "STAGECOACH_BOT", "true", "run the Telegram bot in the API process"),
		origin(&c.API.WebUIOrigin, "STAGECOACH_WEB_UI_URL", "the address of Temporal's Web UI as browsers see it: its pages may ask /codec to decrypt payloads for administrators; empty: no page may"),
		{Name: "STAGECOACH_ADMIN_IDS", Default: "", Doc: "Telegram ids of the first administrators, with commas", set: func(v string) error { return idsInto(&c.API.AdminIDs, v) }},
		boolean(&c.API.ActivateAtOnce, "STAGECOACH_ACTIVATE_AT_ONCE", "false", "new Telegram users are ACTIVE without approval"),
		duration(&c.API.EditEvery, "STAGECOACH_EDIT_EVERY", "3s", 0, day, "the shortest time between two edits of a live message"),
		integer(&c.API.StreamsPerUser, "STAGECOACH_LIMIT_STREAMS", "10", 0, 1_000_000, "event streams of one user, over all APIs; 0: no limit"),
		integer(&c.API.Streams, "STAGECOACH_EVENT_STREAMS", "2000", 0, 1_000_000, "event streams of all users in each API process; administrators may open twenty more; 0: no limit"),
		integer(&c.API.CatchUp, "STAGECOACH_EVENTS_CATCH_UP", "100000", 0, 1<<40, "events that a stream may go back at its start; a client that is further behind is told where to begin; 0: no limit"),

		limit(&c.Limits.Requests, "STAGECOACH_LIMIT_REQUESTS", "20", "requests a second of one user, over HTTP and in the bot together; after a pause five times as many at once"),
		limit(&c.Limits.WrongTokens, "STAGECOACH_LIMIT_WRONG_TOKENS", "10", "requests a second with an unknown token from one network address, in each API process; after a pause five times as many at once"),
		limit(&c.Limits.Strangers, "STAGECOACH_LIMIT_STRANGERS", "100", "new Telegram accounts an hour in the bot; others are asked to come back later"),
		limit(&c.Limits.Tasks, "STAGECOACH_LIMIT_TASKS", "5000", "live tasks that one user has made"),
		limit(&c.Limits.Deliveries, "STAGECOACH_LIMIT_DELIVERIES", "1000", "live deliveries of one user"),
		limit(&c.Limits.Downloads, "STAGECOACH_LIMIT_DOWNLOADS", "100", "active downloads of one user"),
		limit(&c.Limits.Workspaces, "STAGECOACH_LIMIT_WORKSPACES", "50", "workspaces of one owner"),
		limit(&c.Limits.Members, "STAGECOACH_LIMIT_MEMBERS", "500", "members of one workspace"),
		limit(&c.Limits.Tokens, "STAGECOACH_LIMIT_TOKENS", "50", "valid tokens of one user"),
		limit(&c.Limits.Books, "STAGECOACH_LIMIT_BOOKS", "1000", "books that one user has added"),

		duration(&c.Tasks.LeastDeadline, "STAGECOACH_TASK_LEAST_DEADLINE", "1s", 0, day, "the shortest deadline that a workspace may set; a shorter stored one counts as this one"),
		duration(&c.Tasks.LeastRelease, "STAGECOACH_TASK_LEAST_RELEASE", "1m", 0, day, "the shortest time after which a workspace may have tasks released from STUCK; a shorter stored one counts as this one"),

		listener(&c.Worker.MetricsAddr, "STAGECOACH_WORKER_METRICS_ADDR", "127.0.0.1:9090", "the address of a worker's /metrics; off: none"),
		{Name: "STAGECOACH_WORKER_VERSION", Doc: "deployment:build, for Temporal's worker versioning: workers get work only after an operator has made their version current; empty: unversioned", set: func(v string) error { return versionInto(&c.Worker.Version, v) }},
		integer(&c.Worker.WorkflowSlots, "STAGECOACH_WORKER_WORKFLOW_SLOTS", "1000", 2, 10_000, "workflow tasks that a worker runs at once"),
		integer(&c.Worker.ActivitySlots, "STAGECOACH_WORKER_ACTIVITY_SLOTS", "1000", 10, 10_000, "short activities that a worker runs at once; deliveries have slots of their own"),
		integer(&c.Worker.MaxPollers, "STAGECOACH_WORKER_MAX_POLLERS", "100", 2, 1000, "the most polls that a worker keeps open for each queue; with little work it keeps few"),
		queues(&c.Worker.Queues, "STAGECOACH_WORKER_QUEUES", "task queues that this worker serves, with commas: "+strings.Join(TaskQueues, ", ")+"; empty: all. The last two are served only with the wallet's key"),
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

		choice(&c.Delivery.Mode, "STAGECOACH_DELIVERY_MODE", "stream", []string{"stream", "spool"}, "stream: bytes flow straight through; spool: by a temporary file"),
		integer(&c.Delivery.Parallel, "STAGECOACH_DELIVERY_PARALLEL", "4", 1, 1000, "parallel deliveries of each worker"),
		number(&c.Delivery.RatePerSecond, "STAGECOACH_DELIVERY_RATE", "0", "deliveries started per second over the whole queue; 0: no limit"),
		duration(&c.Delivery.TTL, "STAGECOACH_DELIVERY_TTL", "1h", second, 30*day, "a delivery that no worker claims within this time expires"),
		duration(&c.Delivery.JobTimeout, "STAGECOACH_DELIVERY_JOB_TIMEOUT", "15m", second, day, "the longest time of all attempts of a delivery together"),
		duration(&c.Delivery.ConnectTimeout, "STAGECOACH_DELIVERY_CONNECT_TIMEOUT", "5s", 100*time.Millisecond, time.Hour, "the longest time to open a connection"),
		duration(&c.Delivery.StorageTimeout, "STAGECOACH_DELIVERY_STORAGE_TIMEOUT", "30s", 100*time.Millisecond, time.Hour, "the longest time without a byte from the storage"),
		duration(&c.Delivery.SendInitTimeout, "STAGECOACH_DELIVERY_SEND_INIT_TIMEOUT", "10s", 100*time.Millisecond, time.Hour, "the longest time until Telegram takes the first byte"),
		duration(&c.Delivery.ChunkTimeout, "STAGECOACH_DELIVERY_CHUNK_TIMEOUT", "30s", 100*time.Millisecond, time.Hour, "the longest time without progress towards Telegram"),
		duration(&c.Delivery.Heartbeat, "STAGECOACH_DELIVERY_HEARTBEAT_TIMEOUT", "10s", 2*second, time.Hour, "a worker without a heartbeat for this long has lost its delivery"),
		duration(&c.Delivery.RetryInterval, "STAGECOACH_DELIVERY_RETRY_INTERVAL", "2s", 10*time.Millisecond, time.Hour, "pause before the second attempt; doubled for the third"),
		duration(&c.Delivery.ShortRetryAfter, "STAGECOACH_DELIVERY_SHORT_RETRY_AFTER", "30s", 0, time.Hour, "an attempt waits out a 429 that asks for no more than this"),
		duration(&c.Delivery.StuckAfter, "STAGECOACH_STUCK_AFTER", "30s", second, day, "/status marks a delivery as stuck when its heartbeat is older"),
		integer(&c.Delivery.MaxFileSize, "STAGECOACH_DELIVERY_MAX_FILE_SIZE", "2097152000", 1, 1<<42, "the largest file in bytes"),
		text(&c.Delivery.SpoolDir, "STAGECOACH_SPOOL_DIR", filepath.Join(os.TempDir(), "stagecoach-spool"), "the folder of temporary files"),
		integer(&c.Delivery.SpoolMaxBytes, "STAGECOACH_SPOOL_MAX_BYTES", "8388608000", 1, 1<<50, "the largest total of temporary files in bytes"),

		guarded(optionalAddress(&c.QBittorrent.URL, "STAGECOACH_QBITTORRENT_URL", "qBittorrent's Web UI; empty: downloads are off"), &c.QBittorrent.URL),
		text(&c.QBittorrent.Username, "STAGECOACH_QBITTORRENT_USERNAME", "", "qBittorrent's user; empty, with the password: it asks this address for none"),
		secret(&c.QBittorrent.Password, "STAGECOACH_QBITTORRENT_PASSWORD", "qBittorrent's password"),
		category(&c.QBittorrent.ActiveCategory, nil, "STAGECOACH_QBITTORRENT_CATEGORY", "stagecoach", "category of active torrents; the service touches torrents of its two categories only, and no other installation may use them"),
		category(&c.QBittorrent.DoneCategory, &c.QBittorrent.ActiveCategory, "STAGECOACH_QBITTORRENT_DONE_CATEGORY", "stagecoach-done", "category of torrents whose downloads have ended; completed ones keep seeding"),
		text(&c.QBittorrent.SavePath, "STAGECOACH_QBITTORRENT_SAVE_PATH", "", "folder in qBittorrent's file system in which each download gets a folder; empty: qBittorrent's default folder"),
		duration(&c.QBittorrent.Timeout, "STAGECOACH_QBITTORRENT_TIMEOUT", "10s", 100*time.Millisecond, time.Minute, "the longest time for one request to qBittorrent"),

		duration(&c.Download.PollInterval, "STAGECOACH_DOWNLOAD_POLL_INTERVAL", "15s", 100*time.Millisecond, 5*time.Minute, "time between two polls of qBittorrent: one request for all downloads"),
		duration(&c.Download.Grace, "STAGECOACH_DOWNLOAD_GRACE", "60s", second, day, "how long a torrent may be missing, not counting outages of qBittorrent"),
		duration(&c.Download.EnqueuePatience, "STAGECOACH_DOWNLOAD_ENQUEUE_PATIENCE", "15m", 0, 30*day, "a new download fails when qBittorrent cannot be reached for longer"),
		duration(&c.Download.StalledAfter, "STAGECOACH_DOWNLOAD_STALLED_AFTER", "24h", 0, 365*day, "a download without progress for this long, not counting outages, needs attention; 0: never"),
		boolean(&c.Download.StalledCancel, "STAGECOACH_DOWNLOAD_STALLED_CANCEL", "false", "cancel such a download"),
		integer(&c.Download.MinFree, "STAGECOACH_DOWNLOAD_MIN_FREE", "0", 0, 1<<50, "new downloads wait while fewer bytes are free in qBittorrent's default folder; 0: no limit"),
		integer(&c.Download.SourceMaxSize, "STAGECOACH_DOWNLOAD_SOURCE_MAX_SIZE", "10485760", 1, 1<<30, "the largest .torrent file in bytes"),
		duration(&c.Download.SourceTimeout, "STAGECOACH_DOWNLOAD_SOURCE_TIMEOUT", "30s", 100*time.Millisecond, 2*time.Minute, "the longest time to fetch a .torrent file"),
		boolean(&c.Download.PrivateSources, "STAGECOACH_DOWNLOAD_PRIVATE_SOURCES", "false", "also fetch .torrent files from addresses that are not on the Internet, such as this machine's"),

		text(&c.Media.Root, "STAGECOACH_MEDIA_ROOT", "", "where workers find the folder of STAGECOACH_QBITTORRENT_SAVE_PATH (the same path, if that is empty); workers check the files of media only while a file .stagecoach-media is in it; empty: no checks"),
		duration(&c.Media.SweepEvery, "STAGECOACH_MEDIA_SWEEP_EVERY", "1h", second, 30*day, "time between two checks of all media"),
		integer(&c.Media.MaxPercent, "STAGECOACH_MEDIA_SWEEP_MAX_PERCENT", "5", 0, 100, "percent of the available media: a check that would mark more as missing marks none and raises an alert"),

		{Name: "STAGECOACH_TON_KEY", Doc: "the wallet's private key: 24 words, or 32 or 64 bytes in hex; only its owner may read the file; empty: no transactions", Secret: true, set: func(v string) error { c.TON.Key = v; return nil }, file: &c.TON.KeyFile},
		choice(&c.TON.Network, "STAGECOACH_TON_NETWORK", "mainnet", []string{"mainnet", "testnet"}, "mainnet or testnet"),
		guarded(address(&c.TON.ToncenterURL, "STAGECOACH_TONCENTER_URL", "https://toncenter.com", "the toncenter that reads the chain and broadcasts payments"), &c.TON.ToncenterURL),
		secret(&c.TON.ToncenterKey, "STAGECOACH_TONCENTER_API_KEY", "toncenter's API key; empty: one request per second"),
		number(&c.TON.ToncenterRate, "STAGECOACH_TONCENTER_RATE", "0", "requests per second to toncenter; 0: 1 without a key, 10 with one"),
		guarded(optionalAddress(&c.TON.SecondURL, "STAGECOACH_TONCENTER_2_URL", "a second toncenter, of another operator, that confirms large deposits before they are paid for; empty: none. Every worker needs the same value"), &c.TON.SecondURL),
		secret(&c.TON.SecondKey, "STAGECOACH_TONCENTER_2_API_KEY", "the second toncenter's API key; empty: one request per second"),
		number(&c.TON.SecondRate, "STAGECOACH_TONCENTER_2_RATE", "0", "requests per second to the second toncenter; 0: 1 without a key, 10 with one"),
		guarded(address(&c.Fragment.URL, "STAGECOACH_FRAGMENT_URL", "https://fragment.com", "the address of Fragment, which sells Stars"), &c.Fragment.URL),
		secret(&c.Fragment.Cookies, "STAGECOACH_FRAGMENT_COOKIES", "the session at Fragment: stel_ssid=…; stel_dt=…; stel_token=…; stel_ton_token=…"),
		number(&c.Fragment.RequestsPerSecond, "STAGECOACH_FRAGMENT_RATE", "0", "requests per second to Fragment; 0: 2"),
		boolean(&c.Fragment.ShowSender, "STAGECOACH_FRAGMENT_SHOW_SENDER", "false", "show the receiver who sent the Stars"),

		words(&c.Transactions.Allow, "STAGECOACH_TX_ALLOW", "addresses that may be paid for Stars, with commas; required with a key"),
		words(&c.Transactions.TopUpFrom, "STAGECOACH_TX_TOP_UP_FROM", "addresses of yours, with commas: their transfers to the wallet are no orders"),
		boolean(&c.Transactions.WholeHistory, "STAGECOACH_TX_WHOLE_HISTORY", "false", "at the first start with this wallet, transfers from before are orders too"),
		amount(&c.Transactions.MinDeposit, "STAGECOACH_TX_MIN_DEPOSIT", "0.05", "GRAM (ex TON); a smaller transfer is no order"),
		integer(&c.Transactions.MaxStars, "STAGECOACH_TX_MAX_STARS", "1000000", 50, 1<<40, "the largest number of Stars in one purchase"),
		amount(&c.Transactions.Reserve, "STAGECOACH_TX_RESERVE", "0.02", "GRAM (ex TON) kept back of each transfer for gas, and left in the wallet by each payment"),
		integer(&c.Transactions.Slippage, "STAGECOACH_TX_SLIPPAGE", "100", 0, 10_000, "how much more than quoted a purchase may cost, in parts of 10,000"),
		amount(&c.Transactions.PaymentLimit, "STAGECOACH_TX_PAYMENT_LIMIT", "200", "GRAM (ex TON); the most for one purchase; 0: no limit"),
		amount(&c.Transactions.DailyLimit, "STAGECOACH_TX_DAILY_LIMIT", "1000", "GRAM (ex TON); the most for all purchases of 24 hours together: an order that does not fit waits, and smaller ones pass; 0: no limit"),
		amount(&c.Transactions.RefundLimit, "STAGECOACH_TX_REFUND_LIMIT", "200", "GRAM (ex TON); a larger refund needs an operator's review; 0: no limit"),
		amount(&c.Transactions.RefundDailyLimit, "STAGECOACH_TX_REFUND_DAILY_LIMIT", "1000", "GRAM (ex TON); the most for all refunds of 24 hours together, except those that an operator allowed; 0: no limit"),
		amount(&c.Transactions.RefundLeast, "STAGECOACH_TX_REFUND_LEAST", "0.01", "GRAM (ex TON); a refund of which the sender would get less, after gas, is not made"),
		integer(&c.Transactions.Attempts, "STAGECOACH_TX_ATTEMPTS", "3", 1, 100, "attempts to buy before a transaction fails"),
		duration(&c.Transactions.RetryInterval, "STAGECOACH_TX_RETRY_INTERVAL", "30s", 10*time.Millisecond, time.Hour, "pause before the second attempt; doubled for each later one"),
		duration(&c.Transactions.PollInterval, "STAGECOACH_TX_POLL_INTERVAL", "5s", 10*time.Millisecond, time.Hour, "time between two reads of the wallet's history; a second at most while a payment is under way"),
		duration(&c.Transactions.PaymentTTL, "STAGECOACH_TX_PAYMENT_TTL", "2m", second, time.Hour, "how long a signed payment is valid"),
		duration(&c.Transactions.FinalityMargin, "STAGECOACH_TX_FINALITY_MARGIN", "30s", 0, time.Hour, "how long after its validity a payment that is not found counts as dead"),
		duration(&c.Transactions.RebroadcastEvery, "STAGECOACH_TX_REBROADCAST", "15s", 10*time.Millisecond, time.Hour, "how often a payment that is not found yet is broadcast again"),
		duration(&c.Transactions.ConfirmPatience, "STAGECOACH_TX_CONFIRM_PATIENCE", "10m", second, day, "how long a paid purchase may stay unconfirmed before it needs review"),
		duration(&c.Transactions.StuckAfter, "STAGECOACH_TX_STUCK_AFTER", "30m", second, 30*day, "a transaction in processing for longer raises an alert"),
		duration(&c.Transactions.HoldRetry, "STAGECOACH_TX_HOLD_RETRY", "5m", 10*time.Millisecond, day, "how long purchases are held before one order tests whether the cause is gone"),
		duration(&c.Transactions.RetryFor, "STAGECOACH_TX_RETRY_FOR", "24h", 0, 30*day, "how long the system keeps trying an order that may still succeed: while Fragment cannot be reached the order waits, after other failures it is tried again; then an operator is asked; 0: it fails after its attempts, and an operator is asked at once"),
		duration(&c.Transactions.RetryPause, "STAGECOACH_TX_RETRY_PAUSE", "1m", 10*time.Millisecond, time.Hour, "pause before the system tries a failed order again; doubled for each later time, up to an hour"),
		boolean(&c.Transactions.Refund, "STAGECOACH_TX_REFUND", "false", "send the money back, less gas, when the payer's order cannot be carried out"),
		amount(&c.Transactions.SecondFrom, "STAGECOACH_TX_SECOND_SOURCE_FROM", "50", "GRAM (ex TON); the second toncenter is asked for deposits of this amount or more; 0: for all"),
		duration(&c.Transactions.SecondWait, "STAGECOACH_TX_SECOND_SOURCE_WAIT", "2m", 0, day, "how far behind the second toncenter's position on the chain a deposit must be before it is held as unknown there"),

		days(&c.Retention.Deliveries, "STAGECOACH_RETENTION_DELIVERIES", "365", "deliveries that have ended, with their events"),
		days(&c.Retention.Downloads, "STAGECOACH_RETENTION_DOWNLOADS", "365", "downloads that have ended, with their events; books and files stay"),
		days(&c.Retention.Tasks, "STAGECOACH_RETENTION_TASKS", "0", "tasks that have ended, with their events, unless a task that is kept was blocked by them"),
		days(&c.Retention.Events, "STAGECOACH_RETENTION_EVENTS", "365", "events of deliveries, downloads and tasks that have ended; transactions keep theirs"),
		days(&c.Retention.Answers, "STAGECOACH_RETENTION_ANSWERS", "90", "first answers to each Idempotency-Key; after that the key is new"),
		days(&c.Retention.News, "STAGECOACH_RETENTION_NEWS", "30", "records of notifications about events"),
		days(&c.Retention.Alerts, "STAGECOACH_RETENTION_ALERTS", "90", "alerts that are over"),
		days(&c.Retention.Audit, "STAGECOACH_RETENTION_AUDIT", "0", "the audit log"),
		days(&c.Retention.Findings, "STAGECOACH_RETENTION_FINDINGS", "90", "findings of the reconciler that are repaired"),
	}
}
