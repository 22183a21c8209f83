package lifecycle

import (
	"slices"
	"testing"

	"stagecoach/internal/fault"
)

// TestTaskOptions compares the options of everyone who can see a task, in every state, with the result of a request and
// with the lists of allowed actions and states.
func TestTaskOptions(t *testing.T) {
	t.Parallel()
	for _, state := range TaskStates {
		for _, holder := range []string{"", "assignee", "creator"} {
			for who, caller := range people {
				for bits := range 16 {
					facts := TaskFacts{State: state, CreatorID: creatorID, Public: bits&1 > 0, ReviewMissing: bits&4 > 0}
					if holder != "" {
						id := people[holder].ID
						facts.AssigneeID = &id
					}

					if bits&2 > 0 {
						facts.OpenBlockers = []int64{7}
					}

					if bits&8 > 0 {
						facts.Submission = 9
					}

					if !caller.System && facts.VisibleTo(caller) {
						checkOptions(t, who, facts, caller)
					}
				}
			}
		}
	}
}

func checkOptions(t *testing.T, who string, facts TaskFacts, caller TaskCaller) {
	t.Helper()
	var actions []TaskAction
	var targets []TaskState
	options := facts.Options(caller)

	for _, option := range options {
		ask := TaskAsk{Action: option.Action, Comment: "because", Caller: caller, Submission: facts.Submission}
		if option.Action == TaskActionStatus {
			ask.To = option.To
		}

		step, held, err := DecideTask(facts, ask)
		if fault.CodeOf(err) != fault.CodeOf(asError(option.Refusal)) || held != option.ChangesNothing || err == nil && step.To != option.To {
			t.Errorf("%s of %+v: %+v, but a request gets %+v, %v", who, facts, option, step, err)
		}

		denied := option.Refusal != nil && slices.Contains([]fault.Code{
			fault.InsufficientAccess, fault.CannotEscalateOwn, fault.CannotTakeover,
		}, option.Refusal.Code)

		if len(option.OnlyFor) > 0 && option.Refusal == nil {
			t.Errorf("%s of %+v: allowed, and only for others: %+v", who, facts, option)
		}
		if denied && len(option.OnlyFor) == 0 && (option.Action != TaskActionClaim || facts.Public) {
			t.Errorf("%s of %+v: refused to this caller, but it is for nobody else: %+v", who, facts, option)
		}

		if option.Refusal == nil && !option.ChangesNothing {
			actions = append(actions, option.Action)
			if option.Action == TaskActionStatus {
				targets = append(targets, option.To)
			}
		}
	}

	slices.Sort(actions)
	allowed := facts.AllowedActions(caller)
	slices.Sort(allowed)
	if !slices.Equal(slices.Compact(actions), allowed) {
		t.Errorf("%s of %+v: the options allow %v, the actions are %v", who, facts, actions, allowed)
	}

	may := facts.AllowedTargets(caller)
	slices.Sort(targets)
	slices.Sort(may)
	if !slices.Equal(targets, may) {
		t.Errorf("%s of %+v: the options allow %v, the states are %v", who, facts, targets, may)
	}
	if len(options) != 12 {
		t.Errorf("%d options", len(options))
	}
}

// asError keeps a missing refusal from becoming an error that contains nil.
func asError(refusal *fault.Error) error {
	if refusal == nil {
		return nil
	}
	return refusal
}
