package lifecycle

import (
	"fmt"
	"time"

	"stagecoach/internal/fault"
)

// DeliveryView is the answer of the state query.
type DeliveryView struct {
	StateView
	Attempt       int        `json:"attempt"` // failed attempts, of three
	LastError     fault.Code `json:"last_error,omitempty"`
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
}

// DeliveryExecution is the input of one execution of the activity: a job, and the number of failed attempts in earlier
// executions.
type DeliveryExecution struct {
	JobID int64 `json:"job_id"`
	Used  int   `json:"used,omitempty"`
}

// DeliveryEnd is an end of a job other than by delivery: Action is fail, cancel or expire, Reason a fault code. Action
// acknowledge is for a job known to be delivered although the record does not say so.
type DeliveryEnd struct {
	JobID  int64          `json:"job_id"`
	Action DeliveryAction `json:"action"`
	Reason fault.Code     `json:"reason"`

	Message int64 `json:"message,omitempty"` // for acknowledge: Telegram's receipt; 0: unknown

	// Lost means that the last attempt sent no heartbeat. A frozen worker takes attempts and begins none: if fewer
	// attempts have failed than were made, the job does not end, but returns to the queue.
	Lost bool `json:"lost,omitempty"`
}

// DeliveryOutcome is a job's recorded end, and the answer of the update; QUEUED is no end.
type DeliveryOutcome struct {
	State  DeliveryState `json:"state"`
	Reason fault.Code    `json:"reason,omitempty"`
	Failed int           `json:"failed,omitempty"` // attempts
	Sent   int64         `json:"sent,omitempty"`   // bytes
	At     time.Time     `json:"at,omitzero"`      // zero: an attempt has written the end
}

// DeliveryUpdates lists the actions sent as updates.
var DeliveryUpdates = []DeliveryAction{DeliveryActionCancel}

// DeliveryInput is the input of an update.
type DeliveryInput struct {
	Actor int64 `json:"actor,omitempty"` // a user id; 0: an operator using the temporal CLI
}

// DeliveryCancel is a request to cancel a job. It is decided once.
type DeliveryCancel struct {
	JobID     int64  `json:"job_id"`
	Actor     int64  `json:"actor,omitempty"`      // 0: an operator, or the system
	RequestID string `json:"request_id,omitempty"` // of the update; empty: not a request
}

// DeliveryTitle is the title of a job's workflow for operators.
func DeliveryTitle(jobID int64) string { return fmt.Sprintf("Delivery %d", jobID) }

// DeliveryRequest requests an action on a delivery.
type DeliveryRequest = Request[DeliveryState, DeliveryAction]
