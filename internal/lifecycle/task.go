package lifecycle

import (
	"stagecoach/internal/fault"
)

// TaskState is a state of a task.
type TaskState string

// The statuses of a task.
const (
	TaskNew        TaskState = "NEW"
	TaskInProgress TaskState = "IN_PROGRESS"
	TaskBlocked    TaskState = "BLOCKED"
	TaskStuck      TaskState = "STUCK"
	TaskDone       TaskState = "DONE"
	TaskCancelled  TaskState = "CANCELLED"
)

// TaskStates lists all statuses in the order of a task's life.
var TaskStates = []TaskState{TaskNew, TaskInProgress, TaskBlocked, TaskStuck, TaskDone, TaskCancelled}

// TaskAction is an action on a task.
type TaskAction string

// The actions of a task's table.
const (
	TaskActionCreate   TaskAction = "create"
	TaskActionClaim    TaskAction = "claim"
	TaskActionStatus   TaskAction = "status"
	TaskActionEscalate TaskAction = "escalate"
	TaskActionTakeover TaskAction = "takeover"
	TaskActionExpire   TaskAction = "expire"
	TaskActionLapse    TaskAction = "lapse" // the claim, because its lease has ended
	TaskActionCancel   TaskAction = "cancel"
)

// Names used by operators and other programs. The updates are the actions requested by people.
const (
	TaskType            = "Task"
	TaskScope           = "tasks"     // of tokens that change tasks and workspaces
	TaskUnblockedSignal = "unblocked" // from a blocker's workflow: the last blocker is DONE
	TaskRefreshSignal   = "refresh"   // reload the record, for example after a reset, or because the holder was blocked
)

// Roles of a task. A caller has all that apply.
const (
	Creator  Role = "creator"
	Assignee Role = "assignee"
	Anyone   Role = "anyone in the workspace"
	Others   Role = "anyone but the assignee"
)

// TaskFacts are the basis of a decision: the task, and the caller's input.
type TaskFacts struct {
	State        TaskState
	CreatorID    int64
	AssigneeID   *int64
	Public       bool
	OpenBlockers []int64 // the blockers that are not DONE
	Cancelled    []int64 // those of them that never will be
	FencingToken int64   // the current claim's number
	Comment      string

	ReviewMissing bool  // the workspace requires a review, and the result is not approved
	Submission    int64 // the current assignee's newest result; 0: none
	Named         int64 // the submission that the caller approves or rejects
}

// HeldBy reports whether a user is the assignee.
func (f TaskFacts) HeldBy(userID int64) bool { return f.AssigneeID != nil && *f.AssigneeID == userID }

// Guards, and an action's from and who, as used by the table.
var (
	unassigned = Guard[TaskFacts]{Name: "no assignee", Code: fault.TaskAlreadyClaimed, Holds: func(f TaskFacts) bool { return f.AssigneeID == nil }}
	public     = Guard[TaskFacts]{Name: "the task is public", Code: fault.InsufficientAccess, Holds: func(f TaskFacts) bool { return f.Public }}
	commented  = Guard[TaskFacts]{Name: "a comment", Code: fault.CommentRequired, Holds: func(f TaskFacts) bool { return Plain(f.Comment) != "" }}
	unblocked  = Guard[TaskFacts]{Name: "every blocker is DONE", Code: fault.UnresolvedBlockers, Holds: func(f TaskFacts) bool { return len(f.OpenBlockers) == 0 }}

	claimGuards = []Guard[TaskFacts]{unassigned, public, commented, unblocked}
	startGuards = []Guard[TaskFacts]{commented, unblocked}
	commentOnly = []Guard[TaskFacts]{commented}

	creator  = []Role{Creator}
	assignee = []Role{Assignee}
	either   = []Role{Creator, Assignee}
	others   = []Role{Others}

	isNew       = []TaskState{TaskNew}
	inProgress  = []TaskState{TaskInProgress}
	taskBlocked = []TaskState{TaskBlocked}
	taskStuck   = []TaskState{TaskStuck}
	TaskTimed   = []TaskState{TaskNew, TaskInProgress, TaskBlocked}
	taskLive    = append(TaskTimed[:len(TaskTimed):len(TaskTimed)], TaskStuck)
)

// Events of a status ended by the system.
const (
	TaskExpired = "deadline_expired"
	TaskLapsed  = "lease_expired" // its holder sent no heartbeat in time
)

const (
	statusChanged = "status_changed"
	cleared       = "the assignee is cleared"
	itsTurn       = "the caller becomes the assignee"
	byItself      = "the comment has the old status and the full minutes spent in it"
	byOperator    = "an operator cancelled or terminated the workflow"
)

