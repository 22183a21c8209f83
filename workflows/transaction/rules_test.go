package transaction

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// allowed is the lifecycle written down by hand, one line per step: state, action, state that it leads to, then who.
// Whatever is not here is refused.
var allowed = map[string][]lifecycle.Role{
	" detect pending":               {lifecycle.System},
	"pending lock processing":       {lifecycle.System},
	"processing finish processed":   {lifecycle.System},
	"processing fail failed":        {lifecycle.System},
	"processing review processing":  {lifecycle.System},
	"failed retry processing":       {lifecycle.Admin, lifecycle.System},
	"processing resolve processed":  {lifecycle.Admin},
	"processing resolve failed":     {lifecycle.Admin},
	"processing resolve processing": {lifecycle.Admin},
	"processed resolve processed":   {lifecycle.Admin},
	"failed resolve failed":         {lifecycle.Admin},
	"failed write_off failed":       {lifecycle.Admin},
}

// TestEveryCase asks the table about every state × action × target × role × set of facts.
func TestEveryCase(t *testing.T) {
	t.Parallel()
	states := append([]store.TransactionStatus{""}, store.TransactionStatuses...)
	cases := 0
	for _, from := range states {
		for _, action := range []store.TransactionAction{"detect", "lock", "finish", "fail", "retry", "review", "resolve", "write_off", "no_such_action"} {
			for _, to := range store.TransactionStatuses {
				for _, role := range []lifecycle.Role{lifecycle.System, lifecycle.Admin, lifecycle.Owner, "stranger"} {
					for _, facts := range allFacts() {
						cases++
						rule, err := Rules.Decide(from, request{Action: action, To: to, Roles: []lifecycle.Role{role}}, facts)
						want := expected(from, action, to, role, facts)
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

func expected(from store.TransactionStatus, action store.TransactionAction, to store.TransactionStatus, role lifecycle.Role, f Facts) fault.Code {
	who, ok := allowed[fmt.Sprintf("%s %s %s", from, action, to)]
	switch {
	case !ok:
		return fault.InvalidTransition
	case !slices.Contains(who, role):
		return fault.InsufficientAccess
	case (action == "finish" || action == "fail") && f.NeedsReview:
		return fault.InvalidTransition
	case action == "finish" && !(f.Paid && f.Kept):
		return fault.PaymentUndecided
	case action == "retry" && f.Class == store.NonRetryable, action == "resolve" && !f.NeedsReview, action == "write_off" && !f.Owed:
		return fault.InvalidTransition
	case action == "resolve" && from == "processing" && to == "processing" && !f.Disputed:
		return fault.InvalidTransition
	case (action == "fail" || action == "retry") && (f.Signed || f.Paid), action == "resolve" && f.Signed:
		return fault.PaymentUndecided
	case action == "resolve" && from == "processing" && to == "processed" && !f.Paid:
		return fault.InvalidTransition
	default:
		return ""
	}
}

func allFacts() (all []Facts) {
	for _, class := range []store.ErrorClass{"", store.Retryable, store.NonRetryable, store.UnknownError} {
		for bits := range 64 {
			all = append(all, Facts{Class: class, NeedsReview: bits&1 > 0, Signed: bits&2 > 0, Paid: bits&4 > 0, Kept: bits&8 > 0, Owed: bits&16 > 0, Disputed: bits&32 > 0})
		}
	}
	return all
}

// TestStages makes sure that every state is explained, and that nothing leads from a final one to another.
func TestStages(t *testing.T) {
	t.Parallel()
	for i, state := range store.TransactionStatuses {
		if stage := Rules.Stages[i]; stage.State != state || stage.Means == "" {
			t.Errorf("%s: %+v", state, stage)
		}
	}
	for _, rule := range Rules.Rules {
		for _, from := range rule.From {
			if Rules.Terminal(from) && rule.To != from {
				t.Errorf("%s leads from %s to %s", rule.Action, from, rule.To)
			}
		}
	}
}

// TestMarkdown looks at what goes into the documentation.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	text := Rules.Diagram() + Rules.Markdown()
	for _, want := range []string{"processing --> failed: fail", "processed --> [*]", "failed --> processing: retry", "`needs_review`"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

// TestRowFacts makes sure that doors never hide what the workflow would let through.
func TestRowFacts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		row  store.Transaction
		want string
	}{
		{store.Transaction{Status: "pending"}, "[] []"},
		{store.Transaction{Status: "processing"}, "[] []"},
		{store.Transaction{Status: "processing", NeedsReview: true}, "[resolve] [processed failed]"},
		{store.Transaction{Status: "processing", NeedsReview: true, ReviewReason: store.ReviewDisputed}, "[resolve] [processed failed processing]"},
		{store.Transaction{Status: "processed"}, "[] []"},
		{store.Transaction{Status: "processed", NeedsReview: true}, "[resolve] [processed]"},
		{store.Transaction{Status: "failed", ErrorClass: store.Retryable}, "[retry] []"},
		{store.Transaction{Status: "failed", ErrorClass: store.UnknownError}, "[retry] []"},
		{store.Transaction{Status: "failed", ErrorClass: store.NonRetryable}, "[] []"},
		{store.Transaction{Status: "failed", ErrorClass: store.NonRetryable, NeedsReview: true}, "[resolve] [failed]"},
		{store.Transaction{Status: "failed", ErrorClass: store.NonRetryable, RefundDueNano: 1}, "[write_off] []"},
	} {
		if got := fmt.Sprint(Actions(c.row), Outcomes(c.row)); got != c.want {
			t.Errorf("%+v: %s, want %s", c.row, got, c.want)
		}
	}
}
