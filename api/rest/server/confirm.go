package server

import (
	"time"

	"stagecoach/internal/fault"
)

// confirmedFor is how long a session may call operations that ask again, after its person has proved who they are.
const confirmedFor = 5 * time.Minute

// Confirmed says whether the person of a session has proved lately who they are. A token proves it with each request.
func (p Principal) Confirmed() bool {
	return p.Session == nil || time.Since(p.Session.ConfirmedAt) <= confirmedFor
}

// confirm refuses an operation that asks again who it is to a session that was not confirmed lately: it may be stolen.
func (p Principal) confirm(op Operation) error {
	if !op.Confirms || p.Confirmed() {
		return nil
	}
	return fault.New(fault.ConfirmationRequired, "prove once more who you are at /confirm, then do it again")
}
