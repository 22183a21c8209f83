package lifecycle

import (
	"fmt"
	"stagecoach/internal/fault"
	"time"
)

// DeliveryView is what the state query answers.
type DeliveryView struct {
	StateView
	Attempt       int        `json:"attempt"` // attempts that have failed, of three
	LastError     fault.Code `json:"last_error,omitempty"`
	NextAttemptAt *time.Time `json:"next_attempt_at,omitempty"`
}

// DeliveryTitle names a job's workflow for operators.
func DeliveryTitle(jobID int64) string { return fmt.Sprintf("Delivery %d", jobID) }
