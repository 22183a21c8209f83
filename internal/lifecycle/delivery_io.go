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

// DeliveryEnd says how a job ends other than by delivery: Action is fail, cancel or expire, Reason a fault code. Action
// acknowledge is for a job that is known to be delivered although the record does not say so.
type DeliveryEnd struct {
	JobID  int64          `json:"job_id"`
	Action DeliveryAction `json:"action"`
	Reason fault.Code     `json:"reason"`
}

// DeliveryOutcome is a job's end as the record has it.
type DeliveryOutcome struct {
	State  DeliveryState `json:"state"`
	Reason fault.Code    `json:"reason,omitempty"`
}

// DeliveryTitle names a job's workflow for operators.
func DeliveryTitle(jobID int64) string { return fmt.Sprintf("Delivery %d", jobID) }

// DeliveryRequest asks for an action of a delivery.
type DeliveryRequest = Request[DeliveryState, DeliveryAction]
