package server

import (
	"time"

	"stagecoach/internal/fault"
)

// confirmedFor is how long after a confirmation of identity a session may call operations that require one.
const confirmedFor = 5 * time.Minute

// Confirmed reports whether a session's person has confirmed their identity recently. A token does so with each
// request.
func (p Principal) Confirmed() bool {
	return p.Session == nil || time.Since(p.Session.ConfirmedAt) <= confirmedFor
}

// confirm refuses an operation that requires a confirmed identity to a session without a recent one: it may be stolen.
func (p Principal) confirm(op Operation) error {
	if !op.Confirms || p.Confirmed() {
		return nil
	}
	return fault.New(fault.ConfirmationRequired, "confirm that it is you at /confirm, then try again")
}
