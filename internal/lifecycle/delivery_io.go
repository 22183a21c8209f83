package lifecycle

import (
	"fmt"
	"time"

	"stagecoach/internal/fault"
)

// DeliveryView is the answer of the state query.
type DeliveryView struct {
	StateView
	Attempt       int        `json:"attempt"` // attempts that have failed, of three
	LastError     fault.Code `json:"last_error,omitempty"`
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
}

// DeliveryExecution is the input of one execution of the activity: a job, and how many tries have failed in the
// executions before.
type DeliveryExecution struct {
	JobID int64 `json:"job_id"`
	Used  int   `json:"used,omitempty"`
}

// DeliveryEnd says how a job ends other than by delivery: Action is fail, cancel or expire, Reason a fault code. Action
// acknowledge is for a job that is known to be delivered although the record does not say so.
type DeliveryEnd struct {
	JobID  int64          `json:"job_id"`
	Action DeliveryAction `json:"action"`
	Reason fault.Code     `json:"reason"`

	Message int64 `json:"message,omitempty"` // for acknowledge: Telegram's receipt; 0: unknown

	// Lost says that the last attempt has sent no heartbeat. A worker that is frozen takes attempts and begins none: where
	// fewer tries have failed than attempts, the job is not ended, and goes back into the queue.
	Lost bool `json:"lost,omitempty"`
}

// DeliveryOutcome is a job's end as the record has it; QUEUED is no end.
type DeliveryOutcome struct {
	State  DeliveryState `json:"state"`
	Reason fault.Code    `json:"reason,omitempty"`
	Failed int           `json:"failed,omitempty"` // tries, of a job that is QUEUED
}

// DeliveryTitle names a job's workflow for operators.
func DeliveryTitle(jobID int64) string { return fmt.Sprintf("Delivery %d", jobID) }

// DeliveryRequest asks for an action of a delivery.
type DeliveryRequest = Request[DeliveryState, DeliveryAction]
