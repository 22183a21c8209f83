package lifecycle

import "strconv"

// Names of webhooks. They are not a workload: an endpoint has no table of states; its row has its position.
const (
	WebhookType  = "Webhook"
	WebhookQueue = "webhooks" // of the sending activity
	WebhookWake  = "wake"     // the signal that there may be something to send
	WebhookAct   = "act"      // the signal that its owner has changed something: any delay ends

	// WebhookEvents is the name of webhooks in events and notifications.
	WebhookEvents = "webhook"
)

// BookEvents is the name of books in events: they belong to downloads.
const BookEvents = "book"

// OfWorkload returns the workload to which an event belongs, by its name in events.
func OfWorkload(name string) string {
	if name == BookEvents {
		return WorkloadDownload
	}
	return name
}

// WebhookID is the id of an endpoint's workflow.
func WebhookID(id int64) string { return WebhookEvents + "/" + strconv.FormatInt(id, 10) }

// States of an endpoint.
const (
	WebhookActive = "ACTIVE"
	WebhookPaused = "PAUSED"
)

// Types of the events of an endpoint.
const (
	WebhookCreated = "created"
	WebhookPause   = "paused"
	WebhookResume  = "resumed"
	WebhookRemove  = "removed"
)

// WebhookOutcome is what an endpoint's activity leaves to do.
type WebhookOutcome struct {
	Rests bool `json:"rests,omitempty"` // all events are seen: a signal announces the next
	Ended bool `json:"ended,omitempty"` // it is paused or deleted
}

// WebhookTitle is the title of an endpoint's workflow for operators.
func WebhookTitle(id int64) string { return "Webhook " + strconv.FormatInt(id, 10) }
