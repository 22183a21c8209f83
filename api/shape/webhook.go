package shape

import "time"

// Webhook is a user's endpoint that receives events. The secret is only in responses that create one.
type Webhook struct {
	ID        string   `json:"id" example:"4"`
	Address   string   `json:"address" doc:"URL that receives the events"`
	Workloads []string `json:"workloads" example:"[\"task\"]" doc:"Workloads whose events are sent; empty: all"`
	State     string   `json:"state" enum:"ACTIVE,PAUSED"`
	Reason    *string  `json:"reason" example:"receiver_failed" doc:"Why it is paused: paused_by_owner, receiver_gone (it returned 410), receiver_failed (for three days), owner_not_active or token_ended (the token that created it is no longer valid)"`

	Cursor      string     `json:"cursor" example:"812-90" doc:"ID of the event up to which all were sent or skipped"`
	BehindSince *time.Time `json:"behind_since" example:"2026-03-01T12:00:00Z" doc:"Time of the oldest event that it has not passed; null: it is up to date"`
	EventsLost  bool       `json:"events_lost" doc:"Events were deleted before they were sent; the receiver is notified next"`

	FailingSince *time.Time   `json:"failing_since" example:"2026-03-01T12:00:00Z" doc:"Since when the receiver has not accepted the next event; null: it is not failing"`
	LastError    *string      `json:"last_error" example:"WEBHOOK_TIMEOUT" doc:"Code of the last failure, while it is failing"`
	DeliveredAt  *time.Time   `json:"delivered_at" example:"2026-03-01T12:00:00Z" doc:"When an event was last accepted"`
	Test         *WebhookTest `json:"test" doc:"Last test event; null: none was requested"`

	Secret              string     `json:"secret,omitempty" doc:"Signing secret, only in the response that creates it: it is never shown again"`
	PreviousSecretUntil *time.Time `json:"previous_secret_until" example:"2026-03-02T12:00:00Z" doc:"Until when the previous secret also signs; null: it does not"`
	CreatedAt           time.Time  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt           time.Time  `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// WebhookTest is a test event.
type WebhookTest struct {
	AskedAt time.Time  `json:"asked_at" example:"2026-03-01T12:00:00Z"`
	At      *time.Time `json:"at" example:"2026-03-01T12:00:01Z" doc:"When its outcome was known; null: it is in progress"`
	Error   *string    `json:"error" example:"WEBHOOK_REFUSED" doc:"A code; null: the receiver has accepted it, or it is in progress"`
}
