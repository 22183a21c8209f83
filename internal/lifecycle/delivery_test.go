package lifecycle

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// deliveryAllowed is the lifecycle written down by hand, one line per step: state, action, who, then the state it leads
// to. Whatever is not here is refused.
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

// TestDeliveryEveryCase asks the table about every state × action × role × number of failed attempts × status of the
// user.
func TestDeliveryEveryCase(t *testing.T) {
	t.Parallel()
	states := append([]DeliveryState{""}, deliveryStates...)
	actions := []DeliveryAction{"no_such_action"}
	for _, rule := range Delivery.Rules {
		if !slices.Contains(actions, rule.Action) {
			actions = append(actions, rule.Action)
		}
	}

	cases := 0
	for _, state := range states {
		for _, action := range actions {
			for _, role := range []Role{Owner, Admin, System, "stranger"} {
				for attempt := range 4 {
					for _, status := range []string{"ACTIVE", "PENDING", "BLOCKED"} {
						cases++
						want, code := deliveryExpected(state, action, role, attempt, status)
						rule, err := Delivery.Decide(state, Request[DeliveryState, DeliveryAction]{
							Action: action, Roles: []Role{role},
						}, DeliveryFacts{Attempt: attempt, UserActive: status == "ACTIVE"})
						if string(rule.To) != want || fault.CodeOf(err) != code {
							t.Errorf("%s %s by %s, attempt %d, user %s: got %q, %v; want %q, %q",
								state, action, role, attempt, status, rule.To, err, want, code)
						}
					}
				}
			}
		}
	}

	t.Logf("%d cases", cases)
}

func deliveryExpected(
	state DeliveryState, action DeliveryAction, role Role, attempt int, status string,
) (string, fault.Code) {
	to, ok := deliveryAllowed[fmt.Sprintf("%s %s %s", state, action, role)]
	if !ok {
		for _, other := range []Role{Owner, Admin, System} {
			if _, possible := deliveryAllowed[fmt.Sprintf("%s %s %s", state, action, other)]; possible {
				return "", fault.InsufficientAccess
			}
		}
		return "", fault.InvalidTransition
	}

	switch {
	case action == "start_download" && attempt >= 3:
		return "", fault.TooManyAttempts
	case (action == "start_download" || action == "enqueue") && status != "ACTIVE":
		return "", fault.UserNotActive
	}

	return to, ""
}

// TestDeliveryTerminalStatesAreFrozen makes sure that nothing at all leads out of an end.
func TestDeliveryTerminalStatesAreFrozen(t *testing.T) {
	t.Parallel()
	everybody := []Role{Owner, Admin, System}
	for _, state := range []DeliveryState{DeliveryDelivered, DeliveryFailed, DeliveryCancelled, DeliveryExpired} {
		if !Delivery.Terminal(state) {
			t.Errorf("%s is not terminal", state)
		}
		if actions := Delivery.Actions(state, everybody, DeliveryFacts{UserActive: true}); len(actions) > 0 {
			t.Errorf("%s still allows %v", state, actions)
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
