package transaction

import (
	"slices"
	"unicode/utf8"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
)

// Input is what an update brings. Outcome is for resolve only. An operator at the temporal CLI may leave out the actor.
type Input struct {
	Actor   int64                   `json:"actor,omitempty"` // a user id
	Outcome store.TransactionStatus `json:"outcome,omitempty"`
	Comment string                  `json:"comment,omitempty"`
}

// MaxComment is how many characters a comment may have.
const MaxComment = 4000

// Updates lists the actions that come as updates.
var Updates = []store.TransactionAction{store.TransactionActionRetry, store.TransactionActionResolve}

func checkInput(action store.TransactionAction, in Input) error {
	outcomes := []store.TransactionStatus{store.TransactionProcessed, store.TransactionFailed}
	switch {
	case in.Actor < 0:
		return fault.New(fault.Validation, "actor is the id of a user").WithField("actor")
	case action == store.TransactionActionResolve && !slices.Contains(outcomes, in.Outcome):
		return fault.New(fault.Validation, "outcome must be one of %v", outcomes).WithField("outcome")
	case utf8.RuneCountInString(in.Comment) > MaxComment:
		return fault.New(fault.Validation, "a comment has at most %d characters", MaxComment).WithField("comment")
	default:
		return nil
	}
}
