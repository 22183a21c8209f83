package fault

// A webhook is invalid, or its receiver does not accept an event.
const (
	WebhookNotFound    Code = "WEBHOOK_NOT_FOUND"
	WebhookForbidden   Code = "WEBHOOK_FORBIDDEN"   // the address is unusable: it is not on the Internet
	WebhookUnreachable Code = "WEBHOOK_UNREACHABLE" // no connection, or no answer
	WebhookTimeout     Code = "WEBHOOK_TIMEOUT"     // no answer in time
	WebhookRefused     Code = "WEBHOOK_REFUSED"     // the answer is not a success
	WebhookGone        Code = "WEBHOOK_GONE"        // the receiver wants no more events
)

// Reasons why a webhook is paused.
const (
	PausedByOwner  Code = "paused_by_owner"
	ReceiverGone   Code = "receiver_gone"   // it answered 410
	ReceiverFailed Code = "receiver_failed" // for three days
	OwnerNotActive Code = "owner_not_active"
	TokenEnded     Code = "token_ended" // the one that made it
)
