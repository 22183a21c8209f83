package lifecycle

import "time"

// Event is one transition as shown in the event stream and webhooks. Its tags appear in the HTTP API's document: it is
// one of the shapes of api/shape, but lives here because workers send it too.
type Event struct {
	Workload string  `json:"workload" example:"delivery"`
	EntityID string  `json:"entity_id" example:"17"`
	OwnerID  *string `json:"owner_id" example:"3" doc:"Whose entity it is"`
	History
}

// History is one event of an entity.
type History struct {
	Seq       int64     `json:"seq" example:"1" doc:"Counts the events of one entity"`
	Type      string    `json:"type" example:"enqueued"`
	ActorID   *string   `json:"actor_id" example:"3" doc:"The user who did it; null for the system"`
	From      string    `json:"from" example:"" doc:"The state before; empty for the first event"`
	To        string    `json:"to" example:"QUEUED" doc:"The state after"`
	Comment   string    `json:"comment" doc:"A code or a remark"`
	CreatedAt time.Time `json:"created_at" example:"2026-03-01T12:00:00Z"`
}
