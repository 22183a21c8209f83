package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// deliveryAllowed is the lifecycle written out by hand, one line per step: state, action, role, then the resulting
// state. Everything else is refused.
var deliveryAllowed = map[string]string{
	" enqueue owner": "QUEUED",

	"QUEUED claim system":               "CLAIMED",
	"CLAIMED start_download system":     "DOWNLOADING",
	"DOWNLOADING stream system":         "STREAMING",
	"STREAMING acknowledge system":      "DELIVERED",
	"QUEUED find_delivered system":      "DELIVERED",
	"CLAIMED find_delivered system":     "DELIVERED",
	"DOWNLOADING find_delivered system": "DELIVERED",
	"STREAMING find_delivered system":   "DELIVERED",
	"CLAIMED requeue system":            "QUEUED",
	"DOWNLOADING requeue system":        "QUEUED",
	"STREAMING requeue system":          "QUEUED",
	"CLAIMED hand_over system":          "QUEUED",
	"DOWNLOADING hand_over system":      "QUEUED",
	"STREAMING hand_over system":        "QUEUED",
	"QUEUED fail system":                "FAILED",
	"CLAIMED fail system":               "FAILED",
	"DOWNLOADING fail system":           "FAILED",
	"STREAMING fail system":             "FAILED",
	"QUEUED expire system":              "EXPIRED",
	"QUEUED cancel owner":               "CANCELLED",
	"QUEUED cancel admin":               "CANCELLED",
	"QUEUED cancel system":              "CANCELLED",
	"CLAIMED cancel owner":              "CANCELLED",
	"CLAIMED cancel admin":              "CANCELLED",
	"CLAIMED cancel system":             "CANCELLED",
	"DOWNLOADING cancel owner":          "CANCELLED",
	"DOWNLOADING cancel admin":          "CANCELLED",
	"DOWNLOADING cancel system":         "CANCELLED",
	"STREAMING cancel owner":            "CANCELLED",
	"STREAMING cancel admin":            "CANCELLED",
	"STREAMING cancel system":           "CANCELLED",
}

// TestDeliveryEveryCase checks the table for every number of failed attempts × status of the user.
func TestDeliveryEveryCase(t *testing.T) {
	t.Parallel()
	checkCases(t, Delivery, deliveryAllowed, deliveryAllFacts(), func(action DeliveryAction, f DeliveryFacts) fault.Code {
		switch {
		case action == "start_download" && f.Attempt >= 3:
			return fault.TooManyAttempts
		case (action == "start_download" || action == "enqueue") && !f.UserActive:
			return fault.UserNotActive
		}
		return ""
	})
}

// checkCases checks a table for every state × action × role × set of facts. Only the steps written out by hand are
// allowed; guard refuses some of them by the facts.
func checkCases[S, A ~string, F any](
	t *testing.T, table Table[S, A, F], allowed map[string]string, facts []F, guard func(action A, facts F) fault.Code,
) {
	t.Helper()
	states, actions, roles := []S{"", "no_such_state"}, []A{"no_such_action"}, []Role{Owner, Admin, System}
	for _, state := range table.States {
		states = append(states, state.State)
	}
	for _, rule := range table.Rules {
		actions = append(actions, rule.Action)
	}

	expected := func(state S, action A, role Role, f F) (to string, code fault.Code) {
		step := fmt.Sprintf("%s %s ", state, action)
		if to, may := allowed[step+string(role)]; may {
			if code = guard(action, f); code != "" {
				to = ""
			}
			return to, code
		}
		if slices.ContainsFunc(roles, func(other Role) bool { return allowed[step+string(other)] != "" }) {
			return "", fault.InsufficientAccess
		}
		return "", fault.InvalidTransition
	}

	for _, state := range states {
		for _, action := range actions {
			for _, role := range append(roles, "stranger") {
				for _, f := range facts {
					want, code := expected(state, action, role, f)
					rule, err := table.Decide(state, Request[S, A]{Action: action, Roles: []Role{role}}, f)
					if string(rule.To) != want || fault.CodeOf(err) != code {
						t.Errorf("%s %s by %s, %+v: got %q, %v; want %q, %q", state, action, role, f, rule.To, err, want, code)
					}
				}
			}
		}
	}
}

// TestDeliveryRefusalNamesWhatIsPossible checks the refusal of an impossible transition.
func TestDeliveryRefusalNamesWhatIsPossible(t *testing.T) {
	t.Parallel()
	_, err := Delivery.Decide(DeliveryQueued, Request[DeliveryState, DeliveryAction]{
		Action: DeliveryActionEnqueue, Roles: []Role{Owner},
	}, DeliveryFacts{UserActive: true})
	refusal := fault.As(err)
	if refusal == nil || refusal.Code != fault.InvalidTransition || refusal.Details["current"] != DeliveryQueued ||
		!slices.Equal(refusal.Details["allowed"].([]DeliveryAction), []DeliveryAction{DeliveryActionCancel}) {
		t.Errorf("got %+v", refusal)
	}
}
