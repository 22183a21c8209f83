package fault

// A file is not delivered.
const (
	DeliveryNotFound Code = "DELIVERY_NOT_FOUND"
	NoTelegramChat   Code = "NO_TELEGRAM_CHAT"
	FileNotFound     Code = "FILE_NOT_FOUND"
	FileTooBig       Code = "FILE_TOO_BIG"
	FileEmpty        Code = "FILE_EMPTY"
	FileIsFolder     Code = "FILE_IS_FOLDER"
	FileChanged      Code = "FILE_CHANGED"
)

// Reasons why a delivery ended, or waits.
const (
	OutcomeUnknown   Code = "outcome_unknown" // the file may or may not have arrived
	JobTimeout       Code = "job_timeout"     // an attempt's time is used up
	TooManyAttempts  Code = "too_many_attempts"
	WorkerLost       Code = "worker_lost"         // the worker's heartbeat stopped
	PausedByOperator Code = "paused_by_operator"  // of the activity, by temporal activity pause
	ResetByOperator  Code = "reset_by_operator"   // of the activity, by temporal activity reset
	NotClaimedInTime Code = "not_claimed_in_time" // no worker was free within the TTL
	SpoolFull        Code = "SPOOL_FULL"          // no room for a temporary file
)
