package delivery

import (
	"fmt"
	"slices"
	"testing"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// allowed is the lifecycle written down by hand, one line per step: state, action, who, then the state it leads to.
// Whatever is not here is refused.
var allowed = map[string]string{
	" enqueue owner": "QUEUED",

	"QUEUED claim system":           "CLAIMED",
	"CLAIMED start_download system": "DOWNLOADING",
	"DOWNLOADING stream system":     "STREAMING",
	"STREAMING acknowledge system":  "DELIVERED",
	"CLAIMED requeue system":        "QUEUED",
	"DOWNLOADING requeue system":    "QUEUED",
	"STREAMING requeue system":      "QUEUED",
	"CLAIMED hand_over system":      "QUEUED",
	"DOWNLOADING hand_over system":  "QUEUED",
	"STREAMING hand_over system":    "QUEUED",
	"QUEUED fail system":            "FAILED",
	"CLAIMED fail system":           "FAILED",
	"DOWNLOADING fail system":       "FAILED",
	"STREAMING fail system":         "FAILED",
	"QUEUED expire system":          "EXPIRED",
	"QUEUED cancel owner":           "CANCELLED",
	"QUEUED cancel admin":           "CANCELLED",
	"QUEUED cancel system":          "CANCELLED",
	"CLAIMED cancel owner":          "CANCELLED",
	"CLAIMED cancel admin":          "CANCELLED",
	"CLAIMED cancel system":         "CANCELLED",
	"DOWNLOADING cancel owner":      "CANCELLED",
	"DOWNLOADING cancel admin":      "CANCELLED",
	"DOWNLOADING cancel system":     "CANCELLED",
	"STREAMING cancel owner":        "CANCELLED",
	"STREAMING cancel admin":        "CANCELLED",
	"STREAMING cancel system":       "CANCELLED",
}

// TestEveryCase asks the table about every state × action × role × number of failed tries × standing of the user.
func TestEveryCase(t *testing.T) {
	t.Parallel()
	states := append([]store.JobState{""}, store.JobStates...)
	actions := []store.JobAction{"no_such_action"}
	for _, rule := range Rules.Rules {
		if !slices.Contains(actions, rule.Action) {
			actions = append(actions, rule.Action)
		}
	}
	cases := 0
	for _, state := range states {
		for _, action := range actions {
			for _, role := range []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System, "stranger"} {
				for attempt := range 4 {
					for _, status := range []string{store.UserActive, store.UserPending, store.UserBlocked} {
						cases++
						want, code := expected(state, action, role, attempt, status)
						rule, err := Rules.Decide(state, lifecycle.Request[store.JobState, store.JobAction]{
							Action: action, Roles: []lifecycle.Role{role},
						}, store.Job{State: state, Attempt: attempt, UserStatus: status})
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

func expected(state store.JobState, action store.JobAction, role lifecycle.Role, attempt int, status string) (string, fault.Code) {
	to, ok := allowed[fmt.Sprintf("%s %s %s", state, action, role)]
	if !ok {
		for _, other := range []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System} {
			if _, possible := allowed[fmt.Sprintf("%s %s %s", state, action, other)]; possible {
				return "", fault.InsufficientAccess
			}
		}
		return "", fault.InvalidTransition
	}
	switch {
	case action == "start_download" && attempt >= 3:
		return "", fault.TooManyAttempts
	case action == "requeue" && attempt+1 >= 3: // the third failed try ends the job
		return "", fault.TooManyAttempts
	case (action == "start_download" || action == "enqueue") && status != "ACTIVE":
		return "", fault.UserNotActive
	}
	return to, ""
}

// TestTerminalStatesAreFrozen makes sure that nothing at all leads out of an end.
func TestTerminalStatesAreFrozen(t *testing.T) {
	t.Parallel()
	everybody := []lifecycle.Role{lifecycle.Owner, lifecycle.Admin, lifecycle.System}
	for _, state := range []store.JobState{store.JobDelivered, store.JobFailed, store.JobCancelled, store.JobExpired} {
		if !Rules.Terminal(state) {
			t.Errorf("%s is not terminal", state)
		}
		if actions := Rules.Actions(state, everybody, store.Job{UserStatus: store.UserActive}); len(actions) > 0 {
			t.Errorf("%s still allows %v", state, actions)
		}
	}
}

// TestRefusalNamesWhatIsPossible looks at what a caller is told of an impossible transition.
func TestRefusalNamesWhatIsPossible(t *testing.T) {
	t.Parallel()
	_, err := Rules.Decide(store.JobQueued, lifecycle.Request[store.JobState, store.JobAction]{
		Action: store.JobActionEnqueue, Roles: []lifecycle.Role{lifecycle.Owner},
	}, store.Job{UserStatus: store.UserActive})
	refusal := fault.As(err)
	if refusal == nil || refusal.Code != fault.InvalidTransition || refusal.Details["current"] != store.JobQueued ||
		!slices.Equal(refusal.Details["allowed"].([]store.JobAction), []store.JobAction{store.JobActionCancel}) {
		t.Errorf("got %+v", refusal)
	}
}

// TestEveryStateIsDocumented keeps the table's stages and the record's states the same.
func TestEveryStateIsDocumented(t *testing.T) {
	t.Parallel()
	var documented []store.JobState
	for _, stage := range Rules.Stages {
		documented = append(documented, stage.State)
		if stage.Means == "" || !stage.Terminal && stage.LeftBy == "" {
			t.Errorf("%s is not explained", stage.State)
		}
	}
	if !slices.Equal(documented, store.JobStates) {
		t.Errorf("documented %v, recorded %v", documented, store.JobStates)
	}
}
