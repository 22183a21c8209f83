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
	Attempt         int                        `json:"attempt" example:"0" doc:"Failed attempts so far, of 3"`
	FileID          string                     `json:"file_id" example:"42"`
	FileName        string                     `json:"file_name" example:"film.mkv"`
	Size            int64                      `json:"size" example:"734003200" doc:"Bytes"`
	BytesSent       int64                      `json:"bytes_sent" example:"0" doc:"Bytes sent by the current attempt"`
	PlaceInLine     *int                       `json:"place_in_line" example:"1" doc:"1: next; null unless QUEUED"`
	LastError       *string                    `json:"last_error" doc:"A code; null: no attempt has failed"`
	WaitsFor        *string                    `json:"waits_for" example:"next_attempt" doc:"slot: a free worker; next_attempt: an attempt has failed or its worker is silent; storage: to open the file; telegram: to accept it; operator: an operator has paused it; null: it has ended"`
	NextAttemptAt   *time.Time                 `json:"next_attempt_at" example:"2026-03-01T12:00:04Z" doc:"When the next attempt starts, if it waits for one; null: as soon as a worker is free"`
	DeadlineAt      *time.Time                 `json:"deadline_at" example:"2026-03-01T13:00:00Z" doc:"When it times out: the delivery, while no worker claims it; the attempt, while a worker has it. null: it has ended, or waits without a limit"`
	Source          string                     `json:"source" enum:"bot,api" doc:"Interface that created it"`
	MessageID       *string                    `json:"message_id" doc:"Telegram message that contains the file"`
	CancelRequested bool                       `json:"cancel_requested" doc:"Cancellation was requested; a stream stops within one heartbeat"`
	AllowedActions  []lifecycle.DeliveryAction `json:"allowed_actions" example:"[\"cancel\"]" doc:"Actions allowed to you now"`
	WorkflowID      string                     `json:"workflow_id" example:"delivery/9f86d081…" doc:"Workflow ID in Temporal"`
	CreatedAt       time.Time                  `json:"created_at" example:"2026-03-01T12:00:00Z"`
	UpdatedAt       time.Time                  `json:"updated_at" example:"2026-03-01T12:00:00Z"`
}

// Ended reports whether the delivery's state is final.
func (d Delivery) Ended() bool { return lifecycle.Delivery.Terminal(d.State) }
