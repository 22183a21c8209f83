package lifecycle

import (
	"cmp"
	"slices"

	"stagecoach/internal/fault"
)

// TaskOption is an action that people ask for, and what a caller would get for it now.
type TaskOption struct {
	Action         TaskAction
	To             TaskState    // the status that it leads to
	Refusal        *fault.Error // nil: it is allowed
	ChangesNothing bool         // it is allowed, because the caller has the task already
	OnlyFor        []Role       // who may, when the caller is none of them
}

// Options lists every action of the table that people ask for, in the table's order, each with what DecideTask says to
// a caller who sees the task, writes a comment and names the current submission.
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

// onlyFor lists the people who may take an action now; none when the caller is one of them, or when nobody may.
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

// TaskWaitsFor is what a task waits for; empty: nothing. blocked: it cannot begin before other tasks are DONE.
func TaskWaitsFor(state TaskState, assigned, blocked bool) string {
	switch {
	case state == TaskNew && blocked:
		return WaitsForBlockers
	case state == TaskNew && !assigned:
		return WaitsForClaim
	case state == TaskNew, state == TaskInProgress, state == TaskBlocked:
		return WaitsForAssignee
	case state == TaskStuck:
		return WaitsForTakeover
	default:
		return ""
	}
}
