package shape

import "time"

// Webhook is an endpoint of a user that gets events. Only the answers that make a secret have it.
type Webhook struct {
	ID        string   `json:"id" example:"4"`
	Address   string   `json:"address" doc:"Where events are sent"`
	Workloads []string `json:"workloads" example:"[\"task\"]" doc:"Whose events are sent; empty: all"`
	State     string   `json:"state" enum:"ACTIVE,PAUSED"`
	Reason    *string  `json:"reason" example:"receiver_failed" doc:"Of a pause: paused_by_owner, receiver_gone (it answered 410), receiver_failed (for three days) or owner_not_active"`

	Cursor      string     `json:"cursor" example:"812-90" doc:"The id of the event up to which all were sent or skipped"`
	BehindSince *time.Time `json:"behind_since" example:"2026-03-01T12:00:00Z" doc:"When the oldest event happened that it has not passed; null: it has seen all"`
	EventsLost  bool       `json:"events_lost" doc:"Events were deleted before they were sent; the receiver is told next"`

	FailingSince *time.Time   `json:"failing_since" example:"2026-03-01T12:00:00Z" doc:"Since when the receiver has not taken the next event; null: it does not fail"`
	LastError    *string      `json:"last_error" example:"WEBHOOK_TIMEOUT" doc:"The code of the last failure, while it fails"`
	DeliveredAt  *time.Time   `json:"delivered_at" example:"2026-03-01T12:00:00Z" doc:"When an event was last taken"`
	Test         *WebhookTest `json:"test" doc:"The last test event; null: none was asked for"`

	Secret              string     `json:"secret,omitempty" doc:"It signs what is sent. Only in the answer that makes it: nobody can see it again"`
	PreviousSecretUntil *time.Time `json:"previous_secret_until" example:"2026-03-02T12:00:00Z" doc:"Until when the secret before signs too; null: it does not"`
	CreatedAt           time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt           time.Time  `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// WebhookTest is a test event.
type WebhookTest struct {
	AskedAt time.Time  `json:"asked_at" example:"2026-03-01T12:00:00Z"`
	At      *time.Time `json:"at" example:"2026-03-01T12:00:01Z" doc:"When its outcome was known; null: it is under way"`
	Error   *string    `json:"error" example:"WEBHOOK_REFUSED" doc:"A code; null: the receiver has taken it, or it is under way"`
}
