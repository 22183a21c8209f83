package lifecycle

import (
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"stagecoach/internal/fault"
)

var TransactionHashPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)

// TransactionInput is the input of an update. Outcome is for resolve only. An operator using the temporal CLI may omit
// the actor.
type TransactionInput struct {
	Actor   int64            `json:"actor,omitempty"`   // a user id
	Attempt int              `json:"attempt,omitempty"` // that the actor has seen; 0: the transaction's current one
	Outcome TransactionState `json:"outcome,omitempty"`
	Comment string           `json:"-"`                 // stored in the record under the request's ID, not for Temporal
	Payment string           `json:"payment,omitempty"` // for resolve processed after payment_lost: its hash on the chain
}

// TransactionUpdates lists the actions sent as updates.
var TransactionUpdates = []TransactionAction{
	TransactionActionRetry, TransactionActionResolve, TransactionActionReview, TransactionActionWriteOff,
}

func CheckTransactionInput(action TransactionAction, in TransactionInput) error {
	outcomes := TransactionOutcomes
	switch {
	case in.Actor < 0:
		return fault.New(fault.Validation, "actor is the id of a user").WithField("actor")
	case in.Attempt < 0:
		return fault.New(fault.Validation, "attempts are counted from 1").WithField("attempt")
	case action == TransactionActionResolve && !slices.Contains(outcomes, in.Outcome):
		return fault.New(fault.Validation, "outcome must be one of %v", outcomes).WithField("outcome")
	case in.Payment != "" && !TransactionHashPattern.MatchString(in.Payment):
		return fault.New(fault.Validation, "payment is a hash: 64 hex digits").WithField("payment")
	case utf8.RuneCountInString(in.Comment) > MaxComment:
		return fault.New(fault.Validation, "a comment has at most %d characters", MaxComment).WithField("comment")
	default:
		return nil
	}
}

// TransactionView is the answer of the state query and the updates.
type TransactionView struct {
	StateView
	Version     int64  `json:"version"` // of the row
	Attempt     int    `json:"attempt"`
	Error       string `json:"error,omitempty"`
	NeedsReview bool   `json:"needs_review,omitempty"`
}

// TransactionTitle is the title of a transaction's workflow for operators.
func TransactionTitle(hash string) string { return fmt.Sprintf("Transaction %.8s", hash) }
