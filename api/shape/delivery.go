package shape

import (
	"time"

	"stagecoach/internal/lifecycle"
)

// Delivery is a delivery as one caller sees it.
type Delivery struct {
	ID              string                     `json:"id" example:"17"`
	UserID          string                     `json:"user_id" example:"3"`
	State           lifecycle.DeliveryState    `json:"state" enum:"QUEUED,CLAIMED,DOWNLOADING,STREAMING,DELIVERED,FAILED,CANCELLED,EXPIRED"`
	Attempt         int                        `json:"attempt" example:"0" doc:"Tries that have failed so far, of 3"`
	FileID          string                     `json:"file_id" example:"42"`
	FileName        string                     `json:"file_name" example:"film.mkv"`
	Size            int64                      `json:"size" example:"734003200" doc:"Bytes"`
	BytesSent       int64                      `json:"bytes_sent" example:"0" doc:"Bytes that the current try has sent"`
	PlaceInLine     *int                       `json:"place_in_line" example:"1" doc:"1 is next; null unless QUEUED"`
	LastError       *string                    `json:"last_error" doc:"A code; null when no try has failed"`
	WaitsFor        *string                    `json:"waits_for" example:"next_attempt" doc:"next_attempt: a try has failed, or its worker is silent; null: nothing that its state does not say"`
	NextAttemptAt   *time.Time                 `json:"next_attempt_at" example:"2026-03-01T12:00:04Z" doc:"When the next try begins, of one that waits for it; null: as soon as a worker is free"`
	DeadlineAt      *time.Time                 `json:"deadline_at" example:"2026-03-01T13:00:00Z" doc:"When it ends by itself: in line, unless a worker takes it; in a worker's hands, the try. Null: it has ended, or waits without an end"`
	Source          string                     `json:"source" enum:"bot,api" doc:"Where it was asked for"`
	MessageID       *string                    `json:"message_id" doc:"The Telegram message that holds the file"`
	CancelRequested bool                       `json:"cancel_requested" doc:"Somebody wants it stopped; a stream stops within one heartbeat"`
	AllowedActions  []lifecycle.DeliveryAction `json:"allowed_actions" example:"[\"cancel\"]" doc:"What you may do now"`
	WorkflowID      string                     `json:"workflow_id" example:"delivery/9f86d081…" doc:"In Temporal"`
	CreatedAt       time.Time                  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt       time.Time                  `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// waitsForNextAttempt is what a delivery waits for whose try has failed, or whose worker is silent.
const waitsForNextAttempt = "next_attempt"

// DeliveryWaitsFor is the field WaitsFor.
func DeliveryWaitsFor(nextAttempt bool) *string {
	if !nextAttempt {
		return nil
	}
	return Optional(waitsForNextAttempt)
}

// Ended says whether nothing happens to the delivery any more.
func (d Delivery) Ended() bool { return lifecycle.Delivery.Terminal(d.State) }
