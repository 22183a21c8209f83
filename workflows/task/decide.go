package task

import (
	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// Caller is who wants something of a task.
type Caller struct {
	ID     int64
	Member bool // of the task's workspace
	Admin  bool // counts as a member of every workspace
	System bool // the program itself
}

// Ask is what a caller wants. To is for the action status only.
type Ask struct {
	Action  store.TaskAction
	To      store.TaskStatus
	Comment string
	Caller  Caller
}

type (
	rule    = lifecycle.Rule[store.TaskStatus, store.TaskAction, Facts]
	request = lifecycle.Request[store.TaskStatus, store.TaskAction]
)

// Decide gives the rule that lets an ask through; held says that it changes nothing: the caller claims what they work on already.
// Refusals come in a fixed order: not found (for whom the task is invisible), lost claim, then as the table has it.
func Decide(state store.TaskState, ask Ask, openBlockers []int64) (step rule, held bool, err error) {
	if !sees(state, ask.Caller) {
		return rule{}, false, fault.New(fault.TaskNotFound, "there is no such task")
	}
	if ask.Action == store.TaskActionClaim {
		if lost := lostClaim(state, ask.Caller.ID); lost != nil {
			return rule{}, false, lost
		}
	}
	facts := factsOf(state, ask.Comment, openBlockers)
	wanted := request{Action: ask.Action, To: ask.To, Roles: rolesOf(state, ask.Caller)}
	step, err = Rules.Decide(state.Status, wanted, facts)
	switch refusal := fault.As(err); {
	case refusal == nil:
	case refusal.Code == fault.UnresolvedBlockers:
		err = refusal.With("blockers", openBlockers)
	case refusal.Code == fault.InvalidTransition: // what would be allowed does not depend on a comment that is missing
		facts.Comment = anyComment
		step, err = Rules.Decide(state.Status, wanted, facts)
	}
	return step, err == nil && step.Event == "", err
}

// lostClaim is the refusal of a claim on a task that somebody else holds or held to its end.
func lostClaim(state store.TaskState, callerID int64) error {
	if state.AssigneeID == nil || state.HeldBy(callerID) {
		return nil
	}
	return fault.New(fault.TaskAlreadyClaimed, "somebody else has taken this task").With("holder", *state.AssigneeID)
}

// Actions lists what a caller who sees the task may do with it now.
func Actions(user store.User, task store.Task) []store.TaskAction {
	return Rules.Actions(task.Status, rolesOf(task.TaskState, callerOf(user)), factsOf(task.TaskState, anyComment, task.OpenBlockers()))
}

// Targets lists the statuses that a caller who sees the task may give it now.
func Targets(user store.User, task store.Task) []store.TaskStatus {
	return Rules.Targets(task.Status, store.TaskActionStatus, rolesOf(task.TaskState, callerOf(user)), factsOf(task.TaskState, anyComment, task.OpenBlockers()))
}

// anyComment stands for the comment that will come with the action.
const anyComment = "…"

// callerOf is a user to whom the record has shown the task.
func callerOf(user store.User) Caller {
	return Caller{ID: user.ID, Member: true, Admin: user.IsAdmin()}
}

func sees(state store.TaskState, c Caller) bool {
	return c.System || c.Admin || state.CreatorID == c.ID || state.HeldBy(c.ID) || c.Member && state.Visibility == store.TaskPublic
}

func rolesOf(state store.TaskState, c Caller) []lifecycle.Role {
	if c.System {
		return system
	}
	roles := []lifecycle.Role{Anyone}
	if state.CreatorID == c.ID {
		roles = append(roles, Creator)
	}
	if state.HeldBy(c.ID) {
		return append(roles, Assignee)
	}
	return append(roles, Others)
}

func factsOf(state store.TaskState, comment string, openBlockers []int64) Facts {
	return Facts{
		Assigned: state.AssigneeID != nil, Public: state.Visibility == store.TaskPublic, Comment: comment, OpenBlockers: openBlockers,
	}
}

// assigneeAfter says whose the task is after a step.
func assigneeAfter(state store.TaskState, step rule, callerID int64) *int64 {
	switch {
	case step.Action == store.TaskActionClaim, step.Action == store.TaskActionTakeover:
		return &callerID
	case step.To == store.TaskNew:
		return nil
	default:
		return state.AssigneeID
	}
}
