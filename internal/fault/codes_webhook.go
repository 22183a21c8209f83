package fault

// A webhook is not what was asked for, or its receiver does not take an event.
const (
	WebhookNotFound    Code = "WEBHOOK_NOT_FOUND"
	WebhookForbidden   Code = "WEBHOOK_FORBIDDEN"   // the address cannot be used: it is not on the Internet
	WebhookUnreachable Code = "WEBHOOK_UNREACHABLE" // no connection, or no answer
	WebhookTimeout     Code = "WEBHOOK_TIMEOUT"     // no answer in time
	WebhookRefused     Code = "WEBHOOK_REFUSED"     // the answer is no success
	WebhookGone        Code = "WEBHOOK_GONE"        // the receiver asks for no more
)

// Reasons why a webhook is paused.
const (
	PausedByOwner  Code = "paused_by_owner"
	ReceiverGone   Code = "receiver_gone"   // it answered 410
	ReceiverFailed Code = "receiver_failed" // for three days
	OwnerNotActive Code = "owner_not_active"
	TokenEnded     Code = "token_ended" // the one by which it was made
)
