package lifecycle

import (
	"cmp"
	"slices"

	"stagecoach/internal/fault"
)

// TaskOption is an action that people request, with the result that a caller would currently get.
type TaskOption struct {
	Action         TaskAction
	To             TaskState    // the status to which it leads
	Refusal        *fault.Error // nil: it is allowed
	ChangesNothing bool         // it is allowed, because the caller already has the task
	OnlyFor        []Role       // who may, if the caller is none of them
}

// Options lists every action of the table that people request, in the table's order, each with DecideTask's answer to a
// caller who can see the task, writes a comment and names the current submission.
func (f TaskFacts) Options(c TaskCaller) (options []TaskOption) {
	for _, rule := range Task.Rules {
		rule.To = cmp.Or(rule.To, f.State)
		known := slices.ContainsFunc(options, func(o TaskOption) bool { return o.Action == rule.Action && o.To == rule.To })
		if known || !slices.Contains(TaskUpdates, rule.Action) {
			continue
		}

		ask := TaskAsk{Action: rule.Action, Comment: anyComment, Caller: c, Submission: f.Submission}
		if rule.Action == TaskActionStatus {
			ask.To = rule.To
		}

		_, held, err := DecideTask(f, ask)
		options = append(options, TaskOption{
			Action: rule.Action, To: rule.To, Refusal: fault.As(err), ChangesNothing: held,
			OnlyFor: f.onlyFor(rule.Action, rule.To, c),
		})
	}

	return options
}

// onlyFor lists the people who may currently take an action; none if the caller is one of them, or if nobody may.
func (f TaskFacts) onlyFor(action TaskAction, to TaskState, c TaskCaller) (people []Role) {
	own := f.RolesOf(c)
	for _, rule := range Task.rulesAt(f.State) {
		if rule.Action != action || rule.To != to {
			continue
		}
		if rule.isFor(own) {
			return nil
		}

		for _, role := range rule.Who {
			if role != System {
				people = append(people, role)
			}
		}
	}

	return people
}

// TaskWaitsFor is what a task waits for, or empty. blocked: it cannot begin before other tasks are DONE. inReview: it
// needs an approval, and its result has not been reviewed.
func TaskWaitsFor(state TaskState, assigned, blocked, inReview bool) string {
	switch {
	case Task.Terminal(state):
		return ""
	case blocked:
		return WaitsForBlockers
	case state == TaskStuck:
		return WaitsForTakeover
	case state == TaskInProgress && inReview:
		return WaitsForReview
	case state == TaskNew && !assigned:
		return WaitsForClaim
	default:
		return WaitsForAssignee
	}
}
