package lifecycle

import "strconv"

// Names of webhooks. They are no workload: an endpoint has no table of states, its row says how far it is.
const (
	WebhookType  = "Webhook"
	WebhookQueue = "webhooks" // of the activity that sends
	WebhookWake  = "wake"     // the signal that there may be something to send
	WebhookAct   = "act"      // the signal that its owner has changed something: no pause is waited for

	// WebhookEvents is the name of webhooks in events and in notices.
	WebhookEvents = "webhook"
)

// BookEvents is the name of books in events: they are of downloads.
const BookEvents = "book"

// OfWorkload returns the workload that an event belongs to, by its name in events.
func OfWorkload(name string) string {
	if name == BookEvents {
		return WorkloadDownload
	}
	return name
}

// WebhookID is the id of the workflow of an endpoint.
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

// WebhookOutcome is what one activity of an endpoint leaves to do.
type WebhookOutcome struct {
	Rests bool `json:"rests,omitempty"` // all events are seen: a signal says when there is another
	Ended bool `json:"ended,omitempty"` // it is paused or deleted
}

// WebhookTitle names an endpoint's workflow for operators.
func WebhookTitle(id int64) string { return "Webhook " + strconv.FormatInt(id, 10) }
