package fault

// The caller made a mistake, or may not do this.
const (
	Validation           Code = "VALIDATION_ERROR"
	Unauthenticated      Code = "UNAUTHENTICATED"
	InsufficientAccess   Code = "INSUFFICIENT_ACCESS"
	InsufficientScope    Code = "INSUFFICIENT_SCOPE" // details: missing, scopes that the token lacks
	TokenNotFound        Code = "TOKEN_NOT_FOUND"
	ConfirmationRequired Code = "CONFIRMATION_REQUIRED" // a session's person must prove their identity again
	LinkSpent            Code = "LINK_SPENT"            // a sign-in link was used, replaced or has expired
	SignInExpired        Code = "SIGN_IN_EXPIRED"       // the browser began no sign-in at the provider, or too long ago
	SignInNotVerified    Code = "SIGN_IN_NOT_VERIFIED"  // the provider's answer proves nothing
	NotFound             Code = "NOT_FOUND"
	UserNotFound         Code = "USER_NOT_FOUND"
	UserExists           Code = "USER_EXISTS"
	InvalidTransition    Code = "INVALID_TRANSITION"
	UserNotActive        Code = "USER_NOT_ACTIVE"
	BodyTooLarge         Code = "BODY_TOO_LARGE"
	MediaType            Code = "UNSUPPORTED_MEDIA_TYPE"
	MethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	RequestTimeout       Code = "REQUEST_TIMEOUT"
	RateLimited          Code = "RATE_LIMITED"   // with RetryAfter
	QuotaExceeded        Code = "QUOTA_EXCEEDED" // details: limit, maximum
	NotConfigured        Code = "NOT_CONFIGURED" // the workload is off
	// this process has its maximum number of event streams; with RetryAfter
	StreamsFull Code = "STREAMS_FULL"
	CursorGone  Code = "CURSOR_GONE"              // details: oldest, the id to begin with
	OwnAccess   Code = "CANNOT_CHANGE_OWN_ACCESS" // administrators must not lock themselves out
	LastAdmin   Code = "LAST_ADMIN"               // one must remain
)

// An external system failed.
const (
	YandexUnauthorized Code = "STORAGE_UNAUTHORIZED"
	YandexLocked       Code = "STORAGE_LOCKED"
	YandexLimit        Code = "STORAGE_FILE_LIMIT" // of downloads of one file per day
	YandexUnavailable  Code = "STORAGE_UNAVAILABLE"
	YandexProtocol     Code = "STORAGE_PROTOCOL"

	TelegramUnauthorized Code = "TELEGRAM_UNAUTHORIZED"
	TelegramForbidden    Code = "TELEGRAM_FORBIDDEN" // the user blocked the bot, or is gone
	TelegramRejected     Code = "TELEGRAM_REJECTED"
	TelegramRateLimited  Code = "TELEGRAM_RATE_LIMITED"
	TelegramUnavailable  Code = "TELEGRAM_UNAVAILABLE"
	TelegramFileID       Code = "TELEGRAM_FILE_ID_REFUSED"
	TelegramFolder       Code = "TELEGRAM_FOLDER_UNREADABLE" // its server cannot read the shared folder

	ChainUnauthorized Code = "CHAIN_UNAUTHORIZED" // toncenter rejects our key
	ChainUnavailable  Code = "CHAIN_UNAVAILABLE"
	ChainProtocol     Code = "CHAIN_PROTOCOL"
	ChainClock        Code = "CHAIN_CLOCK" // its time is too far from ours

	FragmentNoUser       Code = "FRAGMENT_USERNAME_NOT_FOUND"
	FragmentNotAUser     Code = "FRAGMENT_INVALID_USERNAME" // a channel or a bot
	FragmentNoGift       Code = "FRAGMENT_RECIPIENT_REFUSED"
	FragmentUnauthorized Code = "FRAGMENT_UNAUTHORIZED" // the session has ended
	FragmentVerify       Code = "FRAGMENT_VERIFICATION_REQUIRED"
	FragmentRefused      Code = "FRAGMENT_REFUSED" // for an unknown reason
	FragmentUnavailable  Code = "FRAGMENT_UNAVAILABLE"
	FragmentUnreachable  Code = "FRAGMENT_UNREACHABLE"
	FragmentProtocol     Code = "FRAGMENT_PROTOCOL"
	SignInProviderAway   Code = "SIGN_IN_PROVIDER_AWAY" // the sign-in provider does not answer
	ProviderUnavailable  Code = "PROVIDER_UNAVAILABLE"  // qBittorrent cannot be reached
	ProviderUnauthorized Code = "PROVIDER_UNAUTHORIZED" // it rejects the credentials
	ProviderRejected     Code = "PROVIDER_REJECTED"     // it rejects the request
)

// Reasons why any workload's work ended, and failures of the service itself.
const (
	TerminatedByOperator Code = "terminated_by_operator" // the workflow was ended by hand
	WorkflowLost         Code = "workflow_lost"          // the workflow ended or vanished without recording the end
	CancelledByUser      Code = "cancelled_by_user"
	Internal             Code = "INTERNAL"             // our own failure; the cause is in the log
	StoreUnavailable     Code = "STORE_UNAVAILABLE"    // PostgreSQL is unreachable, or accepts no writes
	TemporalUnavailable  Code = "TEMPORAL_UNAVAILABLE" // Temporal cannot be reached
	WorkflowPaused       Code = "WORKFLOW_PAUSED"      // an operator has paused the workflow, which rejects updates
)
