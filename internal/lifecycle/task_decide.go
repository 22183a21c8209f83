package lifecycle

import (
	"stagecoach/internal/fault"
)

// TaskCaller is the caller of an action on a task.
type TaskCaller struct {
	ID     int64
	Member bool // of the task's workspace
	Admin  bool // counts as a member of every workspace
	System bool // the program itself
}

// TaskAsk is the action requested by a caller. To is for the action status only.
type TaskAsk struct {
	Action  TaskAction
	To      TaskState
	Comment string
	Caller  TaskCaller

	FencingToken int64 // of the claim under which the caller acts; 0: none named
	LeaseSeconds int64 // how long the caller may be silent after a claim; 0: forever
	Submission   int64 // for approve and reject: the one that the caller has seen
	Fresh        bool  // a claim by the assignee counts as lost, too: another request by the same user got the task
}

type (
	TaskRule    = Rule[TaskState, TaskAction, TaskFacts]
	TaskRequest = Request[TaskState, TaskAction]
)

// DecideTask returns the rule that allows an ask. held reports that it changes nothing, because the caller claims a
// task on which they are already working. Refusals come in a fixed order: not found (the task is invisible to the
// caller), lost lease, lost claim, then those of the table.
func DecideTask(facts TaskFacts, ask TaskAsk) (step TaskRule, held bool, err error) {
	if !facts.VisibleTo(ask.Caller) {
		return TaskRule{}, false, fault.New(fault.TaskNotFound, "there is no such task")
	}

	if ask.FencingToken != 0 && ask.FencingToken != facts.FencingToken {
		return TaskRule{}, false, LeaseLost()
	}
	if ask.Action == TaskActionClaim {
		if lost := facts.LostClaim(ask.Caller.ID); lost != nil {
			return TaskRule{}, false, lost
		}
		if ask.Fresh && facts.HeldBy(ask.Caller.ID) {
			return TaskRule{}, false, facts.taken()
		}
	}

	facts.Comment, facts.Named = ask.Comment, ask.Submission
	wanted := TaskRequest{Action: ask.Action, To: ask.To, Roles: facts.RolesOf(ask.Caller)}
	step, err = Task.Decide(facts.State, wanted, facts)

	switch refusal := fault.As(err); {
	case refusal == nil:
	case refusal.Code == fault.UnresolvedBlockers && len(facts.Cancelled) > 0:
		err = fault.New(refusal.Code, "a blocker was cancelled and will never be DONE: cancel this task, and create it again without that blocker").
			With("blockers", facts.OpenBlockers).With("cancelled", facts.Cancelled)
	case refusal.Code == fault.UnresolvedBlockers:
		err = refusal.With("blockers", facts.OpenBlockers)
	case refusal.Code == fault.SubmissionNotCurrent:
		err = refusal.With("submission", facts.submission())
	case refusal.Code == fault.InvalidTransition: // the allowed actions do not depend on a missing comment
		facts.Comment, facts.Named = anyComment, facts.Submission
		step, err = Task.Decide(facts.State, wanted, facts)
	}

	return step, err == nil && step.Event == "", err
}

// anyComment stands for the comment that comes with the action later.
const anyComment = "…"

// LostClaim returns the refusal of a claim on a task that another user holds or held to its end; nil: the claim is not
// lost.
func (f TaskFacts) LostClaim(callerID int64) error {
	if f.AssigneeID == nil || f.HeldBy(callerID) {
		return nil
	}
	return f.taken()
}

// taken is the refusal to claim an assigned task.
func (f TaskFacts) taken() *fault.Error {
	return fault.New(fault.TaskAlreadyClaimed, "somebody else has taken this task").With("holder", *f.AssigneeID)
}

// LeaseLost returns the refusal for a caller whose claim has expired.
func LeaseLost() *fault.Error {
	return fault.New(fault.LeaseLost, "this claim has expired, or the task was released or taken over")
}

// VisibleTo reports whether a caller may see the task.
func (f TaskFacts) VisibleTo(c TaskCaller) bool {
	return c.System || c.Admin || f.CreatorID == c.ID || f.HeldBy(c.ID) || c.Member && f.Public
}

// RolesOf returns all roles of a caller towards the task.
func (f TaskFacts) RolesOf(c TaskCaller) []Role {
	if c.System {
		return systemOnly
	}

	roles := []Role{Anyone}
	if f.CreatorID == c.ID {
		roles = append(roles, Creator)
	}

	if f.HeldBy(c.ID) {
		return append(roles, Assignee)
	}
	return append(roles, Others)
}

// AllowedActions lists the actions currently available to a caller that can see the task.
func (f TaskFacts) AllowedActions(c TaskCaller) []TaskAction {
	f.Comment, f.Named = anyComment, f.Submission
	return Task.Actions(f.State, f.RolesOf(c), f)
}

// AllowedTargets lists the states to which a caller that can see the task may currently move it.
func (f TaskFacts) AllowedTargets(c TaskCaller) []TaskState {
	f.Comment, f.Named = anyComment, f.Submission
	return Task.Targets(f.State, TaskActionStatus, f.RolesOf(c), f)
}

// AssigneeAfter returns the assignee after a caller's step; nil: none.
func (f TaskFacts) AssigneeAfter(step TaskRule, callerID int64) *int64 {
	switch {
	case step.Action == TaskActionClaim, step.Action == TaskActionTakeover:
		return &callerID
	case step.To == TaskNew && f.State != TaskNew:
		return nil
	default:
		return f.AssigneeID
	}
}
