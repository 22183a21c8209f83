package fault

// The caller made a mistake, or may not do this.
const (
	Validation         Code = "VALIDATION_ERROR"
	Unauthenticated    Code = "UNAUTHENTICATED"
	InsufficientAccess Code = "INSUFFICIENT_ACCESS"
	InsufficientScope  Code = "INSUFFICIENT_SCOPE" // details: missing, scopes that the token does not have
	TokenNotFound      Code = "TOKEN_NOT_FOUND"
	NotFound           Code = "NOT_FOUND"
	DeliveryNotFound   Code = "DELIVERY_NOT_FOUND"
	UserNotFound       Code = "USER_NOT_FOUND"
	UserExists         Code = "USER_EXISTS"
	WorkspaceNotFound  Code = "WORKSPACE_NOT_FOUND"
	InvalidTransition  Code = "INVALID_TRANSITION"
	UserNotActive      Code = "USER_NOT_ACTIVE"
	NoTelegramChat     Code = "NO_TELEGRAM_CHAT"
	IdempotencyKey     Code = "IDEMPOTENCY_KEY_REQUIRED"
	BodyTooLarge       Code = "BODY_TOO_LARGE"
	MediaType          Code = "UNSUPPORTED_MEDIA_TYPE"
	MetricsMoved       Code = "METRICS_MOVED" // to a listener of their own
	MethodNotAllowed   Code = "METHOD_NOT_ALLOWED"
	RequestTimeout     Code = "REQUEST_TIMEOUT"
	RateLimited        Code = "RATE_LIMITED"   // with RetryAfter
	QuotaExceeded      Code = "QUOTA_EXCEEDED" // details: limit, maximum
	// this process has as many event streams as it takes; with RetryAfter
	StreamsFull Code = "STREAMS_FULL"
	CursorGone  Code = "CURSOR_GONE"              // details: oldest, the id to begin with
	OwnAccess   Code = "CANNOT_CHANGE_OWN_ACCESS" // administrators do not lock themselves out
	LastAdmin   Code = "LAST_ADMIN"               // one must be left
)

// A task refuses an action.
const (
	TaskNotFound       Code = "TASK_NOT_FOUND"
	TaskAlreadyClaimed Code = "TASK_ALREADY_CLAIMED" // details: holder
	CommentRequired    Code = "COMMENT_REQUIRED"
	UnresolvedBlockers Code = "UNRESOLVED_BLOCKERS" // details: blockers
	CyclicDependency   Code = "CYCLIC_DEPENDENCY"   // details: cycle
	UnknownBlocker     Code = "UNKNOWN_BLOCKER"     // details: unknown
	CannotEscalateOwn  Code = "CANNOT_ESCALATE_OWN"
	CannotTakeover     Code = "CANNOT_TAKEOVER"
)

// A payment is not made.
const (
	TransactionNotFound Code = "TRANSACTION_NOT_FOUND"
	NotConfigured       Code = "NOT_CONFIGURED"      // the workload is off
	WalletNotFound      Code = "WALLET_NOT_FOUND"    // its record was never begun
	PaymentNotFound     Code = "PAYMENT_NOT_FOUND"   //
	PaymentUndecided    Code = "PAYMENT_UNDECIDED"   // signed or paid: only the chain, or an operator, can decide
	PaymentDecided      Code = "PAYMENT_DECIDED"     // the record says the opposite already
	NoTurn              Code = "NO_TURN"             // somebody else's payment comes first
	PaymentsPaused      Code = "PAYMENTS_PAUSED"     // by an operator
	PaymentsHeld        Code = "PAYMENTS_HELD"       // by the program
	PaymentLimit        Code = "PAYMENT_LIMIT"       // for one purchase
	RefundLimit         Code = "REFUND_LIMIT"        // for one refund
	PaymentNotAllowed   Code = "PAYMENT_NOT_ALLOWED" // to an address that is not on the list
	DailyLimit          Code = "DAILY_LIMIT"         // for all of them
	InsufficientFunds   Code = "INSUFFICIENT_FUNDS"  // in the wallet, besides what is owed to others
	ChainGap            Code = "CHAIN_GAP"           // a transaction is missing between two that are known
)

// A download refuses an action, or waits.
const (
	BookNotFound     Code = "BOOK_NOT_FOUND"
	DownloadNotFound Code = "DOWNLOAD_NOT_FOUND"
	NoFreeSpace      Code = "NO_FREE_SPACE"   // it waits until there is room on qBittorrent's disk
	MediaNotReady    Code = "MEDIA_NOT_READY" // what was downloaded has no place yet
)

// The address of a .torrent file is not usable.
const (
	SourceUnavailable Code = "SOURCE_UNAVAILABLE" // its server does not answer, or not now
	SourceRefused     Code = "SOURCE_REFUSED"     // its server says no
	SourceForbidden   Code = "SOURCE_FORBIDDEN"   // it leads to an address that is not on the Internet
	SourceTooBig      Code = "SOURCE_TOO_BIG"
	SourceNotTorrent  Code = "SOURCE_NOT_TORRENT"
)

