package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// transactionAllowed is the lifecycle written out by hand, one line per step: state, action, resulting state, then
// role. Everything else is refused.
var transactionAllowed = map[string][]Role{
	" detect pending":               {System},
	"pending lock processing":       {System},
	"pending review processing":     {Admin},
	"processing buy processing":     {System},
	"failed refund failed":          {System},
	"processing finish processed":   {System},
	"processing fail failed":        {System},
	"processing review processing":  {System, Admin},
	"processed review processed":    {System},
	"failed review failed":          {System},
	"failed retry processing":       {Admin, System},
	"processing resolve processed":  {Admin},
	"processing resolve failed":     {Admin},
	"processing resolve processing": {Admin},
	"processed resolve processed":   {Admin},
	"failed resolve failed":         {Admin},
	"failed write_off failed":       {Admin},
}

// TestTransactionEveryCase checks the table for every state × action × target × role × set of facts.
func TestTransactionEveryCase(t *testing.T) {
	t.Parallel()
	states := append([]TransactionState{""}, transactionStates...)
	cases := 0
	for _, from := range states {
		for _, action := range []TransactionAction{"detect", "lock", "finish", "fail", "retry", "review", "resolve", "write_off", "buy", "refund", "no_such_action"} {
			for _, to := range transactionStates {
				for _, role := range []Role{System, Admin, Owner, "stranger"} {
					for _, facts := range transactionAllFacts() {
						cases++
						rule, err := Transaction.Decide(from, TransactionRequest{Action: action, To: to, Roles: []Role{role}}, facts)
						want := transactionExpected(from, action, to, role, facts)
						if fault.CodeOf(err) != want || err == nil && rule.To != to {
							t.Fatalf("%s %s %s by %s with %+v: got %q, %v; want %q", from, action, to, role, facts, rule.To, err, want)
						}
					}
				}
			}
		}
	}

	t.Logf("%d cases", cases)
}

func transactionExpected(
	from TransactionState, action TransactionAction, to TransactionState, role Role, f TransactionFacts,
) fault.Code {
	who, ok := transactionAllowed[fmt.Sprintf("%s %s %s", from, action, to)]
	switch {
	case !ok:
		return fault.InvalidTransition
	case !slices.Contains(who, role):
		return fault.InsufficientAccess
	case action == "review" && role == Admin && f.NeedsReview:
		return fault.InvalidTransition
	case action == "finish" && !f.Signed && !f.Paid:
		return fault.InvalidTransition
	case action == "finish" && !(f.Paid && f.Kept), action == "fail" && (f.Signed || f.Paid):
		return fault.PaymentUndecided
	case (action == "finish" || action == "fail") && f.NeedsReview:
		return fault.InvalidTransition
	case (action == "buy" || action == "refund") && f.NeedsReview, action == "buy" && !f.Priced:
		return fault.InvalidTransition
	case action == "refund" && !f.Owed, action == "retry" && role == System && !f.Planned:
		return fault.InvalidTransition
	case (action == "buy" || action == "refund") && (f.Signed || f.Paid):
		return fault.PaymentUndecided
	case action == "retry" && f.Class == NonRetryable, action == "resolve" && !f.NeedsReview, action == "write_off" && !f.Owed:
		return fault.InvalidTransition
	case action == "resolve" && from == "processing" && to == "processing" && !f.MayGoOn:
		return fault.InvalidTransition
	case action == "retry" && (f.Signed || f.Paid), action == "resolve" && f.Signed:
		return fault.PaymentUndecided
	case action == "resolve" && from == "processing" && to == "processed" && !f.Paid:
		return fault.InvalidTransition
	default:
		return ""
	}
}

func transactionAllFacts() (all []TransactionFacts) {
	for _, class := range []ErrorClass{"", Retryable, NonRetryable, UnknownError} {
		for bits := range 256 {
			all = append(
				all,
				TransactionFacts{
					Class: class, NeedsReview: bits&1 > 0, Signed: bits&2 > 0, Paid: bits&4 > 0, Kept: bits&8 > 0, Owed: bits&16 > 0,
					MayGoOn: bits&32 > 0, Priced: bits&64 > 0, Planned: bits&128 > 0,
				},
			)
		}
	}

	return all
}