// Task is the lifecycle of a task. All transitions follow this table.
var Task = Table[TaskState, TaskAction, TaskFacts]{
	Entity: "task",
	States: []State[TaskState]{
		{State: TaskNew, Means: "waits for an agent", LeftBy: "the agent that claims it, its assignee, its creator, the deadline"},
		{State: TaskInProgress, Means: "its assignee works on it", LeftBy: "its assignee, its creator, another agent that escalates it, the deadline"},
		{State: TaskBlocked, Means: "the work cannot go on", LeftBy: "its assignee, its creator, the deadline"},
		{State: TaskStuck, Means: "its deadline has passed; another agent may take it over", LeftBy: "the agent that takes it over, its assignee, its creator, the release"},
		{State: TaskDone, Means: "finished", Terminal: true},
		{State: TaskCancelled, Means: "ended without a result", Terminal: true},
	},
	Rules: []Rule[TaskState, TaskAction, TaskFacts]{
		{Action: TaskActionCreate, To: TaskNew, Who: []Role{Anyone}, Event: "created", Effect: "a cycle of blockers is refused"},
		{Action: TaskActionClaim, From: isNew, To: TaskInProgress, Who: others, Guards: claimGuards, Event: "claimed", Effect: itsTurn},
		{Action: TaskActionClaim, From: isNew, To: TaskInProgress, Who: assignee, Guards: startGuards, Event: "claimed", Effect: "the assignee begins the work"},
		{Action: TaskActionClaim, From: inProgress, To: TaskInProgress, Who: assignee, Effect: "nothing changes, unless it asks for a lease: the claim gets it, counted from now"},
		{Action: TaskActionStatus, From: isNew, To: TaskInProgress, Who: assignee, Guards: startGuards, Event: statusChanged},
		{Action: TaskActionStatus, From: isNew, To: TaskCancelled, Who: creator, Guards: commentOnly, Event: statusChanged},
		{Action: TaskActionStatus, From: inProgress, To: TaskDone, Who: assignee, Guards: finishGuards, Event: statusChanged},
		{Action: TaskActionStatus, From: inProgress, To: TaskBlocked, Who: assignee, Guards: commentOnly, Event: statusChanged},
		{Action: TaskActionEscalate, From: inProgress, To: TaskBlocked, Who: others, Denied: fault.CannotEscalateOwn, Guards: commentOnly, Event: "escalated"},
		{Action: TaskActionStatus, From: inProgress, To: TaskNew, Who: assignee, Guards: commentOnly, Event: statusChanged, Effect: cleared},
		{Action: TaskActionStatus, From: inProgress, To: TaskCancelled, Who: either, Guards: commentOnly, Event: statusChanged},
		{Action: TaskActionStatus, From: taskBlocked, To: TaskInProgress, Who: assignee, Guards: startGuards, Event: statusChanged},
		{Action: TaskActionStatus, From: taskBlocked, To: TaskNew, Who: either, Guards: commentOnly, Event: statusChanged, Effect: cleared},
		{Action: TaskActionStatus, From: taskBlocked, To: TaskCancelled, Who: creator, Guards: commentOnly, Event: statusChanged},
		{Action: TaskActionTakeover, From: taskStuck, To: TaskInProgress, Who: others, Denied: fault.CannotTakeover, Guards: startGuards, Event: "taken_over", Effect: itsTurn},
		{Action: TaskActionStatus, From: taskStuck, To: TaskInProgress, Who: assignee, Guards: startGuards, Event: statusChanged},
		{Action: TaskActionStatus, From: taskStuck, To: TaskNew, Who: []Role{Creator, System}, Guards: commentOnly, Event: statusChanged, Effect: cleared},
		{Action: TaskActionStatus, From: taskStuck, To: TaskCancelled, Who: creator, Guards: commentOnly, Event: statusChanged},
		{Action: TaskActionExpire, From: TaskTimed, To: TaskStuck, Who: systemOnly, Guards: commentOnly, Event: TaskExpired, Effect: byItself},
		{Action: TaskActionLapse, From: TaskHeld, To: TaskStuck, Who: systemOnly, Guards: commentOnly, Event: TaskLapsed, Effect: byItself},
		{Action: TaskActionCancel, From: taskLive, To: TaskCancelled, Who: systemOnly, Guards: commentOnly, Event: statusChanged, Effect: byOperator},
		{Action: TaskActionSubmit, From: inProgress, Who: assignee, Guards: commentOnly, Event: "submitted", Effect: "the result is kept; an earlier approval ends"},
		{Action: TaskActionApprove, From: judged, Who: others, Guards: reviewGuards, Event: "approved", Effect: "the approval lasts until the next submission, a rejection, or another assignee"},
		{Action: TaskActionReject, From: judged, Who: others, Guards: reviewGuards, Event: "rejected", Effect: "an earlier approval ends"},
		{Action: TaskActionEdit, From: taskLive, Who: creator, Event: TaskEdited, Effect: "title, description, priority or labels change"},
	},
}