// A file cannot be delivered.
const (
	FileNotFound Code = "FILE_NOT_FOUND"
	FileTooBig   Code = "FILE_TOO_BIG"
	FileEmpty    Code = "FILE_EMPTY"
	FileIsFolder Code = "FILE_IS_FOLDER"
	FileChanged  Code = "FILE_CHANGED"
)

// An outside system failed.
const (
	YandexUnauthorized Code = "STORAGE_UNAUTHORIZED"
	YandexRateLimited  Code = "STORAGE_RATE_LIMITED"
	YandexLocked       Code = "STORAGE_LOCKED"
	YandexUnavailable  Code = "STORAGE_UNAVAILABLE"
	YandexTimeout      Code = "STORAGE_TIMEOUT"
	YandexUnreachable  Code = "STORAGE_UNREACHABLE"
	YandexProtocol     Code = "STORAGE_PROTOCOL"

	TelegramUnauthorized Code = "TELEGRAM_UNAUTHORIZED"
	TelegramForbidden    Code = "TELEGRAM_FORBIDDEN" // the user blocked the bot, or is gone
	TelegramRejected     Code = "TELEGRAM_REJECTED"
	TelegramRateLimited  Code = "TELEGRAM_RATE_LIMITED"
	TelegramUnavailable  Code = "TELEGRAM_UNAVAILABLE"
	TelegramTimeout      Code = "TELEGRAM_TIMEOUT"
	TelegramUnreachable  Code = "TELEGRAM_UNREACHABLE"
	TelegramFileID       Code = "TELEGRAM_FILE_ID_REFUSED"

	ChainUnauthorized Code = "CHAIN_UNAUTHORIZED" // toncenter refuses our key
	ChainRateLimited  Code = "CHAIN_RATE_LIMITED"
	ChainUnavailable  Code = "CHAIN_UNAVAILABLE"
	ChainTimeout      Code = "CHAIN_TIMEOUT"
	ChainUnreachable  Code = "CHAIN_UNREACHABLE"
	ChainProtocol     Code = "CHAIN_PROTOCOL"
	ChainClock        Code = "CHAIN_CLOCK" // its time is too far from ours

	FragmentNoUser       Code = "FRAGMENT_USERNAME_NOT_FOUND"
	FragmentNotAUser     Code = "FRAGMENT_INVALID_USERNAME" // a channel or a bot
	FragmentNoGift       Code = "FRAGMENT_RECIPIENT_REFUSED"
	FragmentUnauthorized Code = "FRAGMENT_UNAUTHORIZED" // the session is over
	FragmentVerify       Code = "FRAGMENT_VERIFICATION_REQUIRED"
	FragmentRefused      Code = "FRAGMENT_REFUSED" // for a reason that we do not know
	FragmentUnavailable  Code = "FRAGMENT_UNAVAILABLE"
	FragmentTimeout      Code = "FRAGMENT_TIMEOUT"
	FragmentUnreachable  Code = "FRAGMENT_UNREACHABLE"
	FragmentProtocol     Code = "FRAGMENT_PROTOCOL"
	ProviderUnavailable  Code = "PROVIDER_UNAVAILABLE"  // qBittorrent cannot be reached
	ProviderUnauthorized Code = "PROVIDER_UNAUTHORIZED" // it refuses name and password
	ProviderRejected     Code = "PROVIDER_REJECTED"     // it refuses the request
)

// Reasons why a download failed, or needs a person's attention.
const (
	MissingExternalJob Code = "missing_external_job" // the torrent is gone, past the grace
	ProviderError      Code = "provider_error"       // the torrent is in error
	EnqueueFailed      Code = "enqueue_failed"       // qBittorrent does not take it, or its source does not give it
	EnqueueUnavailable Code = "enqueue_unavailable"  // qBittorrent could not be reached all the time
	BookGone           Code = "book_not_found"       // the book was removed meanwhile
	Stalled            Code = "stalled"              // no progress for long
)

// Reasons of other ends, and failures of the service itself.
const (
	OutcomeUnknown       Code = "outcome_unknown" // the file may or may not have arrived
	JobTimeout           Code = "job_timeout"     // its time in a worker's hands is used up
	TooManyAttempts      Code = "too_many_attempts"
	WorkerLost           Code = "worker_lost"            // the worker's heartbeat stopped
	TerminatedByOperator Code = "terminated_by_operator" // the workflow was ended by hand
	PausedByOperator     Code = "paused_by_operator"     // the activity was: temporal activity pause
	ResetByOperator      Code = "reset_by_operator"      // the activity was: temporal activity reset
	WorkflowLost         Code = "workflow_lost"          // the workflow ended or vanished without writing the end
	CancelledByUser      Code = "cancelled_by_user"      //
	NotClaimedInTime     Code = "not_claimed_in_time"    // no worker was free within the TTL
	SpoolFull            Code = "SPOOL_FULL"             // no room for a temporary file
	Internal             Code = "INTERNAL"               // our own failure; the cause is in the log
	StoreUnavailable     Code = "STORE_UNAVAILABLE"      // PostgreSQL cannot be reached
	TemporalUnavailable  Code = "TEMPORAL_UNAVAILABLE"   // Temporal cannot be reached
)
