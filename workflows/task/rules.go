package task

import (
	"strings"

	"stagecoach/internal/fault"
	"stagecoach/internal/store"
	"stagecoach/workflows/lifecycle"
)

// Roles of a task. A caller has all that apply.
const (
	Creator  lifecycle.Role = "creator"
	Assignee lifecycle.Role = "assignee"
	Anyone   lifecycle.Role = "anyone in the workspace"
	Others   lifecycle.Role = "anyone but the assignee"
)

// Facts are what the guards look at.
type Facts struct {
	Assigned     bool
	Public       bool
	Comment      string
	OpenBlockers []int64 // those that are not DONE
}

// Guards, and an action's from and who, as the table uses them.
var (
	unassigned = lifecycle.Guard[Facts]{Name: "no assignee", Code: fault.TaskAlreadyClaimed, Holds: func(f Facts) bool { return !f.Assigned }}
	public     = lifecycle.Guard[Facts]{Name: "the task is public", Code: fault.InsufficientAccess, Holds: func(f Facts) bool { return f.Public }}
	commented  = lifecycle.Guard[Facts]{Name: "a comment", Code: fault.CommentRequired, Holds: func(f Facts) bool { return strings.TrimSpace(f.Comment) != "" }}
	unblocked  = lifecycle.Guard[Facts]{Name: "every blocker is DONE", Code: fault.UnresolvedBlockers, Holds: func(f Facts) bool { return len(f.OpenBlockers) == 0 }}

	open  = []lifecycle.Guard[Facts]{unassigned, public, commented, unblocked}
	start = []lifecycle.Guard[Facts]{commented, unblocked}
	plain = []lifecycle.Guard[Facts]{commented}

	creator  = []lifecycle.Role{Creator}
	assignee = []lifecycle.Role{Assignee}
	either   = []lifecycle.Role{Creator, Assignee}
	others   = []lifecycle.Role{Others}
	system   = []lifecycle.Role{lifecycle.System}

	isNew      = []store.TaskStatus{store.TaskNew}
	inProgress = []store.TaskStatus{store.TaskInProgress}
	blocked    = []store.TaskStatus{store.TaskBlocked}
	stuck      = []store.TaskStatus{store.TaskStuck}
	timed      = []store.TaskStatus{store.TaskNew, store.TaskInProgress, store.TaskBlocked}
	live       = append(timed[:len(timed):len(timed)], store.TaskStuck)
)

const (
	changed    = "status_changed"
	cleared    = "the assignee is cleared"
	itsTurn    = "the caller becomes the assignee"
	byItself   = "the comment tells the old status and the whole minutes spent in it"
	byOperator = "an operator cancelled or terminated the workflow"
)

// Rules is the lifecycle of a task. Everything that moves a task asks this table.
var Rules = lifecycle.Table[store.TaskStatus, store.TaskAction, Facts]{
	Entity: "task",
	Stages: []lifecycle.Stage[store.TaskStatus]{
		{State: store.TaskNew, Means: "waits for an agent", LeftBy: "who claims it, its assignee, its creator, the deadline"},
		{State: store.TaskInProgress, Means: "its assignee works on it", LeftBy: "its assignee, its creator, who escalates it, the deadline"},
		{State: store.TaskBlocked, Means: "something is in the way", LeftBy: "its assignee, its creator, the deadline"},
		{State: store.TaskStuck, Means: "its deadline has passed; somebody must help", LeftBy: "who takes it over, its assignee, its creator, the release"},
		{State: store.TaskDone, Means: "finished", Terminal: true},
		{State: store.TaskCancelled, Means: "given up", Terminal: true},
	},
	Rules: []lifecycle.Rule[store.TaskStatus, store.TaskAction, Facts]{
		{Action: store.TaskActionCreate, To: store.TaskNew, Who: []lifecycle.Role{Anyone}, Event: "created", Effect: "a cycle of blockers is refused"},
		{Action: store.TaskActionClaim, From: isNew, To: store.TaskInProgress, Who: others, Guards: open, Event: "claimed", Effect: itsTurn},
		{Action: store.TaskActionClaim, From: isNew, To: store.TaskInProgress, Who: assignee, Guards: start, Event: "claimed", Effect: "the assignee begins the work"},
		{Action: store.TaskActionClaim, From: inProgress, To: store.TaskInProgress, Who: assignee, Effect: "nothing changes"},
		{Action: store.TaskActionStatus, From: isNew, To: store.TaskInProgress, Who: assignee, Guards: start, Event: changed},
		{Action: store.TaskActionStatus, From: isNew, To: store.TaskCancelled, Who: creator, Guards: plain, Event: changed},
		{Action: store.TaskActionStatus, From: inProgress, To: store.TaskDone, Who: assignee, Guards: plain, Event: changed},
		{Action: store.TaskActionStatus, From: inProgress, To: store.TaskBlocked, Who: assignee, Guards: plain, Event: changed},
		{Action: store.TaskActionEscalate, From: inProgress, To: store.TaskBlocked, Who: others, Denied: fault.CannotEscalateOwn, Guards: plain, Event: "escalated"},
		{Action: store.TaskActionStatus, From: inProgress, To: store.TaskNew, Who: assignee, Guards: plain, Event: changed, Effect: cleared},
		{Action: store.TaskActionStatus, From: inProgress, To: store.TaskCancelled, Who: either, Guards: plain, Event: changed},
		{Action: store.TaskActionStatus, From: blocked, To: store.TaskInProgress, Who: assignee, Guards: start, Event: changed},
		{Action: store.TaskActionStatus, From: blocked, To: store.TaskNew, Who: either, Guards: plain, Event: changed, Effect: cleared},
		{Action: store.TaskActionStatus, From: blocked, To: store.TaskCancelled, Who: creator, Guards: plain, Event: changed},
		{Action: store.TaskActionTakeover, From: stuck, To: store.TaskInProgress, Who: others, Denied: fault.CannotTakeover, Guards: start, Event: "taken_over", Effect: itsTurn},
		{Action: store.TaskActionStatus, From: stuck, To: store.TaskInProgress, Who: assignee, Guards: start, Event: changed},
		{Action: store.TaskActionStatus, From: stuck, To: store.TaskNew, Who: []lifecycle.Role{Creator, lifecycle.System}, Guards: plain, Event: changed, Effect: cleared},
		{Action: store.TaskActionStatus, From: stuck, To: store.TaskCancelled, Who: creator, Guards: plain, Event: changed},
		{Action: store.TaskActionExpire, From: timed, To: store.TaskStuck, Who: system, Guards: plain, Event: "deadline_expired", Effect: byItself},
		{Action: store.TaskActionCancel, From: live, To: store.TaskCancelled, Who: system, Guards: plain, Event: changed, Effect: byOperator},
	},
}
